"""A session is found by its cookie until it ends; critical changes ask for the password again."""

import pytest

from domogate.services.people import LoginFailed, LoginThrottled, form_token_of
from support.logging_in import enter, find
from support.pages import ADDRESS, ANNA, BRUNO, IDLE, LIFETIME, PASSWORD, House


class TestFinding:
    @pytest.mark.parametrize("cookie", [None, "", "unknown", "\ud800", "x" * 10_000])
    async def test_an_unknown_cookie_finds_nobody(self, home: House, cookie: str | None) -> None:
        assert await home.sessions.find(cookie) is None
        assert await home.sessions.find_pending(cookie) is None

    async def test_ends_with_the_lifetime_however_busy_the_person_is(self, home: House) -> None:
        cookie = (await enter(home)).cookie
        for _ in range(int(LIFETIME / 3600) - 1):
            home.clock.at += 3600
            await find(home, cookie)
        home.clock.at += 3600
        assert await home.sessions.find(cookie) is None

    async def test_ends_when_nobody_has_been_there_for_long(self, home: House) -> None:
        cookie = (await enter(home)).cookie
        home.clock.at += IDLE - 1
        await find(home, cookie)
        home.clock.at += IDLE
        assert await home.sessions.find(cookie) is None

    async def test_notes_being_seen_at_most_once_a_minute(self, home: House) -> None:
        cookie = (await enter(home)).cookie
        started = home.clock.now()
        home.clock.at += 59
        assert (await find(home, cookie)).session.seen_at == started
        home.clock.at += 1
        assert (await find(home, cookie)).session.seen_at == started + 60
        (kept,) = await home.store.list_sessions(ANNA.id)
        assert kept.seen_at == started + 60

    async def test_a_deleted_user_is_not_found(self, home: House) -> None:
        cookie = (await enter(home, email=BRUNO.email)).cookie
        await home.store.delete_user(BRUNO.id)
        assert await home.sessions.find(cookie) is None

    async def test_a_user_whose_password_was_taken_away_is_not_found(self, home: House) -> None:
        cookie = (await enter(home)).cookie
        await home.change(ANNA, password_hash=None)
        assert await home.sessions.find(cookie) is None

    async def test_the_form_token_is_bound_to_the_cookie_and_does_not_give_it_away(self, home: House) -> None:
        entered = await enter(home)
        token = entered.person.form_token
        assert token == form_token_of(entered.cookie)
        assert token != (await enter(home)).person.form_token
        assert entered.cookie not in token
        assert token != entered.person.session.token_hash


class TestEnding:
    async def test_logging_out_ends_this_session_alone(self, home: House) -> None:
        here, there = await enter(home), await enter(home)
        await home.sessions.log_out(here.cookie)
        assert await home.sessions.find(here.cookie) is None
        await find(home, there.cookie)

    async def test_ending_the_others_keeps_this_one(self, home: House) -> None:
        here, there, bruno = await enter(home), await enter(home), await enter(home, email=BRUNO.email)
        assert await home.sessions.end_others(here.person, ADDRESS) == 1
        await find(home, here.cookie)
        assert await home.sessions.find(there.cookie) is None
        await find(home, bruno.cookie)

    async def test_only_ones_own_can_be_ended(self, home: House) -> None:
        here, there, bruno = await enter(home), await enter(home), await enter(home, email=BRUNO.email)
        assert not await home.sessions.end(here.person, bruno.person.session.id, ADDRESS)
        assert await home.sessions.end(here.person, there.person.session.id, ADDRESS)
        await find(home, bruno.cookie)

    async def test_the_list_has_what_lives_the_last_seen_first(self, home: House) -> None:
        old, recent = await enter(home), await enter(home)
        home.clock.at += IDLE / 2
        await find(home, recent.cookie)
        listed = await home.sessions.list_of(recent.person.user)
        assert [it.id for it in listed] == [recent.person.session.id, old.person.session.id]
        home.clock.at += IDLE / 2
        listed = await home.sessions.list_of(recent.person.user)
        assert [it.id for it in listed] == [recent.person.session.id]


class TestConfirmingThePassword:
    async def test_says_nothing_when_it_is_right(self, home: House) -> None:
        person = (await enter(home)).person
        assert await home.sessions.confirm_password(person, PASSWORD, ADDRESS) is None

    async def test_is_slowed_down_as_logging_in_is(self, home: House) -> None:
        person = (await enter(home)).person
        outcomes = [await home.sessions.confirm_password(person, "not it", ADDRESS) for _ in range(7)]
        assert outcomes == [LoginFailed()] * 6 + [LoginThrottled(1)]
