"""JSON models that only /webhooks uses. Models that operators also see are in domogate.wire.webhooks."""

from typing import Annotated

import msgspec
from msgspec import Meta

from domogate.domain.notices import NoticeKind
from domogate.wire import InputModel, OutputModel
from domogate.wire.webhooks import WebhookOut


class NewWebhook(InputModel, frozen=True):
    """A webhook to register. `kinds` are the kinds of events to send. Without `kinds`, all kinds are sent."""

    plant_id: str
    url: Annotated[str, Meta(max_length=2_000)]
    kinds: tuple[NoticeKind, ...] = ()


class WebhookSecretOut(OutputModel, frozen=True):
    secret: str


class WebhooksOut(OutputModel, frozen=True):
    items: list[WebhookOut]


class DeadLetterPage(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    limit: Annotated[int, Meta(ge=1, le=200, description="The greatest number of items.")] = 50
    after: Annotated[int, Meta(ge=0, le=2**53, description="The value of `next` on the previous page.")] = 0
