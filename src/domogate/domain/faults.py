"""What went wrong, without any status code: each family says it in its own words (Decision 0002).

`code` is stable and documented (docs/errors.md); it is what home control prints as errors[].code (Spec 7).
"""

from typing import ClassVar


class Fault(Exception):
    """A refusal. The message is for the developer of a client: what to fix, and nothing about anyone else."""

    code: ClassVar[int]

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


def sentence(message: str) -> str:
    """A fault's message as a full sentence: a capital first letter and a full stop."""
    return f"{message[:1].upper()}{message[1:]}."


# Who is calling


class KeyRefused(Fault):
    """No subscription key, two of them, or one that is unknown, revoked or expired: the same answer for all."""

    code = 1001

    def __init__(self) -> None:
        super().__init__("the header Ocp-Apim-Subscription-Key must be there once, with a subscription key that is valid")


class TokenRefused(Fault):
    """No token (`given` is False), two of them, or one that is not valid here now."""

    code = 1002

    def __init__(self, message: str, *, given: bool = True) -> None:
        super().__init__(message)
        self.given = given


class ScopeMissing(Fault):
    code = 1003

    def __init__(self, message: str, scopes: tuple[str, ...]) -> None:
        super().__init__(message)
        self.scopes = scopes


class TooManyRequests(Fault):
    """The key's rate or daily quota is used up for now; `headers` are ready-made and say what remains of each."""

    code = 1004

    def __init__(self, message: str, retry_after: int, headers: tuple[tuple[bytes, bytes], ...] = ()) -> None:
        super().__init__(message)
        self.retry_after = retry_after
        self.headers = headers


class PasswordToRenew(Fault):
    code = 1005


class TermsToAccept(Fault):
    code = 1006


# What they asked for


class NotYourPlant(Fault):
    code = 2001


class NoSuchPlant(Fault):
    code = 2002


class NoSuchModule(Fault):
    """No such module, one of another plant, or one of another kind."""

    code = 2003


class NoSuchAmbient(Fault):
    code = 2004


class NoPlug(Fault):
    """The ambient or the plant has no plug (Spec 7: no plug found)."""

    code = 2005


class NotASite(Fault):
    code = 2006


class UnknownReference(Fault):
    """No unit reference of that name is known (E19)."""

    code = 2007


class WrongUrl(Fault):
    code = 2008


class WrongMethod(Fault):
    code = 2009

    def __init__(self, message: str, allow: str) -> None:
        super().__init__(message)
        self.allow = allow


class NoSuchSubscription(Fault):
    """No such subscription, one of another plant, or another application's (X8)."""

    code = 2010


class SubscriptionExists(Fault):
    """The application is subscribed to the plant already (X6)."""

    code = 2011


# How they asked


class MalformedId(Fault):
    code = 3001


class MalformedRequest(Fault):
    """A body, header or parameter that cannot be read at all."""

    code = 3002


class ValueOutOfRange(Fault):
    """A well-formed value outside its enumeration or bounds."""

    code = 3003


class NotAcceptable(Fault):
    code = 3004


class BodyTooLarge(Fault):
    code = 3005


class OrderKeyTaken(Fault):
    """An idempotency key that was used before, for another command."""

    code = 3006


# What the device said


class DeviceOffline(Fault):
    code = 4001


class DeviceTimeout(Fault):
    code = 4002


class DeviceRefused(Fault):
    """The device answered, and would not."""

    code = 4003


# Ourselves, and what stands behind us


class EchoUnreachable(Fault):
    code = 5001


class EchoTimeout(Fault):
    code = 5002


class Internal(Fault):
    code = 5999
