"""Operations on the webhooks of all applications: their URLs, their health, and events that could not be delivered."""

from datetime import datetime
from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from domogate.http_api.operations import OperationTable
from domogate.http_api.paging import Listing, Page, first_page, page_of
from domogate.http_api.requests import read_optional_id
from domogate.management.names import NamedPage, find_names, name_of
from domogate.management.services import ManagementServices, OperatorCall
from domogate.management.status import OwnListing
from domogate.services.webhooks.administration import WebhookAdministration
from domogate.wire import OutputModel
from domogate.wire.webhooks import (
    DeadLetterOut,
    PingOut,
    ReplayedOut,
    ReplayRequest,
    WebhookOut,
    dead_letter_out,
    webhook_out,
)

OPERATIONS = OperationTable("webhooks")


class WebhookPage(Page, frozen=True, forbid_unknown_fields=True, rename="camel"):
    plant_id: Annotated[str, Meta(description="Only webhooks for this plant.")] | None = None
    dead_letters: Annotated[bool, Meta(description="Only webhooks that have dead letters.")] = False


class DeliveryOut(OutputModel, frozen=True):
    """An attempt to deliver. `status` is null if the receiver did not answer; then `problem` says why.

    `eventId` is the id of the event; the id of a test event begins with `test_`.
    """

    at: datetime
    event_id: str
    attempt: int
    milliseconds: float
    status: int | None
    problem: str


class NamedDeadLetterOut(DeadLetterOut, frozen=True):
    """An event whose delivery was given up. `id` is the event's id.

    `moduleName` is present only if the request has the query parameter `names=true`, and if the module still exists.
    """

    module_name: str | UnsetType = UNSET


def _administration(services: ManagementServices) -> WebhookAdministration:
    """Return the service that lists and removes webhooks, and replays their dead letters.

    The service does not call the code that delivers events. The process that delivers the events of a webhook learns from the
    change feed that the webhook was changed or removed.
    """
    return WebhookAdministration(services.store, services.clock, services.audit)


@OPERATIONS.add("GET /webhooks", "Webhooks of all applications with their health, sorted by id")
async def list_webhooks(services: ManagementServices, _call: OperatorCall, query: WebhookPage) -> Listing[WebhookOut]:
    plant_id = read_optional_id("query", "plantId", query.plant_id)
    found = await _administration(services).list(plant_id, with_dead=query.dead_letters)
    return page_of(found, query, lambda webhook: webhook.id, webhook_out)


@OPERATIONS.add("GET /webhooks/{webhookId}", "One webhook, without its secret")
async def get_webhook(services: ManagementServices, call: OperatorCall) -> WebhookOut:
    return webhook_out(await _administration(services).get(call.id_of("webhookId")))


@OPERATIONS.add("DELETE /webhooks/{webhookId}", "Remove a webhook and its pending deliveries")
async def remove_webhook(services: ManagementServices, call: OperatorCall) -> None:
    await _administration(services).remove(call.id_of("webhookId"), who=call.caller.user_id, address=call.address)


@OPERATIONS.add(
    "GET /webhooks/{webhookId}/deliveries",
    "The last attempts to deliver events, without the attempts of other gateways of the cluster; the newest is first",
)
async def list_deliveries(services: ManagementServices, call: OperatorCall) -> OwnListing[DeliveryOut]:
    found = await services.webhooks.list_attempts(call.id_of("webhookId"))
    deliveries = [DeliveryOut.of(attempt, milliseconds=round(attempt.seconds * 1000, 1)) for attempt in found]
    return services.status.own_list(deliveries)


@OPERATIONS.add(
    "POST /webhooks/{webhookId}/test",
    "Post a test event now, and show the receiver's answer",
    errors={409: "The webhook has ended", 429: "The operator sent too many test events; see Retry-After"},
)
async def test_webhook(services: ManagementServices, call: OperatorCall) -> PingOut:
    return PingOut.of(await services.webhooks.ping_as_operator(call.id_of("webhookId"), call.caller.user_id))


@OPERATIONS.add("GET /webhooks/{webhookId}/dead-letters", "Dead letters, sorted by id: events whose delivery was given up")
async def list_dead_letters(services: ManagementServices, call: OperatorCall, query: NamedPage) -> Listing[NamedDeadLetterOut]:
    webhook_id = call.id_of("webhookId")
    found = await _administration(services).list_dead(webhook_id, after=query.after_number, limit=query.limit + 1)
    names = await find_names(services, query, (letter.module_id for letter in found))
    return first_page(
        found,
        query.limit,
        lambda letter: str(letter.change.cursor),
        lambda letter: NamedDeadLetterOut.of(dead_letter_out(letter), module_name=name_of(names, letter.module_id)),
    )


@OPERATIONS.add(
    "POST /webhooks/{webhookId}/dead-letters/replay", "Deliver the given dead letters again, or all of them", errors=(409,)
)
async def replay_dead_letters(services: ManagementServices, call: OperatorCall, body: ReplayRequest) -> ReplayedOut:
    webhook_id, who = call.id_of("webhookId"), call.caller.user_id
    return ReplayedOut(await _administration(services).replay(webhook_id, body.cursors, who=who, address=call.address))
