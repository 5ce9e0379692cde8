import asyncio
import hashlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from domogate.services.sessions import (
    Entered,
    HalfWay,
    LoggedIn,
    SecondFactorNeeded,
    Sessions,
    SlowDown,
    Wrong,
    form_token_of,
)
from domogate.services.throttle import Throttle
from domogate.stores import SqlStore, sqlite_url
from domogate.stores.tables import attempts
from support.pages import ADDRESS, ANNA, BRUNO, CARLA, IDLE, LIFETIME, PASSWORD, SECRET, House, house

AGENT = "A browser/1.0"


@pytest.fixture
async def home(tmp_path: Path) -> AsyncIterator[House]:
    async with house(tmp_path) as built:
        yield built


async def log_in(home: House, email: str = ANNA.email, password: str = PASSWORD, otp: str | None = None, **options: Any) -> Any:
    return await home.sessions.log_in(email, password, otp, ADDRESS, AGENT, **options)


async def enter(home: House, **options: Any) -> Entered:
    outcome = await log_in(home, **options)
    assert isinstance(outcome, Entered)
    return outcome


async def find(home: House, cookie: str) -> LoggedIn:
    found = await home.sessions.find(cookie)
    assert found is not None
    return found


async def half_way(home: House, outcome: Any) -> HalfWay:
    assert isinstance(outcome, SecondFactorNeeded)
    found = await home.sessions.find_half_way(outcome.cookie)
    assert found is not None
    return found


