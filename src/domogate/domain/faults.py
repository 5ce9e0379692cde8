"""Faults: the reasons for a refusal, without status codes. Each family chooses the status and the shape (Decision 0002).

The `code` of a fault never changes and is documented (docs/errors.md). Home control prints it as errors[].code (Spec 7).
"""

from typing import ClassVar


class Fault(Exception):
    """The reason why a request is refused. When a fault is raised, the request ends. The message tells the developer of a
    client what to fix.

    The message does not reveal anything about other users.
    """

    code: ClassVar[int]

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


def sentence(message: str) -> str:
    """Return the message of a fault as a full sentence, with a capital letter and a full stop."""
    return f"{message[:1].upper()}{message[1:]}."


# The caller


class KeyRefused(Fault):
    """The subscription key is missing, sent twice, unknown, revoked or expired. The message is the same in all cases."""

    code = 1001

    def __init__(self) -> None:
        super().__init__("the request needs the header Ocp-Apim-Subscription-Key exactly once, with a valid subscription key")


class TokenRefused(Fault):
    """The token is missing (`given` is False), sent twice, or not valid."""

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
    """The rate or the daily quota of the key is used up. In APIs without a key: the limit of the person is reached.

    `headers` are the response headers with the remaining rate and quota of a key.
    """

    code = 1004

    def __init__(self, message: str, retry_after: int, headers: tuple[tuple[bytes, bytes], ...] = ()) -> None:
        super().__init__(message)
        self.retry_after = retry_after
        self.headers = headers


class PasswordToRenew(Fault):
    code = 1005


class TermsToAccept(Fault):
    code = 1006


# The target of the request


class NotYourPlant(Fault):
    code = 2001


class NoSuchPlant(Fault):
    code = 2002


class NoSuchModule(Fault):
    """The module does not exist, is in another plant, or is of another kind."""

    code = 2003


class NoSuchAmbient(Fault):
    code = 2004


class NoPlug(Fault):
    """The ambient or the plant has no plug (Spec 7: no plug found)."""

    code = 2005


class NotASite(Fault):
    code = 2006


class UnknownReference(Fault):
    """The unit reference is not known (E19)."""

    code = 2007


class WrongUrl(Fault):
    code = 2008


class WrongMethod(Fault):
    code = 2009

    def __init__(self, message: str, allow: str) -> None:
        super().__init__(message)
        self.allow = allow


class NoSuchSubscription(Fault):
    """The thermostat subscription does not exist, or belongs to another plant or application (X8)."""

    code = 2010


class SubscriptionExists(Fault):
    """The thermostat subscription cannot be added (X6).

    For this user and plant, the application already has a subscription, a webhook with this URL, or too many webhooks.
    """

    code = 2011


# The form of the request


class MalformedId(Fault):
    code = 3001


class MalformedRequest(Fault):
    """The request has a body, header or parameter that cannot be parsed."""

    code = 3002


class ValueOutOfRange(Fault):
    """The request has a well-formed value that is outside its enumeration or range."""

    code = 3003


class NotAcceptable(Fault):
    code = 3004


class BodyTooLarge(Fault):
    code = 3005


class OrderKeyTaken(Fault):
    """The idempotency key was used before for another command. The new command is not sent."""

    code = 3006


# The device


class DeviceOffline(Fault):
    code = 4001


class DeviceTimeout(Fault):
    code = 4002


class DeviceRefused(Fault):
    """The device, its driver or its broker did not do what was asked, for example because the camera is off.

    The message says why.
    """

    code = 4003


class CommandNotSupported(DeviceRefused):
    """The device can never execute this command, for example a level for a lamp without levels. Nothing was sent."""

    code = 4004


# The gateway and its backends


class EchoUnreachable(Fault):
    code = 5001


class EchoTimeout(Fault):
    code = 5002


class Internal(Fault):
    """The gateway failed.

    `is_temporary` is True if the same request may succeed later, for example because the database could not be reached now.
    """

    code = 5999

    def __init__(self, message: str, *, is_temporary: bool = False) -> None:
        super().__init__(message)
        self.is_temporary = is_temporary
