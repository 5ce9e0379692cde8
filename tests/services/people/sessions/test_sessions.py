"""A session is found by its cookie until it ends; critical changes ask for the password again."""

import pytest

from domogate.services.people import LoginFailed, LoginThrottled, form_token_of
from support.auth_setup import ADDRESS, IDLE, LIFETIME, PASSWORD, AuthSetup
from support.logins import enter, find
from support.stores import ANNA, BRUNO


class TestFinding:
    @pytest.mark.parametrize("cookie", [None, "", "unknown", "\ud800", "x" * 10_000])
    async def test_an_unknown_cookie_finds_nobody(self, setup: AuthSetup, cookie: str | None) -> None:
        assert await setup.sessions.find(cookie) is None
        assert await setup.sessions.find_pending(cookie) is None

    async def test_ends_with_the_lifetime_however_busy_the_person_is(self, setup: AuthSetup) -> None:
        cookie = (await enter(setup)).cookie
        for _ in range(int(LIFETIME / 3600) - 1):
            setup.clock.at += 3600
            await find(setup, cookie)
        setup.clock.at += 3600
        assert await setup.sessions.find(cookie) is None

    async def test_ends_when_nobody_has_been_there_for_long(self, setup: AuthSetup) -> None:
        cookie = (await enter(setup)).cookie
        setup.clock.at += IDLE - 1
        await find(setup, cookie)
        setup.clock.at += IDLE
        assert await setup.sessions.find(cookie) is None

    async def test_notes_being_seen_at_most_once_a_minute(self, setup: AuthSetup) -> None:
        cookie = (await enter(setup)).cookie
        started = setup.clock.now()
        setup.clock.at += 59
        assert (await find(setup, cookie)).session.seen_at == started
        setup.clock.at += 1
        assert (await find(setup, cookie)).session.seen_at == started + 60
        (kept,) = await setup.store.list_sessions(ANNA.id)
        assert kept.seen_at == started + 60

    async def test_a_deleted_user_is_not_found(self, setup: AuthSetup) -> None:
        cookie = (await enter(setup, email=BRUNO.email)).cookie
        await setup.store.delete_user(BRUNO.id)
        assert await setup.sessions.find(cookie) is None

    async def test_a_user_whose_password_was_taken_away_is_not_found(self, setup: AuthSetup) -> None:
        cookie = (await enter(setup)).cookie
        await setup.change(ANNA, password_hash=None)
        assert await setup.sessions.find(cookie) is None

    async def test_the_form_token_is_bound_to_the_cookie_and_does_not_give_it_away(self, setup: AuthSetup) -> None:
        entered = await enter(setup)
        token = entered.person.form_token
        assert token == form_token_of(entered.cookie)
        assert token != (await enter(setup)).person.form_token
        assert entered.cookie not in token
        assert token != entered.person.session.token_hash


class TestEnding:
    async def test_logging_out_ends_this_session_alone(self, setup: AuthSetup) -> None:
        here, there = await enter(setup), await enter(setup)
        await setup.sessions.log_out(here.cookie)
        assert await setup.sessions.find(here.cookie) is None
        await find(setup, there.cookie)

    async def test_ending_the_others_keeps_this_one(self, setup: AuthSetup) -> None:
        here, there, bruno = await enter(setup), await enter(setup), await enter(setup, email=BRUNO.email)
        assert await setup.sessions.end_others(here.person, ADDRESS) == 1
        await find(setup, here.cookie)
        assert await setup.sessions.find(there.cookie) is None
        await find(setup, bruno.cookie)

    async def test_only_ones_own_can_be_ended(self, setup: AuthSetup) -> None:
        here, there, bruno = await enter(setup), await enter(setup), await enter(setup, email=BRUNO.email)
        assert not await setup.sessions.end(here.person, bruno.person.session.id, ADDRESS)
        assert await setup.sessions.end(here.person, there.person.session.id, ADDRESS)
        await find(setup, bruno.cookie)

    async def test_the_list_has_what_lives_the_last_seen_first(self, setup: AuthSetup) -> None:
        old, recent = await enter(setup), await enter(setup)
        setup.clock.at += IDLE / 2
        await find(setup, recent.cookie)
        listed = await setup.sessions.list_of(recent.person.user)
        assert [it.id for it in listed] == [recent.person.session.id, old.person.session.id]
        setup.clock.at += IDLE / 2
        listed = await setup.sessions.list_of(recent.person.user)
        assert [it.id for it in listed] == [recent.person.session.id]


class TestConfirmingThePassword:
    async def test_says_nothing_when_it_is_right(self, setup: AuthSetup) -> None:
        person = (await enter(setup)).person
        assert await setup.sessions.confirm_password(person, PASSWORD, ADDRESS) is None

    async def test_is_slowed_down_as_logging_in_is(self, setup: AuthSetup) -> None:
        person = (await enter(setup)).person
        outcomes = [await setup.sessions.confirm_password(person, "not it", ADDRESS) for _ in range(6)]
        assert outcomes == [LoginFailed()] * 5 + [LoginThrottled(1)]
