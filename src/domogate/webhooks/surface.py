"""The operations of /webhooks: applications register webhooks for the events of a plant, and manage these webhooks."""

from typing import Any

from domogate.http_api.credentials import KeyAndToken
from domogate.http_api.operations import Call, OperationTable, Surface
from domogate.http_api.paging import Listing, first_page
from domogate.http_api.requests import read_id
from domogate.services.events.cloud_events import MEDIA_TYPE as CLOUD_EVENT
from domogate.services.rights.access import Caller
from domogate.services.webhooks.registration import Webhooks
from domogate.webhooks.wire import DeadLetterPage, NewWebhook, WebhookSecretOut, WebhooksOut
from domogate.wire.webhooks import (
    CreatedWebhookOut,
    DeadLetterOut,
    PingOut,
    ReplayedOut,
    ReplayRequest,
    WebhookOut,
    created_webhook_out,
    dead_letter_out,
    webhook_out,
)

OPERATIONS = OperationTable()

_SIGNED = {
    "webhook-id": "The id of the delivery, which is the same for every attempt",
    "webhook-timestamp": "When this attempt was made, in seconds since 1970",
    "webhook-signature": "`v1,` and the Base64 of HMAC-SHA256 over id, timestamp and body (Standard Webhooks)",
}


@OPERATIONS.add("POST", "Register a URL for a plant's events", status=201, errors=(403, 404, 409, 422))
async def register_webhook(webhooks: Webhooks, call: Call[Caller], body: NewWebhook) -> CreatedWebhookOut:
    plant_id = read_id("body", "plantId", body.plant_id)
    created = await webhooks.register(call.caller.principal, plant_id, body.url, kinds=body.kinds, address=call.address)
    return created_webhook_out(created)


@OPERATIONS.add("GET", "The webhooks of the application for this user, the oldest first")
async def list_webhooks(webhooks: Webhooks, call: Call[Caller]) -> WebhooksOut:
    return WebhooksOut([webhook_out(one) for one in await webhooks.list_own(call.caller.principal)])


@OPERATIONS.add("GET /{webhookId}", "One webhook and its health")
async def get_webhook(webhooks: Webhooks, call: Call[Caller]) -> WebhookOut:
    return webhook_out(await webhooks.get_own(call.caller.principal, call.id_of("webhookId")))


@OPERATIONS.add("DELETE /{webhookId}", "Remove a webhook: nothing is posted from then on")
async def remove_webhook(webhooks: Webhooks, call: Call[Caller]) -> None:
    await webhooks.remove(call.caller.principal, call.id_of("webhookId"), address=call.address)


@OPERATIONS.add("POST /{webhookId}/secret", "Make a new secret; it signs the next delivery", errors=(409,))
async def renew_webhook_secret(webhooks: Webhooks, call: Call[Caller]) -> WebhookSecretOut:
    secret = await webhooks.renew_secret(call.caller.principal, call.id_of("webhookId"), address=call.address)
    return WebhookSecretOut(secret)


@OPERATIONS.add("POST /{webhookId}/test", "Post a test event now, and show the receiver's answer", errors=(403, 409))
async def test_webhook(webhooks: Webhooks, call: Call[Caller]) -> PingOut:
    return PingOut.of(await webhooks.ping(call.caller.principal, call.id_of("webhookId")))


@OPERATIONS.add(
    "GET /{webhookId}/dead-letters", "Events whose delivery was given up (dead letters), sorted by id", errors=(403,)
)
async def list_dead_letters(webhooks: Webhooks, call: Call[Caller], query: DeadLetterPage) -> Listing[DeadLetterOut]:
    webhook_id = call.id_of("webhookId")
    found = await webhooks.list_dead(call.caller.principal, webhook_id, after=query.after, limit=query.limit + 1)
    return first_page(found, query.limit, lambda letter: str(letter.change.cursor), dead_letter_out)


@OPERATIONS.add(
    "POST /{webhookId}/dead-letters/replay", "Deliver the given dead letters again, or all of them", errors=(403, 409)
)
async def replay_dead_letters(webhooks: Webhooks, call: Call[Caller], body: ReplayRequest) -> ReplayedOut:
    webhook_id = call.id_of("webhookId")
    return ReplayedOut(await webhooks.replay(call.caller.principal, webhook_id, body.cursors, address=call.address))


def _describe_delivery(document: dict[str, Any]) -> None:
    headers = [
        {"name": name, "in": "header", "required": True, "schema": {"type": "string"}, "description": words}
        for name, words in _SIGNED.items()
    ]
    delivery = {
        "operationId": "receiveEvent",
        "summary": "A delivery to the receiver: one event, as in the stream of /events",
        "parameters": headers,
        "requestBody": {"required": True, "content": {CLOUD_EVENT: {"schema": {"type": "object"}}}},
        "responses": {"2XX": {"description": "The receiver accepted the event"}, "410": {"description": "The webhook ends"}},
    }
    document["webhooks"] = {"event": {"post": delivery}}


SURFACE = Surface(
    name="webhooks",
    prefix="/webhooks",
    description="Applications register the URLs to which a plant's events are posted. A request needs a subscription "
    "key, and an access token or an id token. A webhook has the scopes of the token with which it was "
    "registered. It gets only events that these scopes show, and only while the application's grant has these scopes.",
    operations=OPERATIONS,
    credentials=KeyAndToken,
    errors={
        403: "The user has no rights on the plant, or the token is from another issuer",
        404: "There is no such webhook or plant",
        409: "The webhook exists already, there are too many webhooks, or the webhook has ended",
        422: "The URL must not or cannot be called",
    },
    serves_head=True,
    amend=_describe_delivery,
)
