"""Logging in to a house with a browser, all the way and half of it."""

from typing import Any

from domogate.services.people.sessions import Entered, HalfWay, LoggedIn, SecondFactorNeeded
from support.pages import ADDRESS, ANNA, PASSWORD, House

AGENT = "A browser/1.0"


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
