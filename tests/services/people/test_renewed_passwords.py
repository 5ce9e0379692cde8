"""A new password ends all sessions, also one that a login with the old password starts just afterwards."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from domogate.services.people import LoginComplete, LoginFailed, PendingLogin, SecondFactorNeeded
from domogate.services.refusals import Conflict
from support.pages import ADDRESS, ANNA, PASSWORD, SECRET, House, house

AGENT = "A browser/1.0"
NEW = "three purple umbrellas"


@pytest.fixture
async def home(tmp_path: Path) -> AsyncIterator[House]:
    async with house(tmp_path) as built:
        yield built


async def log_in(home: House, otp: str | None = None) -> object:
    return await home.sessions.log_in(ANNA.email, PASSWORD, otp, ADDRESS, AGENT)


async def go_half_way(home: House) -> PendingLogin:
    outcome = await log_in(home)
    assert isinstance(outcome, SecondFactorNeeded)
    found = await home.sessions.find_pending(outcome.cookie)
    assert found is not None
    return found


async def renew(home: House) -> None:
    await home.people.set_password(ANNA.id, NEW)


@pytest.fixture
def renewed_while_it_is_looked_at(home: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """Checking a password takes long, and longer during many logins."""
    verify = home.env.hasher.verify_password

    async def verify_slowly(password: str, password_hash: str | None) -> bool:
        right = await verify(password, password_hash)
        await renew(home)
        return right

    monkeypatch.setattr(home.env.hasher, "verify_password", verify_slowly)


@pytest.mark.usefixtures("renewed_while_it_is_looked_at")
class TestTheFormerPassword:
    async def test_logs_nobody_in(self, home: House) -> None:
        assert await log_in(home) == LoginFailed()
        assert await home.store.list_sessions(ANNA.id) == []
        await home.audit.flush()
        last = (await home.audit.list(limit=10))[-1].entry
        assert (last.action, last.who, last.result) == ("login", "nobody", "wrong")

    async def test_leads_nobody_to_the_second_factor(self, home: House) -> None:
        await home.change(ANNA, totp_secret=SECRET)
        assert await log_in(home) == LoginFailed()
        assert await home.store.list_sessions(ANNA.id) == []

    async def test_logs_nobody_in_with_a_code_either(self, home: House) -> None:
        await home.change(ANNA, totp_secret=SECRET)
        assert await log_in(home, home.code()) == LoginFailed()
        assert await home.store.list_sessions(ANNA.id) == []


class TestWhatTheFormerPasswordBegan:
    async def test_it_is_not_replaced_by_a_third(self, home: House) -> None:
        """The thief of a password must not get the account back after the person changed the password by a link."""
        former = (await home.user(ANNA)).password_hash
        await renew(home)
        renewed = await home.user(ANNA)
        with pytest.raises(Conflict):
            await home.people.set_password(ANNA.id, "four green kites", instead_of=former)
        assert await home.user(ANNA) == renewed

    async def test_a_login_half_way_comes_to_nothing(self, home: House) -> None:
        await home.change(ANNA, totp_secret=SECRET)
        waiting = await go_half_way(home)
        await renew(home)
        assert await home.sessions.enter_code(waiting, home.code(), ADDRESS, AGENT) == LoginFailed()
        assert await home.store.list_sessions(ANNA.id) == []

    async def test_the_old_password_cannot_set_up_a_required_second_factor(self, home: House) -> None:
        home.sessions.second_factor_required = True
        waiting = await go_half_way(home)
        await renew(home)
        assert await home.sessions.set_up_pending(waiting, SECRET, home.code(), ADDRESS, AGENT) == LoginFailed()
        assert (await home.user(ANNA)).totp_secret is None
        assert await home.store.list_sessions(ANNA.id) == []

    async def test_the_old_password_cannot_switch_on_a_second_factor(self, home: House) -> None:
        """Otherwise the thief could lock the person out, who has just changed the password."""
        entered = await log_in(home)
        assert isinstance(entered, LoginComplete)
        await renew(home)
        assert await home.sessions.switch_on_second_factor(entered.person, SECRET, home.code(), ADDRESS) == LoginFailed()
        assert (await home.user(ANNA)).totp_secret is None
        assert await home.store.list_sessions(ANNA.id) == []
