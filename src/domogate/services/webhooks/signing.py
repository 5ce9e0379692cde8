"""Signatures of the Standard Webhooks specification (1.0): HMAC-SHA256 over id, timestamp and body."""

import base64
import hmac
import secrets

from domogate.domain.ids import Id
from domogate.domain.webhooks import Webhook

PREFIX = "whsec_"
_BYTES = 32


def new_webhook_secret() -> str:
    return PREFIX + base64.b64encode(secrets.token_bytes(_BYTES)).decode()


def message_id(webhook_id: Id, cursor: int) -> str:
    """Return the message id. All attempts to send one event have the same id, so that the receiver can see a duplicate."""
    return f"{webhook_id}_{cursor}"


def sign_delivery(webhook: Webhook, message: str, at: float, body: bytes) -> dict[str, str]:
    """Return the headers with the message id, the time and the signature."""
    timestamp = str(int(at))
    key = base64.b64decode(webhook.secret.removeprefix(PREFIX))
    signed = hmac.digest(key, b".".join((message.encode(), timestamp.encode(), body)), "sha256")
    return {
        "webhook-id": message,
        "webhook-timestamp": timestamp,
        "webhook-signature": f"v1,{base64.b64encode(signed).decode()}",
    }
