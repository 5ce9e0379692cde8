"""Checks the deliveries of webhooks: the signatures of the Standard Webhooks specification."""

import base64
import binascii
import hmac
import re
import time
from collections.abc import Mapping, Sequence

import msgspec

from domogate_client._malformed import MALFORMED
from domogate_client.errors import WebhookNotVerified
from domogate_client.events import Event, decode_event
from domogate_client.models.thermostat import ChronothermostatStatus

TOLERANCE = 300.0
"""The seconds by which the time of a delivery may differ from the clock of the receiver."""
MAX_BODY = 1_000_000

_PREFIX = "whsec_"
_VERSION = "v1,"
_TIMESTAMP = re.compile(r"[0-9]{1,12}").fullmatch


class Notification(msgspec.Struct, frozen=True, rename="camel"):
    """A notification of a thermostat subscription (X6): the state of a chronothermostat."""

    id: str
    event_type: str
    subject: str
    event_time: str
    data: ChronothermostatStatus


def verify(
    secret: str | Sequence[str],
    headers: Mapping[str, str],
    body: bytes,
    *,
    tolerance: float = TOLERANCE,
    now: float | None = None,
) -> Event:
    """Return the event of a delivery. Raises WebhookNotVerified if it is not signed with the secret, or is too old.

    `secret` may be several secrets, for the time when a secret is renewed. `headers` may have names in any case.
    """
    check_signature(secret, headers, body, tolerance=tolerance, now=now)
    return decode_event(body)


def verify_notifications(
    secret: str | Sequence[str],
    headers: Mapping[str, str],
    body: bytes,
    *,
    tolerance: float = TOLERANCE,
    now: float | None = None,
) -> list[Notification]:
    """Return the notifications of a delivery to a thermostat subscription. Raises WebhookNotVerified as `verify` does."""
    check_signature(secret, headers, body, tolerance=tolerance, now=now)
    try:
        return msgspec.json.decode(body, type=list[Notification])
    except MALFORMED as error:
        raise WebhookNotVerified(f"the delivery is no list of notifications: {error}") from None


def delivery_id(headers: Mapping[str, str]) -> str:
    """Return the id of a delivery. It is the same at every attempt, so a receiver can recognise a repeated delivery."""
    return _find(headers, "webhook-id")


def check_signature(
    secret: str | Sequence[str], headers: Mapping[str, str], body: bytes, *, tolerance: float, now: float | None
) -> None:
    """Raise WebhookNotVerified if the delivery is not signed with one of the secrets, is too old or is too large."""
    if len(body) > MAX_BODY:
        raise WebhookNotVerified(f"the body is larger than {MAX_BODY} bytes")
    timestamp, identity = _find(headers, "webhook-timestamp"), _find(headers, "webhook-id")
    if not _TIMESTAMP(timestamp) or abs((time.time() if now is None else now) - int(timestamp)) > tolerance:
        raise WebhookNotVerified("the time of the delivery is missing, too old or in the future")
    message = b".".join((_bytes_of(identity), timestamp.encode(), body))
    given = [one.removeprefix(_VERSION) for one in _find(headers, "webhook-signature").split() if one.startswith(_VERSION)]
    for one in [secret] if isinstance(secret, str) else secret:
        expected = base64.b64encode(hmac.digest(_key_of(one), message, "sha256")).decode()
        if any(hmac.compare_digest(expected.encode(), _bytes_of(signature)) for signature in given):
            return
    raise WebhookNotVerified("no signature of the delivery belongs to the secret")


def _bytes_of(text: str) -> bytes:
    """The bytes of a header. Some servers decode bytes that are not UTF-8 as lone surrogates."""
    return text.encode("utf-8", "surrogatepass")


def _key_of(secret: str) -> bytes:
    try:
        key = base64.b64decode(secret.removeprefix(_PREFIX), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if not key:  # Everybody can sign with an empty key.
        raise WebhookNotVerified("the secret is not whsec_ and Base64")
    return key


def _find(headers: Mapping[str, str], name: str) -> str:
    """The value of a header, whose name may be in any case. Raises WebhookNotVerified if it is missing."""
    value = headers.get(name) or next((value for key, value in headers.items() if key.lower() == name), "")
    if not value:
        raise WebhookNotVerified(f"the header {name} is missing")
    return value
