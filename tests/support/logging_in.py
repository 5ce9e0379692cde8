"""Logins with and without a second factor."""

from typing import Any

from domogate.services.people import LoggedIn, LoginComplete, PendingLogin, SecondFactorNeeded
from support.pages import ADDRESS, ANNA, PASSWORD, House

AGENT = "A browser/1.0"


async def log_in(home: House, email: str = ANNA.email, password: str = PASSWORD, otp: str | None = None, **options: Any) -> Any:
    return await home.sessions.log_in(email, password, otp, ADDRESS, AGENT, **options)


async def enter(home: House, **options: Any) -> LoginComplete:
    outcome = await log_in(home, **options)
    assert isinstance(outcome, LoginComplete)
    return outcome


async def find(home: House, cookie: str) -> LoggedIn:
    found = await home.sessions.find(cookie)
    assert found is not None
    return found


async def pending(home: House, outcome: Any) -> PendingLogin:
    assert isinstance(outcome, SecondFactorNeeded)
    found = await home.sessions.find_pending(outcome.cookie)
    assert found is not None
    return found
