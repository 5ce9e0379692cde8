"""Results of a login, and the person that a session cookie belongs to."""

import hashlib
import hmac

import msgspec

from domogate.domain.authorization import Session
from domogate.domain.people import User


class LoggedIn(msgspec.Struct, frozen=True):
    """A person in a browser. `form_token` is derived from the cookie: another site can neither read nor guess it."""

    session: Session
    user: User
    form_token: str = ""


class PendingLogin(msgspec.Struct, frozen=True):
    """The password was right. The person must still enter a code or, if `set_up`, set up a second factor."""

    session: Session
    user: User
    set_up: bool
    form_token: str


class LoginComplete(msgspec.Struct, frozen=True):
    cookie: str
    person: LoggedIn


class SecondFactorNeeded(msgspec.Struct, frozen=True):
    """Continue with this cookie and `enter_code` or, if `set_up`, `set_up_pending`. The cookie gives no other access."""

    cookie: str
    set_up: bool


class LoginFailed(msgspec.Struct, frozen=True):
    """Unknown user, user without a password, wrong password or wrong code: the caller is not told which."""


class LoginThrottled(msgspec.Struct, frozen=True):
    """Too many attempts: try again after `seconds`."""

    seconds: int


def form_token_of(cookie: str) -> str:
    """The token in the forms of this browser. The cookie cannot be computed from it."""
    return hmac.new(cookie.encode("utf-8", "surrogatepass"), b"form", hashlib.sha256).hexdigest()
