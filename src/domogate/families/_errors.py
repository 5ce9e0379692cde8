"""The two error shapes of Spec 7, and the WWW-Authenticate header of a 401 (RFC 6750 §3)."""

from collections.abc import Callable

import msgspec

from domogate.domain.faults import Fault, KeyRefused, ScopeMissing, TokenRefused

ErrorShape = Callable[[int, Fault], msgspec.Struct]


class ErrorItem(msgspec.Struct, rename="camel"):
    user_message: str
    internal_message: str
    code: int


class ErrorsA(msgspec.Struct):
    """The error body of home control: shape A."""

    errors: list[ErrorItem]


class ErrorB(msgspec.Struct, rename="camel"):
    """The error body of all families except home control: shape B."""

    status_code: int
    message: str


def shape_a(status: int, fault: Fault) -> ErrorsA:
    return ErrorsA([ErrorItem(fault.message, f"{status} {type(fault).__name__}", fault.code)])


def shape_b(status: int, fault: Fault) -> ErrorB:
    return ErrorB(status, fault.message)


def challenge(fault: Fault) -> bytes:
    """Return the value of the header WWW-Authenticate of a 401 for this fault."""
    if isinstance(fault, ScopeMissing):
        return b'Bearer realm="domogate", error="insufficient_scope", scope="' + " ".join(fault.scopes).encode() + b'"'
    if isinstance(fault, TokenRefused) and fault.given:
        return b'Bearer realm="domogate", error="invalid_token"'
    if isinstance(fault, KeyRefused):
        return b'SubscriptionKey realm="domogate", header="Ocp-Apim-Subscription-Key"'
    return b'Bearer realm="domogate"'