class TestLoggingIn:
    async def test_gives_a_cookie_by_which_the_person_is_found(self, home: House) -> None:
        entered = await enter(home)
        person = await find(home, entered.cookie)
        assert person == entered.person
        assert person.user.id == ANNA.id
        assert person.session.auth_time == home.clock.now()
        assert (person.session.address, person.session.agent, person.session.factors) == (ADDRESS, AGENT, ("pwd",))

    async def test_the_cookie_has_256_bits_and_only_its_hash_is_kept(self, home: House) -> None:
        entered = await enter(home)
        assert len(entered.cookie) == 43
        (kept,) = await home.store.list_sessions(ANNA.id)
        assert kept.token_hash == hashlib.sha256(entered.cookie.encode()).hexdigest()
        assert (await enter(home)).cookie != entered.cookie

    async def test_the_email_may_be_written_in_any_case_and_with_spaces_around(self, home: House) -> None:
        await enter(home, email=f" {ANNA.email.upper()} ")

    async def test_an_unknown_user_one_without_password_and_a_wrong_password_are_told_apart_by_nothing(
        self, home: House, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        verified: list[str | None] = []
        verify = home.village.hasher.verify_password

        async def count(password: str, password_hash: str | None) -> bool:
            verified.append(password_hash)
            return await verify(password, password_hash)

        monkeypatch.setattr(home.village.hasher, "verify_password", count)
        outcomes = [
            await log_in(home, email="nobody@example.com"),
            await log_in(home, email=CARLA.email),
            await log_in(home, password="not it"),
        ]
        assert outcomes == [Wrong(), Wrong(), Wrong()]
        # Each takes the time of one verification (ports.Hasher: as long for None).
        assert verified[:2] == [None, None]
        assert verified[2] is not None
        assert len(verified) == 3

    @pytest.mark.parametrize("email", [ANNA.email, CARLA.email, "nobody@example.com"])
    async def test_guessing_is_slowed_down_for_known_and_unknown_alike(self, home: House, email: str) -> None:
        outcomes = [await log_in(home, email=email, password="not it") for _ in range(8)]
        assert outcomes == [Wrong()] * 6 + [SlowDown(1)] * 2
        home.clock.at += 1
        assert await log_in(home, email=email, password="not it") == Wrong()
        assert await log_in(home, email=email, password="not it") == SlowDown(2)

    async def test_the_right_password_does_not_help_during_the_wait_and_does_after_it(self, home: House) -> None:
        for _ in range(6):
            await log_in(home, password="not it")
        assert await log_in(home) == SlowDown(1)
        home.clock.at += 1
        await enter(home)
        assert [await log_in(home, password="not it") for _ in range(6)] == [Wrong()] * 6

    async def test_again_gives_a_new_cookie_and_ends_the_session_before(self, home: House) -> None:
        before = await enter(home)
        home.clock.at += 100
        after = await enter(home, replaces=before.cookie)
        assert after.cookie != before.cookie
        assert after.person.session.auth_time == home.clock.now()
        assert await home.sessions.find(before.cookie) is None

    async def test_a_planted_cookie_is_never_taken_over(self, home: House) -> None:
        entered = await enter(home, replaces="planted-by-somebody-else")
        assert entered.cookie != "planted-by-somebody-else"
        assert await home.sessions.find("planted-by-somebody-else") is None

    async def test_a_wrong_password_leaves_the_session_as_it_was(self, home: House) -> None:
        before = await enter(home)
        assert await log_in(home, password="not it", replaces=before.cookie) == Wrong()
        await find(home, before.cookie)

    async def test_is_noted_without_the_email(self, home: House) -> None:
        await log_in(home, password="not it")
        await log_in(home, email="nobody@example.com")
        await enter(home)
        await home.audit.flush()
        entries = [record.entry for record in await home.audit.list(limit=10)]
        assert [(entry.action, entry.result, entry.address) for entry in entries] == [
            ("login", "wrong", ADDRESS),
            ("login", "wrong", ADDRESS),
            ("login", "ok", ADDRESS),
        ]
        assert "example.com" not in str(entries)


class TestFinding:
    @pytest.mark.parametrize("cookie", [None, "", "unknown", "\ud800", "x" * 10_000])
    async def test_nobody_by_a_cookie_that_is_none(self, home: House, cookie: str | None) -> None:
        assert await home.sessions.find(cookie) is None
        assert await home.sessions.find_half_way(cookie) is None

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


class TestTheSecondFactor:
    @pytest.fixture
    async def secured(self, home: House) -> House:
        await home.change(ANNA, totp_secret=SECRET)
        return home

    async def test_is_asked_for_after_the_password(self, secured: House) -> None:
        outcome = await log_in(secured)
        waiting = await half_way(secured, outcome)
        assert not outcome.set_up
        assert waiting.user.id == ANNA.id

    async def test_without_it_nobody_is_logged_in(self, secured: House) -> None:
        outcome = await log_in(secured)
        assert await secured.sessions.find(outcome.cookie) is None
        assert await secured.sessions.list_of(await secured.user(ANNA)) == []

    async def test_a_code_completes_the_login_with_another_cookie(self, secured: House) -> None:
        outcome = await log_in(secured)
        waiting = await half_way(secured, outcome)
        entered = await secured.sessions.enter_code(waiting, secured.code(), ADDRESS, AGENT)
        assert isinstance(entered, Entered)
        assert entered.cookie != outcome.cookie
        assert entered.person.session.factors == ("pwd", "otp")
        assert await secured.sessions.find_half_way(outcome.cookie) is None
        await find(secured, entered.cookie)

    async def test_may_come_along_with_the_password(self, secured: House) -> None:
        entered = await enter(secured, otp=secured.code())
        assert entered.person.session.factors == ("pwd", "otp")

    async def test_a_wrong_code_beside_the_password_is_as_wrong_as_the_password(self, secured: House) -> None:
        assert await log_in(secured, otp="000000") == Wrong()

    async def test_a_code_opens_nothing_without_the_password(self, secured: House) -> None:
        assert await log_in(secured, password="not it", otp=secured.code()) == Wrong()
        # Nor was it used up.
        await enter(secured, otp=secured.code())

    async def test_a_code_is_good_for_one_login(self, secured: House) -> None:
        await enter(secured, otp=secured.code())
        waiting = await half_way(secured, await log_in(secured))
        assert await secured.sessions.enter_code(waiting, secured.code(), ADDRESS, AGENT) == Wrong()

    async def test_guessing_codes_is_slowed_down_even_with_the_right_password_each_time(self, secured: House) -> None:
        outcomes = []
        for _ in range(8):
            outcome = await log_in(secured)
            if isinstance(outcome, SlowDown):
                break
            outcomes.append(await secured.sessions.enter_code(await half_way(secured, outcome), "000000", ADDRESS, AGENT))
        assert outcomes == [Wrong()] * 6

    async def test_there_are_ten_minutes_to_enter_it(self, secured: House) -> None:
        outcome = await log_in(secured)
        secured.clock.at += 599
        await half_way(secured, outcome)
        secured.clock.at += 1
        assert await secured.sessions.find_half_way(outcome.cookie) is None

    async def test_switching_it_on_ends_all_other_sessions_and_renews_this_one(self, home: House) -> None:
        here, there = await enter(home), await enter(home)
        entered = await home.sessions.switch_on_second_factor(here.person, SECRET, home.code(), ADDRESS)
        assert isinstance(entered, Entered)
        assert (await home.user(ANNA)).totp_secret == SECRET
        assert await home.sessions.find(here.cookie) is None
        assert await home.sessions.find(there.cookie) is None
        assert (await find(home, entered.cookie)).session.factors == ("pwd", "otp")

    async def test_it_is_not_switched_on_without_a_right_code(self, home: House) -> None:
        here = await enter(home)
        assert await home.sessions.switch_on_second_factor(here.person, SECRET, "000000", ADDRESS) == Wrong()
        assert (await home.user(ANNA)).totp_secret is None

    async def test_one_that_is_there_is_never_replaced(self, home: House) -> None:
        here = await enter(home)
        await home.change(ANNA, totp_secret=SECRET)
        other = "MFRGGZDFMZTWQ2LKMFRGGZDFMZTWQ2LK"
        assert await home.sessions.switch_on_second_factor(here.person, other, home.code(other), ADDRESS) == Wrong()
        assert (await home.user(ANNA)).totp_secret == SECRET

    async def test_switched_off_the_password_alone_is_enough(self, secured: House) -> None:
        entered = await enter(secured, otp=secured.code())
        assert await secured.sessions.switch_off_second_factor(entered.person, ADDRESS)
        await find(secured, entered.cookie)
        await enter(secured)


class TestASecondFactorThatIsDemanded:
    @pytest.fixture
    async def strict(self, tmp_path: Path) -> AsyncIterator[House]:
        async with house(tmp_path, second_factor_required=True) as built:
            yield built

    async def test_who_has_none_is_led_to_set_it_up(self, strict: House) -> None:
        outcome = await log_in(strict)
        waiting = await half_way(strict, outcome)
        assert outcome.set_up
        assert waiting.set_up
        assert await strict.sessions.find(outcome.cookie) is None

    async def test_setting_it_up_completes_the_login(self, strict: House) -> None:
        waiting = await half_way(strict, await log_in(strict))
        entered = await strict.sessions.set_up_half_way(waiting, SECRET, strict.code(), ADDRESS, AGENT)
        assert isinstance(entered, Entered)
        assert (await find(strict, entered.cookie)).user.totp_secret == SECRET

    async def test_who_has_one_cannot_set_up_another_with_the_password_alone(self, strict: House) -> None:
        waiting = await half_way(strict, await log_in(strict))
        await strict.change(ANNA, totp_secret=SECRET)
        other = "MFRGGZDFMZTWQ2LKMFRGGZDFMZTWQ2LK"
        assert await strict.sessions.set_up_half_way(waiting, other, strict.code(other), ADDRESS, AGENT) == Wrong()
        assert (await strict.user(ANNA)).totp_secret == SECRET

    async def test_it_cannot_be_switched_off(self, strict: House) -> None:
        await strict.change(ANNA, totp_secret=SECRET)
        entered = await enter(strict, otp=strict.code())
        assert not await strict.sessions.switch_off_second_factor(entered.person, ADDRESS)
        assert (await strict.user(ANNA)).totp_secret == SECRET

    async def test_sessions_from_before_it_was_demanded_do_not_count(self, strict: House) -> None:
        strict.sessions.second_factor_required = False
        entered = await enter(strict)
        strict.sessions.second_factor_required = True
        assert await strict.sessions.find(entered.cookie) is None


class TestSeveralGatewaysOnOneStore:
    """Each has sessions of its own, and a store of its own on the same database."""

    @pytest.fixture
    async def gateways(self, home: House, tmp_path: Path) -> AsyncIterator[list[Sessions]]:
        other = SqlStore(sqlite_url(tmp_path / "domogate.sqlite3"), clock=home.clock, poll=0.02)
        await other.start()
        throttle = Throttle(other, home.clock)
        options: Any = {"lifetime": LIFETIME, "idle_lifetime": IDLE, "throttle": throttle}
        yield [home.sessions, Sessions(other, home.village.hasher, home.clock, **options)]
        await other.stop()

    async def test_guesses_count_together(self, gateways: list[Sessions], home: House) -> None:
        def guess(number: int) -> Any:
            return gateways[number % 2].log_in(ANNA.email, "not it", None, ADDRESS, AGENT)

        assert [await guess(number) for number in range(8)] == [Wrong()] * 6 + [SlowDown(1)] * 2
        home.clock.at += 1
        assert [await guess(number) for number in range(3)] == [Wrong(), SlowDown(2), SlowDown(2)]

    async def test_guesses_at_once_gain_nothing(self, gateways: list[Sessions]) -> None:
        guesses = (gateways[n % 2].log_in(ANNA.email, "not it", None, ADDRESS, AGENT) for n in range(30))
        assert (await asyncio.gather(*guesses)).count(Wrong()) == 6

    async def test_a_success_at_one_lets_the_account_start_anew_at_all(self, gateways: list[Sessions]) -> None:
        for _ in range(5):
            await gateways[0].log_in(ANNA.email, "not it", None, ADDRESS, AGENT)
        assert isinstance(await gateways[1].log_in(ANNA.email, PASSWORD, None, ADDRESS, AGENT), Entered)
        guesses = [await gateways[0].log_in(ANNA.email, "not it", None, ADDRESS, AGENT) for _ in range(6)]
        assert guesses == [Wrong()] * 6

    async def test_a_code_is_good_for_one_login_at_one_of_them(self, gateways: list[Sessions], home: House) -> None:
        await home.change(ANNA, totp_secret=SECRET)
        logins = (gateways[n % 2].log_in(ANNA.email, PASSWORD, home.code(), ADDRESS, AGENT) for n in range(6))
        outcomes = await asyncio.gather(*logins)
        assert [isinstance(outcome, Entered) for outcome in outcomes].count(True) == 1
        assert outcomes.count(Wrong()) == 5
        assert len(await home.store.list_sessions(ANNA.id)) == 1

    async def test_a_code_used_at_one_is_wrong_at_the_other_half_way(self, gateways: list[Sessions], home: House) -> None:
        await home.change(ANNA, totp_secret=SECRET)
        assert isinstance(await gateways[0].log_in(ANNA.email, PASSWORD, home.code(), ADDRESS, AGENT), Entered)
        needed = await gateways[1].log_in(ANNA.email, PASSWORD, None, ADDRESS, AGENT)
        assert isinstance(needed, SecondFactorNeeded)
        waiting = await gateways[1].find_half_way(needed.cookie)
        assert waiting is not None
        assert await gateways[1].enter_code(waiting, home.code(), ADDRESS, AGENT) == Wrong()
        # A wrong code leaves them half way: the next one may be right.
        home.clock.at += 30
        assert isinstance(await gateways[1].enter_code(waiting, home.code(), ADDRESS, AGENT), Entered)

    async def test_an_ordinary_login_costs_one_write_more_than_its_session(self, home: House) -> None:
        before = home.store.commits
        await enter(home)
        assert home.store.commits == before + 2

    async def test_who_is_told_to_wait_costs_none(self, home: House) -> None:
        for _ in range(7):
            await log_in(home, password="not it")
        before = home.store.commits
        assert [await log_in(home) for _ in range(20)] == [SlowDown(1)] * 20
        assert home.store.commits == before

    async def test_neither_email_nor_address_is_kept_with_the_counts(self, home: House) -> None:
        await log_in(home, email="a password typed here", password="not it")
        rows = await home.store._read(lambda connection: connection.execute(select(attempts)).all())
        assert len(rows) == 2
        assert not any(word in repr(rows) for word in ("password", ADDRESS))


class TestConfirmingThePassword:
    async def test_says_nothing_when_it_is_right(self, home: House) -> None:
        person = (await enter(home)).person
        assert await home.sessions.confirm_password(person, PASSWORD, ADDRESS) is None

    async def test_is_slowed_down_as_logging_in_is(self, home: House) -> None:
        person = (await enter(home)).person
        outcomes = [await home.sessions.confirm_password(person, "not it", ADDRESS) for _ in range(7)]
        assert outcomes == [Wrong()] * 6 + [SlowDown(1)]
