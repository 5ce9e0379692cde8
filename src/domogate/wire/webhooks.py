"""JSON models of webhooks and dead letters, for applications and for operators."""

from datetime import datetime
from typing import Annotated, Any

from msgspec import Meta

from domogate.domain.events import StateChanged
from domogate.domain.notices import NoticeKind
from domogate.domain.webhooks import PendingDelivery, Webhook, WebhookFormat
from domogate.wire import InputModel, OutputModel

DeadLetterId = Annotated[str, Meta(pattern="^[0-9]{1,18}$")]


class WebhookOut(OutputModel, frozen=True):
    """A webhook. Every event up to `lastCursor` was delivered, is pending, was given up, or is not for this webhook.
    `failures` says how many times in a row the gateway found the receiver unavailable and began a long pause. A failed
    attempt with only a short pause after it is not counted. An event that the receiver refused is not counted either.
    """

    id: str
    client_id: str
    user_id: str
    plant_id: str
    url: str
    kinds: tuple[NoticeKind, ...]
    scopes: tuple[str, ...]
    form: WebhookFormat
    created_at: datetime
    last_cursor: str
    failing_since: datetime | None
    """The receiver has been unavailable since this time. Null if it is available.

    Also null if deliveries wait only because the user must renew the password or accept the terms.
    """
    failures: int
    next_attempt_at: datetime | None
    problem: str
    ended_at: datetime | None
    ended_why: str
    ended_reason: str
    """A code for the reason in `endedWhy`. Programs can compare it, because the codes do not change.

    Empty if there is no code for the reason.
    """


class CreatedWebhookOut(WebhookOut, frozen=True):
    """A new webhook with the secret that signs its deliveries. The secret is shown only in this answer."""

    secret: str


def webhook_out(webhook: Webhook) -> WebhookOut:
    return WebhookOut.of(webhook, **_differing_fields(webhook))


def created_webhook_out(webhook: Webhook) -> CreatedWebhookOut:
    return CreatedWebhookOut.of(webhook, **_differing_fields(webhook))


def _differing_fields(webhook: Webhook) -> dict[str, Any]:
    return {"last_cursor": str(webhook.position), "next_attempt_at": webhook.next_at if webhook.next_at > 0 else None}


class DeadLetterOut(OutputModel, frozen=True):
    """An event whose delivery was given up.

    `id` is the event's id. A replay sends the event if the application may see the event at the time of the replay.
    """

    id: str
    time: datetime
    module_id: str | None
    what: str
    attempts: int
    problem: str
    dead_at: datetime | None


def dead_letter_out(delivery: PendingDelivery) -> DeadLetterOut:
    change = delivery.change
    what = "module" if isinstance(change.event, StateChanged) else "plant"
    return DeadLetterOut.of(delivery, id=str(change.cursor), time=change.at, what=what)


class ReplayRequest(InputModel, frozen=True):
    """The ids of the dead letters to replay. Without ids, all dead letters are replayed."""

    ids: tuple[DeadLetterId, ...] | None = None

    @property
    def cursors(self) -> list[int] | None:
        return None if self.ids is None else [int(text) for text in self.ids]


class ReplayedOut(OutputModel, frozen=True):
    replayed: int


class PingOut(OutputModel, frozen=True):
    """The receiver's answer to a test delivery. `status` is null if the receiver did not answer; then `problem` says why."""

    taken: bool
    status: int | None
    problem: str
