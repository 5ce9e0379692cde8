"""The results of a login, and the person to whom a session cookie belongs."""

import hashlib
import hmac

import msgspec

from domogate.domain.authorization import Session
from domogate.domain.people import User


class _Login(msgspec.Struct, frozen=True):
    session: Session
    user: User


class LoggedIn(_Login, frozen=True):
    """A person who has logged in with a browser.

    `form_token` is derived from the session cookie. Other web sites cannot read or guess this token.
    """

    form_token: str = ""


class PendingLogin(_Login, frozen=True):
    """A login that is not complete: the password was right.

    The person must still prove a second factor, or set one up if `set_up` is True.
    """

    set_up: bool
    form_token: str


class LoginComplete(msgspec.Struct, frozen=True):
    cookie: str
    person: LoggedIn


class SecondFactorNeeded(msgspec.Struct, frozen=True):
    """The result of a login with the right password: a second factor is needed.

    The login continues with `cookie`, which gives no other access. If `set_up` is true, the user has no second factor yet and
    must first set one up.
    """

    cookie: str
    set_up: bool


class LoginFailed(msgspec.Struct, frozen=True):
    """The result of a failed login: the user is unknown or has no password, or the password, code or passkey is wrong.

    The caller does not learn which of these is the reason.
    """


class LoginExpired(msgspec.Struct, frozen=True):
    """The result of a login with a passkey challenge that expired or is for another browser.

    A challenge expires if the page is open for too long.
    """


class LoginThrottled(msgspec.Struct, frozen=True):
    """The result of a refused login: there were too many attempts. The person can try again after `seconds`."""

    seconds: int


def form_token_of(cookie: str) -> str:
    """Return the form token of the browser that has this session cookie. Nobody can compute the cookie from the token."""
    return hmac.new(cookie.encode("utf-8", "surrogatepass"), b"form", hashlib.sha256).hexdigest()
