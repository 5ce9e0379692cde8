"""What is sent and taken under /webhooks, and the table of its operations."""

from typing import Annotated, Any

import msgspec

from domogate.domain.notices import NoticeKind
from domogate.wire import Shown
from domogate.wire.webhooks import Replay, Replayed, ShownDeadLetter, ShownWebhook


class NewWebhook(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """What is wanted. `kinds`: only these; left out or empty: every kind."""

    plant_id: str
    url: Annotated[str, msgspec.Meta(max_length=2_000)]
    kinds: tuple[NoticeKind, ...] = ()


class MadeWebhook(ShownWebhook, frozen=True):
    """With the secret that deliveries are signed with, this one time."""

    secret: str


class ShownSecret(Shown, frozen=True):
    secret: str


class ShownPing(Shown, frozen=True):
    """What the receiver answered; without a status it did not, and `problem` says why."""

    taken: bool
    status: int | None
    problem: str


class ShownWebhooks(Shown, frozen=True):
    items: list[ShownWebhook]


class ShownDeadLetters(Shown, frozen=True):
    """`next` is null at the end; else `?after=` it goes on."""

    items: list[ShownDeadLetter]
    next: str | None


class DeadLetterPage(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which part of the list."""

    limit: Annotated[int, msgspec.Meta(ge=1, le=200, description="How many at most.")] = 50
    after: Annotated[int, msgspec.Meta(ge=0, le=2**53, description="`next` of the page before.")] = 0


class WebhookOperation(msgspec.Struct, frozen=True, kw_only=True):
    """One operation. `path` is relative to /webhooks; `errors` are those beside what every request can meet."""

    id: str
    summary: str
    method: str
    path: tuple[str, ...] = ()
    status: int = 200
    answer: Any = None
    body: Any = None
    query: Any = None
    errors: frozenset[int] = frozenset()

    @property
    def every_error(self) -> frozenset[int]:
        read = {400} if self.query is not None or self.body is not None else set()
        return self.errors | read | ({413, 415} if self.body is not None else set()) | {401, 405, 429, 469, 470, 500}


ID = "{webhookId}"
DEAD_LETTERS = (ID, "dead-letters")

OPERATIONS = (
    WebhookOperation(
        id="registerWebhook", summary="Be told of a plant's events at a URL", method="POST",
        body=NewWebhook, status=201, answer=MadeWebhook, errors=frozenset({403, 404, 409, 422}),
    ),
    WebhookOperation(
        id="listWebhooks", summary="The webhooks of the application for this user, the oldest first", method="GET",
        answer=ShownWebhooks,
    ),
    WebhookOperation(
        id="getWebhook", summary="One webhook and how it fares", method="GET", path=(ID,),
        answer=ShownWebhook, errors=frozenset({404}),
    ),
    WebhookOperation(
        id="removeWebhook", summary="Remove a webhook: nothing is posted from then on", method="DELETE", path=(ID,),
        status=204, errors=frozenset({404}),
    ),
    WebhookOperation(
        id="renewWebhookSecret", summary="A new secret, which the next delivery is signed with", method="POST",
        path=(ID, "secret"), answer=ShownSecret, errors=frozenset({404, 409}),
    ),
    WebhookOperation(
        id="testWebhook", summary="Post an event that tells nothing, now, and say what became of it", method="POST",
        path=(ID, "test"), answer=ShownPing, errors=frozenset({403, 404, 409}),
    ),
    WebhookOperation(
        id="listDeadLetters", summary="Events that the receiver did not take and that were given up, by id", method="GET",
        path=DEAD_LETTERS, query=DeadLetterPage, answer=ShownDeadLetters, errors=frozenset({403, 404}),
    ),
    WebhookOperation(
        id="replayDeadLetters", summary="Try dead letters again: those with these ids, or all", method="POST",
        path=(*DEAD_LETTERS, "replay"), body=Replay, answer=Replayed, errors=frozenset({403, 404, 409}),
    ),
)  # fmt: skip
