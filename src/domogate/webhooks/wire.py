"""JSON models of /webhooks alone; those that operators see too are in domogate.wire.webhooks."""

from typing import Annotated

import msgspec
from msgspec import Meta

from domogate.domain.notices import NoticeKind
from domogate.wire import InputModel, OutputModel
from domogate.wire.webhooks import WebhookOut


class NewWebhook(InputModel, frozen=True):
    """`kinds`: only these; left out or empty: every kind."""

    plant_id: str
    url: Annotated[str, Meta(max_length=2_000)]
    kinds: tuple[NoticeKind, ...] = ()


class WebhookSecretOut(OutputModel, frozen=True):
    secret: str


class PingOut(OutputModel, frozen=True):
    """The receiver's answer. `status` is null if it did not answer; `problem` then says why."""

    taken: bool
    status: int | None
    problem: str


class WebhooksOut(OutputModel, frozen=True):
    items: list[WebhookOut]


class DeadLetterPage(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    limit: Annotated[int, Meta(ge=1, le=200, description="How many at most.")] = 50
    after: Annotated[int, Meta(ge=0, le=2**53, description="`next` of the page before.")] = 0
