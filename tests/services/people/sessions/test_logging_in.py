"""Logins, throttled logins, and the shared state of several gateways."""

import asyncio
import hashlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from domogate.services.people import LoginComplete, LoginFailed, LoginThrottle, LoginThrottled, SecondFactorNeeded, Sessions
from domogate.stores import SqlStore, sqlite_url
from domogate.stores.subject import reads
from domogate.stores.tables.identity import attempts
from support.auth_setup import ADDRESS, IDLE, LIFETIME, PASSWORD, SECRET, AuthSetup
from support.logins import AGENT, enter, find, log_in
from support.stores import ANNA, BRUNO, CARLA

pytestmark = pytest.mark.slow


class TestManyAtOnce:
    async def test_only_some_logins_wait_for_the_check_of_their_password(
        self, setup: AuthSetup, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Others are told to wait. One address cannot take all places."""
        checked = asyncio.Event()

        async def verify(_password: str, _password_hash: str | None) -> bool:
            await checked.wait()
            return True

        monkeypatch.setattr(setup.env.hasher, "verify_password", verify)

        def start(number: int, address: str) -> asyncio.Task[Any]:
            return asyncio.create_task(setup.sessions.log_in(f"{number}@example.com", "x", None, address, AGENT))

        of_one_address = [start(number, ADDRESS) for number in range(150)]
        of_others = [start(number, f"198.51.{number // 250}.{number % 250}") for number in range(150, 300)]
        refused = [task for task in (*of_one_address, *of_others) if await self.ends_early(task)]
        assert {await task for task in refused} == {LoginThrottled(5)}
        assert (sum(task in refused for task in of_one_address), sum(task in refused for task in of_others)) == (50, 50)
        checked.set()
        await asyncio.gather(*of_one_address, *of_others)
        setup.clock.at += 1  # The hundred failures of the address need a wait.
        assert isinstance(await log_in(setup), LoginComplete), "there are places again"

    async def ends_early(self, task: asyncio.Task[Any]) -> bool:
        await asyncio.sleep(0)
        return task.done()


class TestLoggingIn:
    async def test_gives_a_cookie_by_which_the_person_is_found(self, setup: AuthSetup) -> None:
        entered = await enter(setup)
        person = await find(setup, entered.cookie)
        assert person == entered.person
        assert person.user.id == ANNA.id
        assert person.session.auth_time == setup.clock.now()
        assert (person.session.address, person.session.agent, person.session.factors) == (ADDRESS, AGENT, ("pwd",))

    async def test_the_cookie_has_256_bits_and_only_its_hash_is_kept(self, setup: AuthSetup) -> None:
        entered = await enter(setup)
        assert len(entered.cookie) == 43
        (kept,) = await setup.store.list_sessions(ANNA.id)
        assert kept.token_hash == hashlib.sha256(entered.cookie.encode()).hexdigest()
        assert (await enter(setup)).cookie != entered.cookie

    async def test_the_email_may_be_written_in_any_case_and_with_spaces_around(self, setup: AuthSetup) -> None:
        await enter(setup, email=f" {ANNA.email.upper()} ")

    async def test_an_unknown_user_one_without_password_and_a_wrong_password_are_told_apart_by_nothing(
        self, setup: AuthSetup, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        verified: list[str | None] = []
        verify = setup.env.hasher.verify_password

        async def count(password: str, password_hash: str | None) -> bool:
            verified.append(password_hash)
            return await verify(password, password_hash)

        monkeypatch.setattr(setup.env.hasher, "verify_password", count)
        outcomes = [
            await log_in(setup, email="nobody@example.com"),
            await log_in(setup, email=CARLA.email),
            await log_in(setup, password="not it"),
        ]
        assert outcomes == [LoginFailed(), LoginFailed(), LoginFailed()]
        # Each takes the time of one password check, also without a hash (ports.Hasher).
        assert verified[:2] == [None, None]
        assert verified[2] is not None
        assert len(verified) == 3

    @pytest.mark.parametrize("email", [ANNA.email, CARLA.email, "nobody@example.com"])
    async def test_guessing_is_slowed_down_for_known_and_unknown_alike(self, setup: AuthSetup, email: str) -> None:
        outcomes = [await log_in(setup, email=email, password="not it") for _ in range(7)]
        assert outcomes == [LoginFailed()] * 5 + [LoginThrottled(1)] * 2
        setup.clock.at += 1
        assert await log_in(setup, email=email, password="not it") == LoginFailed()
        assert await log_in(setup, email=email, password="not it") == LoginThrottled(2)

    async def test_the_right_password_does_not_help_during_the_wait_and_does_after_it(self, setup: AuthSetup) -> None:
        for _ in range(5):
            await log_in(setup, password="not it")
        assert await log_in(setup) == LoginThrottled(1)
        setup.clock.at += 1
        await enter(setup)
        assert [await log_in(setup, password="not it") for _ in range(5)] == [LoginFailed()] * 5

    async def test_again_gives_a_new_cookie_and_ends_the_session_before(self, setup: AuthSetup) -> None:
        before = await enter(setup)
        setup.clock.at += 100
        after = await enter(setup, replaces=before.cookie)
        assert after.cookie != before.cookie
        assert after.person.session.auth_time == setup.clock.now()
        assert await setup.sessions.find(before.cookie) is None

    async def test_a_planted_cookie_is_never_taken_over(self, setup: AuthSetup) -> None:
        entered = await enter(setup, replaces="planted-by-somebody-else")
        assert entered.cookie != "planted-by-somebody-else"
        assert await setup.sessions.find("planted-by-somebody-else") is None

    async def test_a_wrong_password_leaves_the_session_as_it_was(self, setup: AuthSetup) -> None:
        before = await enter(setup)
        assert await log_in(setup, password="not it", replaces=before.cookie) == LoginFailed()
        await find(setup, before.cookie)

    async def test_is_noted_without_the_email(self, setup: AuthSetup) -> None:
        await log_in(setup, password="not it")
        await log_in(setup, email="nobody@example.com")
        await enter(setup)
        await setup.audit.flush()
        entries = [record.entry for record in await setup.audit.list(limit=10)]
        assert [(entry.action, entry.result, entry.address) for entry in entries] == [
            ("login", "wrong", ADDRESS),
            ("login", "wrong", ADDRESS),
            ("login", "ok", ADDRESS),
        ]
        assert "example.com" not in str(entries)


class TestSeveralGatewaysOnOneStore:
    """Several gateways, each with its own store on the same database."""

    @pytest.fixture
    async def gateways(self, setup: AuthSetup, tmp_path: Path) -> AsyncIterator[list[Sessions]]:
        other = SqlStore(sqlite_url(tmp_path / "domogate.sqlite3"), clock=setup.clock, poll=0.02)
        await other.start()
        throttle = LoginThrottle(other, setup.clock)
        options: Any = {"lifetime": LIFETIME, "idle_lifetime": IDLE, "throttle": throttle}
        yield [setup.sessions, Sessions(other, setup.env.hasher, setup.clock, **options)]
        await other.stop()

    async def test_guesses_count_together(self, gateways: list[Sessions], setup: AuthSetup) -> None:
        def guess(number: int) -> Any:
            return gateways[number % 2].log_in(ANNA.email, "not it", None, ADDRESS, AGENT)

        assert [await guess(number) for number in range(7)] == [LoginFailed()] * 5 + [LoginThrottled(1)] * 2
        setup.clock.at += 1
        assert [await guess(number) for number in range(3)] == [LoginFailed(), LoginThrottled(2), LoginThrottled(2)]

    async def test_guesses_at_once_gain_nothing(self, gateways: list[Sessions]) -> None:
        guesses = (gateways[n % 2].log_in(ANNA.email, "not it", None, ADDRESS, AGENT) for n in range(30))
        assert (await asyncio.gather(*guesses)).count(LoginFailed()) == 5

    async def test_a_success_at_one_resets_the_account_at_all(self, gateways: list[Sessions]) -> None:
        for _ in range(4):
            await gateways[0].log_in(ANNA.email, "not it", None, ADDRESS, AGENT)
        assert isinstance(await gateways[1].log_in(ANNA.email, PASSWORD, None, ADDRESS, AGENT), LoginComplete)
        guesses = [await gateways[0].log_in(ANNA.email, "not it", None, ADDRESS, AGENT) for _ in range(5)]
        assert guesses == [LoginFailed()] * 5

    async def test_a_code_is_good_for_one_login_at_one_of_them(self, gateways: list[Sessions], setup: AuthSetup) -> None:
        await setup.change(ANNA, totp_secret=SECRET)
        logins = (gateways[n % 2].log_in(ANNA.email, PASSWORD, setup.code(), ADDRESS, AGENT) for n in range(5))
        outcomes = await asyncio.gather(*logins)
        assert [isinstance(outcome, LoginComplete) for outcome in outcomes].count(True) == 1
        assert outcomes.count(LoginFailed()) == 4
        assert len(await setup.store.list_sessions(ANNA.id)) == 1

    async def test_a_code_used_at_one_is_wrong_at_the_other_half_way(self, gateways: list[Sessions], setup: AuthSetup) -> None:
        await setup.change(ANNA, totp_secret=SECRET)
        assert isinstance(await gateways[0].log_in(ANNA.email, PASSWORD, setup.code(), ADDRESS, AGENT), LoginComplete)
        needed = await gateways[1].log_in(ANNA.email, PASSWORD, None, ADDRESS, AGENT)
        assert isinstance(needed, SecondFactorNeeded)
        waiting = await gateways[1].find_pending(needed.cookie)
        assert waiting is not None
        assert await gateways[1].enter_code(waiting, setup.code(), ADDRESS, AGENT) == LoginFailed()
        # After a wrong code the login is still pending: the next code may be right.
        setup.clock.at += 30
        assert isinstance(await gateways[1].enter_code(waiting, setup.code(), ADDRESS, AGENT), LoginComplete)

    async def test_an_ordinary_login_costs_one_write_more_than_its_session(self, setup: AuthSetup) -> None:
        before = setup.store.commits
        await enter(setup)
        assert setup.store.commits == before + 2

    async def test_a_throttled_attempt_causes_no_write(self, setup: AuthSetup) -> None:
        for _ in range(14):
            await log_in(setup, password="not it")
        before = setup.store.commits
        assert [await log_in(setup) for _ in range(20)] == [LoginThrottled(1)] * 20
        assert setup.store.commits == before

    async def test_neither_email_nor_address_is_kept_with_the_counts(self, setup: AuthSetup) -> None:
        await log_in(setup, email="a password typed here", password="not it")
        rows = await reads(lambda connection: connection.execute(select(attempts)).all())(setup.store)
        assert len(rows) == 2
        assert not any(word in repr(rows) for word in ("password", ADDRESS))


@pytest.mark.parametrize("has_second_factor", [False, True])
async def test_an_account_that_is_deleted_during_the_check_of_the_password_is_a_failed_login(
    setup: AuthSetup, monkeypatch: pytest.MonkeyPatch, has_second_factor: bool
) -> None:
    if has_second_factor:
        await setup.change(BRUNO, totp_secret=SECRET)
    verify = setup.env.hasher.verify_password

    async def delete_meanwhile(password: str, password_hash: str | None) -> bool:
        await setup.store.delete_user(BRUNO.id)
        return await verify(password, password_hash)

    monkeypatch.setattr(setup.env.hasher, "verify_password", delete_meanwhile)
    assert await log_in(setup, email=BRUNO.email) == LoginFailed()
