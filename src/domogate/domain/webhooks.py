"""Webhooks: URLs to which the gateway sends a plant's notices, and deliveries that are pending."""

from enum import StrEnum

import msgspec

from domogate.domain.events import Change
from domogate.domain.ids import Id
from domogate.domain.notices import NoticeKind


class WebhookFormat(StrEnum):
    """The format in which events are sent."""

    CLOUDEVENTS = "cloudevents"
    THERMOSTAT = "thermostat"
    """The format of the thermostat family's subscriptions. It can express only states of thermostats."""


class EndReason(StrEnum):
    """The reason why a webhook ended, as it is stored and shown in English.

    The APIs also have a code for each reason: its name in lower case, for example `user_gone`.
    """

    USER_GONE = "The user does not exist any more."
    APPLICATION_GONE = "The application is not registered any more."
    APPLICATION_REVOKED = "The user does not let the application in any more."
    PLANT_REMOVED = "The plant was removed."
    RIGHTS_WITHDRAWN = "The user has no rights on the plant any more."
    RECEIVER_GONE = "The receiver answered 410: it wants no more deliveries."
    LOGGED_OUT = "The user logged out everywhere."
    NEW_PASSWORD = "The user chose a new password."
    BY_USER = "The user ended it."
    ON_ACCOUNT_PAGE = "The user ended it on the account page."


class TooManyWebhooks(Exception):
    """The application has reached the limit of webhooks for this user and plant. The new webhook is not stored."""


class Webhook(msgspec.Struct, frozen=True, kw_only=True):
    """A webhook of an application for one user and plant. Before every delivery the rights of its grant are checked."""

    id: Id
    client_id: str
    user_id: Id
    grant_id: Id
    plant_id: Id
    url: str
    secret: str
    """The key that signs deliveries (HMAC-SHA256): `whsec_`, followed by the key in Base64.

    The APIs show the secret only once, when it is made.
    """
    kinds: tuple[NoticeKind, ...] = ()
    """The kinds of notices to send. Empty means all kinds."""
    scopes: tuple[str, ...]
    """The scopes of the token that registered the webhook. A scope counts only while the grant also has this scope."""
    form: WebhookFormat = WebhookFormat.CLOUDEVENTS
    created_at: float
    position: int
    """All changes up to this cursor are handled: delivered, pending, or not for this webhook."""
    failing_since: float | None = None
    """The receiver has been unavailable since this time: it does not answer, or it answers 429, 502, 503 or 504.

    None if the receiver is available. Also None if deliveries wait only because the user must renew the password or accept the
    terms.
    """
    failures: int = 0
    """How many times in a row the gateway found the receiver unavailable and began a long pause.

    A failed attempt with only a short pause after it is not counted.
    An event that the receiver refused is not counted either.
    """
    next_at: float = 0.0
    """The time of the next attempt. 0 if nothing waits for an attempt."""
    problem: str = ""
    """The reason why deliveries wait: the failure of the receiver, or what the user must do first. Empty if there is none.

    If the receiver is available but has refused events, this is the problem of the oldest refused event that is pending. If
    none is pending, but an event became a dead letter, this is the problem of that event, until `position` is stored again.
    """
    ended_at: float | None = None
    ended_why: str = ""
    """The reason why the webhook ended, as a sentence: an `EndReason`, or a sentence of another version of the gateway."""

    @property
    def ended_reason(self) -> str:
        """The reason in `ended_why` as a short code. Empty if the webhook has not ended, or if the reason has no code."""
        return next((reason.name.lower() for reason in EndReason if reason == self.ended_why), "")


class PendingDelivery(msgspec.Struct, frozen=True):
    """A change that the receiver has not accepted. If `dead_at` is set, it is a dead letter; otherwise it is sent later.

    Later changes of the same module wait until this change is delivered or becomes a dead letter. So the changes of each module
    are delivered in order.
    """

    webhook_id: Id
    change: Change
    module_id: Id | None
    attempts: int
    """The number of failed attempts. Quick retries are not counted.

    A quick retry comes a few seconds after a failure, while the receiver still accepts other events (Decision 0073).
    """
    next_at: float
    problem: str
    dead_at: float | None = None
