"""Webhooks and dead letters as they are shown to their applications and to operators; never the secret."""

from datetime import datetime

import msgspec

from domogate.domain.events import StateChanged
from domogate.domain.notices import NoticeKind
from domogate.domain.webhooks import PendingDelivery, Webhook, WebhookFormat
from domogate.wire import Shown, moment, moment_or_none


class ShownWebhook(Shown, frozen=True):
    """Everything up to the event `lastCursor` is delivered, parked, or none of its business."""

    id: str
    client_id: str
    user_id: str
    plant_id: str
    url: str
    kinds: tuple[NoticeKind, ...]
    form: WebhookFormat
    created_at: datetime
    last_cursor: str
    failing_since: datetime | None
    """Since when the receiver has not been reached; null: it was, the last time."""
    failures: int
    next_attempt_at: datetime | None
    problem: str
    ended_at: datetime | None
    ended_why: str


def show_webhook(webhook: Webhook) -> ShownWebhook:
    return ShownWebhook(
        id=webhook.id,
        client_id=webhook.client_id,
        user_id=webhook.user_id,
        plant_id=webhook.plant_id,
        url=webhook.url,
        kinds=webhook.kinds,
        form=webhook.form,
        created_at=moment(webhook.created_at),
        last_cursor=str(webhook.position),
        failing_since=moment_or_none(webhook.failing_since),
        failures=webhook.failures,
        next_attempt_at=moment(webhook.next_at) if webhook.next_at > 0 else None,
        problem=webhook.problem,
        ended_at=moment_or_none(webhook.ended_at),
        ended_why=webhook.ended_why,
    )


class ShownDeadLetter(Shown, frozen=True):
    """An event that was given up. `id` is the event's own; what it tells is sent when it is replayed, if it may be then."""

    id: str
    time: datetime
    module_id: str | None
    what: str
    attempts: int
    problem: str
    dead_at: datetime | None


def show_dead_letter(parked: PendingDelivery) -> ShownDeadLetter:
    return ShownDeadLetter(
        id=str(parked.change.cursor),
        time=moment(parked.change.at),
        module_id=parked.module_id,
        what="module" if isinstance(parked.change.event, StateChanged) else "plant",
        attempts=parked.attempts,
        problem=parked.problem,
        dead_at=moment_or_none(parked.dead_at),
    )


class Replay(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which dead letters, by their ids; left out: all."""

    ids: tuple[str, ...] | None = None


class Replayed(Shown, frozen=True):
    replayed: int


def read_cursors(ids: tuple[str, ...] | None) -> list[int] | None:
    """Raises ValueError for what is no id of an event."""
    if ids is None:
        return None
    if not all(text.isascii() and text.isdecimal() and len(text) < 19 for text in ids):
        raise ValueError("an id of a dead letter is a whole number")
    return [int(text) for text in ids]
