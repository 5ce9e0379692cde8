"""Webhooks of all applications: where they lead, how they fare, and what could not be delivered."""

from typing import Annotated

import msgspec

from domogate.http_api.problems import Problem
from domogate.management.operation import Call, Desk, Listing, Operation, Page, cut, page_of, queried_id
from domogate.services.webhooks.administration import WebhookAdministration
from domogate.wire.webhooks import (
    Replay,
    Replayed,
    ShownDeadLetter,
    ShownWebhook,
    read_cursors,
    show_dead_letter,
    show_webhook,
)


class WebhookPage(Page, frozen=True, forbid_unknown_fields=True, rename="camel"):
    plant_id: Annotated[str, msgspec.Meta(description="Only webhooks for this plant.")] | None = None


def _of(desk: Desk) -> WebhookAdministration:
    """Whoever delivers, in this process or another, notices within seconds."""
    return WebhookAdministration(desk.store, desk.clock, desk.audit)


async def list_webhooks(desk: Desk, call: Call) -> Listing[ShownWebhook]:
    query: WebhookPage = call.query
    found = await _of(desk).list(queried_id("plantId", query.plant_id))
    kept, following = page_of(found, query, lambda webhook: webhook.id)
    return Listing([show_webhook(webhook) for webhook in kept], following)


async def get_webhook(desk: Desk, call: Call) -> ShownWebhook:
    return show_webhook(await _of(desk).get(call.id_of("webhookId")))


async def remove_webhook(desk: Desk, call: Call) -> None:
    await _of(desk).remove(call.id_of("webhookId"), who=call.operator.id, address=call.address)


async def list_dead_letters(desk: Desk, call: Call) -> Listing[ShownDeadLetter]:
    query: Page = call.query
    found = await _of(desk).list_dead(call.id_of("webhookId"), after=_after(query.after), limit=query.limit + 1)
    kept, following = cut(found, query.limit, lambda letter: str(letter.change.cursor))
    return Listing([show_dead_letter(letter) for letter in kept], following)


async def replay_dead_letters(desk: Desk, call: Call) -> Replayed:
    wanted: Replay = call.body
    try:
        cursors = read_cursors(wanted.ids)
    except ValueError as error:
        raise Problem(400, f"The body is not as expected: {error}.") from None
    replayed = await _of(desk).replay(call.id_of("webhookId"), cursors, who=call.operator.id, address=call.address)
    return Replayed(replayed)


def _after(text: str | None) -> int:
    if text is None:
        return 0
    if not (text.isascii() and text.isdecimal() and len(text) < 19):
        raise Problem(400, "The query is not as expected: `after` must be `next` of the page before.")
    return int(text)


OPERATIONS = (
    Operation(
        id="listWebhooks", tag="webhooks", summary="Webhooks of all applications and how they fare, by id",
        method="GET", path="/webhooks", handler=list_webhooks, query=WebhookPage, answer=Listing[ShownWebhook],
    ),
    Operation(
        id="getWebhook", tag="webhooks", summary="One webhook; never its secret",
        method="GET", path="/webhooks/{webhookId}", handler=get_webhook, answer=ShownWebhook, errors=frozenset({404}),
    ),
    Operation(
        id="removeWebhook", tag="webhooks", summary="Remove a webhook with everything that was kept for it",
        method="DELETE", path="/webhooks/{webhookId}", handler=remove_webhook, status=204, errors=frozenset({404}),
    ),
    Operation(
        id="listDeadLetters", tag="webhooks", summary="Events that a webhook's receiver did not take, by id",
        method="GET", path="/webhooks/{webhookId}/dead-letters", handler=list_dead_letters,
        query=Page, answer=Listing[ShownDeadLetter], errors=frozenset({404}),
    ),
    Operation(
        id="replayDeadLetters", tag="webhooks", summary="Try dead letters again: those with these ids, or all",
        method="POST", path="/webhooks/{webhookId}/dead-letters/replay", handler=replay_dead_letters,
        body=Replay, answer=Replayed, errors=frozenset({404, 409}),
    ),
)  # fmt: skip
