"""What comes of logging in, and who is found by a cookie."""

import hashlib
import hmac

import msgspec

from domogate.domain.authorization import Session
from domogate.domain.people import User


class LoggedIn(msgspec.Struct, frozen=True):
    """A person in a browser. `form_token` is bound to the cookie: another site can neither read nor guess it."""

    session: Session
    user: User
    form_token: str = ""


class HalfWay(msgspec.Struct, frozen=True):
    """The password was right; a code is still wanted, or (`set_up`) a second factor is still to be set up."""

    session: Session
    user: User
    set_up: bool
    form_token: str


class Entered(msgspec.Struct, frozen=True):
    cookie: str
    person: LoggedIn


class SecondFactorNeeded(msgspec.Struct, frozen=True):
    """Go on with `enter_code` (or, when `set_up`, with `set_up_half_way`) and this cookie, which opens nothing else."""

    cookie: str
    set_up: bool


class Wrong(msgspec.Struct, frozen=True):
    """Unknown user, user without a password, wrong password, wrong code: all the same."""


class SlowDown(msgspec.Struct, frozen=True):
    seconds: int


def form_token_of(cookie: str) -> str:
    """What a form of this browser carries. Neither the store nor the page gives the cookie away."""
    return hmac.new(cookie.encode("utf-8", "surrogatepass"), b"form", hashlib.sha256).hexdigest()
