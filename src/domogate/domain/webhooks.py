"""Webhooks: where an application wants to be told of a plant's notices, and what could not be told yet."""

from enum import StrEnum

import msgspec

from domogate.domain.events import Change
from domogate.domain.ids import Id
from domogate.domain.notices import NoticeKind


class WebhookFormat(StrEnum):
    """In what form an event is sent."""

    CLOUDEVENTS = "cloudevents"
    THERMOSTAT = "thermostat"
    """As the thermostat family's own clients expect it; states of thermostats only."""


class TooManyWebhooks(Exception):
    """An application has as many for this user and plant as it may."""


class Webhook(msgspec.Struct, frozen=True, kw_only=True):
    """One application's wish, for one user and plant. What it may be told is decided by the grant, at every delivery."""

    id: Id
    client_id: str
    user_id: Id
    grant_id: Id
    plant_id: Id
    url: str
    secret: str
    """What deliveries are signed with (HMAC-SHA256), `whsec_` and Base64. Shown when it is made, and never again."""
    kinds: tuple[NoticeKind, ...] = ()
    """Only these; none at all is every kind."""
    form: WebhookFormat = WebhookFormat.CLOUDEVENTS
    created_at: float
    position: int
    """Everything up to this cursor is delivered, parked, or none of its business."""
    failing_since: float | None = None
    """Since when the receiver has not been reached at all; None: it answered the last time."""
    failures: int = 0
    """How often in a row."""
    next_at: float = 0.0
    """Not to be tried before."""
    problem: str = ""
    """What went wrong the last time, for whoever looks after the receiver."""
    ended_at: float | None = None
    ended_why: str = ""
    """Why nothing is delivered any more: the right was withdrawn, the receiver said 410."""


class PendingDelivery(msgspec.Struct, frozen=True, kw_only=True):
    """A change that a receiver answered but did not take. It is tried again, and is a dead letter once `dead_at` is set.

    Later changes of the same module wait behind it, so that each module's are delivered in order.
    """

    webhook_id: Id
    change: Change
    module_id: Id | None
    attempts: int
    next_at: float
    problem: str
    dead_at: float | None = None
