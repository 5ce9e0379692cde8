"""A new password ends all sessions, also one that a login with the old password starts just afterwards."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from domogate.services.people import LoginComplete, LoginFailed, PendingLogin, SecondFactorNeeded
from domogate.services.refusals import Conflict
from support.auth_setup import ADDRESS, PASSWORD, SECRET, AuthSetup, open_auth_setup
from support.stores import ANNA

AGENT = "A browser/1.0"
NEW = "three purple umbrellas"


@pytest.fixture
async def setup(tmp_path: Path) -> AsyncIterator[AuthSetup]:
    async with open_auth_setup(tmp_path) as built:
        yield built


async def log_in(setup: AuthSetup, otp: str | None = None) -> object:
    return await setup.sessions.log_in(ANNA.email, PASSWORD, otp, ADDRESS, AGENT)


async def go_half_way(setup: AuthSetup) -> PendingLogin:
    outcome = await log_in(setup)
    assert isinstance(outcome, SecondFactorNeeded)
    found = await setup.sessions.find_pending(outcome.cookie)
    assert found is not None
    return found


async def renew(setup: AuthSetup) -> None:
    await setup.people.set_password(ANNA.id, NEW)


@pytest.fixture
def renewed_while_it_is_looked_at(setup: AuthSetup, monkeypatch: pytest.MonkeyPatch) -> None:
    """Checking a password takes long, and longer during many logins."""
    verify = setup.env.hasher.verify_password

    async def verify_slowly(password: str, password_hash: str | None) -> bool:
        right = await verify(password, password_hash)
        await renew(setup)
        return right

    monkeypatch.setattr(setup.env.hasher, "verify_password", verify_slowly)


@pytest.mark.usefixtures("renewed_while_it_is_looked_at")
class TestTheFormerPassword:
    async def test_logs_nobody_in(self, setup: AuthSetup) -> None:
        assert await log_in(setup) == LoginFailed()
        assert await setup.store.list_sessions(ANNA.id) == []
        await setup.audit.flush()
        last = (await setup.audit.list(limit=10))[-1].entry
        assert (last.action, last.who, last.result) == ("login", "nobody", "wrong")

    async def test_leads_nobody_to_the_second_factor(self, setup: AuthSetup) -> None:
        await setup.change(ANNA, totp_secret=SECRET)
        assert await log_in(setup) == LoginFailed()
        assert await setup.store.list_sessions(ANNA.id) == []

    async def test_logs_nobody_in_with_a_code_either(self, setup: AuthSetup) -> None:
        await setup.change(ANNA, totp_secret=SECRET)
        assert await log_in(setup, setup.code()) == LoginFailed()
        assert await setup.store.list_sessions(ANNA.id) == []


class TestWhatTheFormerPasswordBegan:
    async def test_it_is_not_replaced_by_a_third(self, setup: AuthSetup) -> None:
        """The thief of a password must not get the account back after the person changed the password by a link."""
        former = (await setup.user(ANNA)).password_hash
        await renew(setup)
        renewed = await setup.user(ANNA)
        with pytest.raises(Conflict):
            await setup.people.set_password(ANNA.id, "four green kites", instead_of=former)
        assert await setup.user(ANNA) == renewed

    async def test_a_login_half_way_comes_to_nothing(self, setup: AuthSetup) -> None:
        await setup.change(ANNA, totp_secret=SECRET)
        waiting = await go_half_way(setup)
        await renew(setup)
        assert await setup.sessions.enter_code(waiting, setup.code(), ADDRESS, AGENT) == LoginFailed()
        assert await setup.store.list_sessions(ANNA.id) == []

    async def test_the_old_password_cannot_set_up_a_required_second_factor(self, setup: AuthSetup) -> None:
        setup.sessions.second_factor_required = True
        waiting = await go_half_way(setup)
        await renew(setup)
        assert await setup.sessions.set_up_pending(waiting, SECRET, setup.code(), ADDRESS, AGENT) == LoginFailed()
        assert (await setup.user(ANNA)).totp_secret is None
        assert await setup.store.list_sessions(ANNA.id) == []

    async def test_the_old_password_cannot_switch_on_a_second_factor(self, setup: AuthSetup) -> None:
        """Otherwise the thief could lock the person out, who has just changed the password."""
        entered = await log_in(setup)
        assert isinstance(entered, LoginComplete)
        await renew(setup)
        assert await setup.sessions.switch_on_second_factor(entered.person, SECRET, setup.code(), ADDRESS) == LoginFailed()
        assert (await setup.user(ANNA)).totp_secret is None
        assert await setup.store.list_sessions(ANNA.id) == []
