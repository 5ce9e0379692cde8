"""Finds the error class for an answer with an error status."""

import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Any

import msgspec

from domogate_client import faults
from domogate_client._malformed import MALFORMED
from domogate_client.errors import Conflict, Forbidden, GatewayFailed, InvalidRequest, NotFound, Refused, Unavailable

FAULT_HEADER = "x-fault"
"""The code of the fault. Only home control also writes the code into its error body."""

_BY_STATUS: dict[int, type[Refused]] = {
    401: faults.TokenRefused,
    403: Forbidden,
    404: NotFound,
    408: faults.DeviceTimeout,
    409: Conflict,
    410: Conflict,
    413: faults.BodyTooLarge,
    429: faults.TooManyRequests,
    442: faults.ValueOutOfRange,
    469: faults.PasswordToRenew,
    470: faults.TermsToAccept,
    503: Unavailable,
}
_BY_REASON: dict[str, type[Refused]] = {
    "device_offline": faults.DeviceOffline,
    "device-offline": faults.DeviceOffline,
    "device_timeout": faults.DeviceTimeout,
    "device-timeout": faults.DeviceTimeout,
    "device_refused": faults.DeviceRefused,
    "device-refused": faults.DeviceRefused,
    "no-such-device": faults.NoSuchModule,
}
_LONGEST = 500
_MOST_DIGITS = 12


def refusal_of(status: int, headers: Mapping[str, str], body: bytes, operation: str) -> Refused:
    """Return the error for an answer with a status of 400 or more."""
    document = _read_object(body)
    message, code, reason = _message_of(document), 0, ""
    errors = document.get("errors")
    if isinstance(errors, list) and errors and isinstance(errors[0], dict):
        message, code = str(errors[0].get("userMessage", "")), _code_of(errors[0].get("code"))
    elif "detail" in document:
        reason = str(document.get("reason") or str(document.get("type", "")).rpartition(":ticket:")[2])
        reason = "" if reason == "about:blank" else reason
    given = headers.get(FAULT_HEADER, "")
    if given.isdecimal() and len(given) <= _MOST_DIGITS:
        code = int(given)
    if code == faults.Internal.code and status == 503:
        code = 0
    kind = faults.BY_CODE.get(code) or _BY_REASON.get(reason) or _kind_of(status, headers.get("www-authenticate", ""))
    return kind(
        (message or f"the gateway answered with the status {status}")[:_LONGEST],
        status=status,
        operation=operation,
        request_id=headers.get("x-request-id", ""),
        reason=reason,
        retry_after=seconds_of(headers.get("retry-after")),
    )


def is_uncertain(refusal: Refused) -> bool:
    """Whether the gateway may have executed a request that it answered with this refusal."""
    return isinstance(refusal, GatewayFailed | faults.DeviceTimeout)


def _kind_of(status: int, challenge: str) -> type[Refused]:
    if challenge.startswith("SubscriptionKey"):
        return faults.KeyRefused
    if 'error="insufficient_scope"' in challenge:
        return faults.ScopeMissing
    return _BY_STATUS.get(status) or (GatewayFailed if status >= 500 else InvalidRequest)


def seconds_of(retry_after: str | None) -> float | None:
    """The value of Retry-After in seconds. The gateway sends seconds; a proxy before it may send a date."""
    if retry_after is None:
        return None
    if retry_after.isdecimal():
        return float(retry_after) if len(retry_after) <= _MOST_DIGITS else None
    try:
        return max(0.0, parsedate_to_datetime(retry_after).timestamp() - time.time())
    except (ValueError, OverflowError):
        return None


def is_expired_token(status: int, headers: Mapping[str, str]) -> bool:
    """Whether a new token can help: the token was sent and is not valid (RFC 6750 §3.1)."""
    return status == 401 and 'error="invalid_token"' in headers.get("www-authenticate", "")


def _read_object(body: bytes) -> dict[str, Any]:
    try:
        return msgspec.json.decode(body, type=dict[str, Any])
    except MALFORMED:
        return {}


def _code_of(value: Any) -> int:
    return value if isinstance(value, int) else 0


def _message_of(document: dict[str, Any]) -> str:
    return str(document.get("message") or document.get("detail") or "")
