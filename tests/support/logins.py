"""Logins with and without a second factor, and with passkeys."""

from typing import Any

from domogate.domain.people import User
from domogate.services.people import LoggedIn, LoginComplete, Passkeys, PendingLogin, SecondFactorNeeded
from support.auth_setup import ADDRESS, PASSWORD, AuthSetup
from support.authenticator import Authenticator
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


def passkeys_of(setup: AuthSetup) -> Passkeys:
    assert setup.passkeys is not None
    return setup.passkeys


async def add_passkey(setup: AuthSetup, person: LoggedIn, device: Authenticator, name: str = "Phone", **changed: Any) -> Any:
    """`changed`: see Authenticator. The result is that of `Passkeys.add`."""
    answer = device.create(await passkeys_of(setup).ask_for_new(person), **changed)
    return await passkeys_of(setup).add(person, answer, name, ADDRESS)


async def enroll(setup: AuthSetup, who: User = ANNA, **options: Any) -> Authenticator:
    """A device with a passkey of this person, who logs in with the password."""
    device = Authenticator(setup.base_url, **options)
    added = await add_passkey(setup, (await enter(setup, email=who.email)).person, device)
    assert isinstance(added, LoginComplete)
    return device


async def use_passkey(setup: AuthSetup, device: Authenticator, form_token: str = "a form", **changed: Any) -> Any:
    """Log in without a password."""
    answer = device.get(await passkeys_of(setup).ask_for_any(form_token), **changed)
    return await passkeys_of(setup).log_in(answer, form_token, ADDRESS, AGENT)


async def noted(setup: AuthSetup) -> list[tuple[str, str, dict[str, str]]]:
    """Action, result and detail of the entries in the audit log."""
    await setup.audit.flush()
    entries = [record.entry for record in await setup.audit.list(limit=100)]
    return [(entry.action, entry.result, dict(entry.detail)) for entry in entries]
