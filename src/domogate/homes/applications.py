"""Operations on the applications to which the person gave access."""

from datetime import datetime
from urllib.parse import urlsplit

from domogate.domain.notices import NoticeKind
from domogate.domain.webhooks import Webhook
from domogate.homes.services import HomeCall, HomeServices
from domogate.http_api.operations import OperationTable
from domogate.http_api.paging import Listing
from domogate.services.homes.applications import Application
from domogate.wire import OutputModel

OPERATIONS = OperationTable("applications")


class OwnWebhookOut(OutputModel, frozen=True):
    """A URL to which the gateway sends the events of a home for an application.

    Only its host is shown: the rest may be secret. `failingSince` is the time since which the receiver is unavailable;
    null means that it is available. `nextAttemptAt` is the time of the next attempt; null means that nothing waits. If the
    receiver is available, there is a next attempt in two cases: the receiver refused an event, or the person must first renew
    the password or accept the terms.
    """

    id: str
    home_id: str
    host: str
    kinds: tuple[NoticeKind, ...]
    created_at: datetime
    failing_since: datetime | None
    next_attempt_at: datetime | None


class ApplicationOut(OutputModel, frozen=True):
    """An application and the scopes that the person granted to it.

    `current` is true for the application that sends this request.

    `homes` are the homes that the person chose for the application; null means all homes of the person. If the calling
    application may not use a home, this home and its webhooks are left out.
    """

    client_id: str
    name: str
    scopes: tuple[str, ...]
    homes: tuple[str, ...] | None
    since: datetime
    current: bool
    webhooks: list[OwnWebhookOut]


def _webhook_out(webhook: Webhook) -> OwnWebhookOut:
    host, next_attempt_at = urlsplit(webhook.url).hostname or "", webhook.next_at if webhook.next_at > 0 else None
    return OwnWebhookOut.of(webhook, home_id=webhook.plant_id, host=host, next_attempt_at=next_attempt_at)


def _application_out(application: Application, asking: str) -> ApplicationOut:
    webhooks = [_webhook_out(webhook) for webhook in application.webhooks]
    return ApplicationOut.of(application, homes=application.plants, current=application.client_id == asking, webhooks=webhooks)


@OPERATIONS.add("GET /applications", "The applications to which the person gave access, with their webhooks")
async def list_applications(services: HomeServices, call: HomeCall) -> Listing[ApplicationOut]:
    found = await services.applications.list_of(call.caller)
    return Listing([_application_out(one, call.caller.client_id) for one in found])


@OPERATIONS.add("DELETE /applications/{clientId}", "Revoke all grants of an application; its tokens are refused from now on")
async def revoke_application(services: HomeServices, call: HomeCall) -> None:
    await services.applications.revoke(call.caller, call.path["clientId"], address=call.address)


@OPERATIONS.add("DELETE /webhooks/{webhookId}", "End a webhook that an application registered for the person")
async def end_webhook(services: HomeServices, call: HomeCall) -> None:
    await services.applications.end_webhook(call.caller, call.id_of("webhookId"), address=call.address)
