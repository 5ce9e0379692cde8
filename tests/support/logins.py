"""Logins with and without a second factor."""

from typing import Any

from domogate.services.people import LoggedIn, LoginComplete, PendingLogin, SecondFactorNeeded
from support.auth_setup import ADDRESS, PASSWORD, AuthSetup
from support.stores import ANNA

AGENT = "A browser/1.0"


async def log_in(
    setup: AuthSetup, email: str = ANNA.email, password: str = PASSWORD, otp: str | None = None, **options: Any
) -> Any:
    return await setup.sessions.log_in(email, password, otp, ADDRESS, AGENT, **options)


async def enter(setup: AuthSetup, **options: Any) -> LoginComplete:
    outcome = await log_in(setup, **options)
    assert isinstance(outcome, LoginComplete)
    return outcome


async def find(setup: AuthSetup, cookie: str) -> LoggedIn:
    found = await setup.sessions.find(cookie)
    assert found is not None
    return found


async def pending(setup: AuthSetup, outcome: Any) -> PendingLogin:
    assert isinstance(outcome, SecondFactorNeeded)
    found = await setup.sessions.find_pending(outcome.cookie)
    assert found is not None
    return found
