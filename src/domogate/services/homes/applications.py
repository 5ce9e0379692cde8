"""The applications to which a person gave access, and their webhooks."""

from collections.abc import Sequence
from typing import Protocol

import msgspec

from domogate.domain.ids import Id
from domogate.domain.people import PAGES_CLIENT, Grant, Principal
from domogate.domain.webhooks import EndReason, Webhook
from domogate.ports import ClientStore, GrantStore
from domogate.services.people import Actor, People
from domogate.services.refusals import Forbidden, NotFound
from domogate.services.rights.access import is_chosen
from domogate.services.webhooks.administration import WebhookAdministration


class ApplicationStore(GrantStore, ClientStore, Protocol):
    """The parts of the store with grants and clients."""


class Application(msgspec.Struct, frozen=True):
    """An application with at least one valid grant of the person."""

    client_id: str
    name: str
    scopes: tuple[str, ...]
    plants: tuple[Id, ...] | None
    """The plants that the person chose for the application and that the calling application may also use.

    None means all plants of the person.
    """
    since: float
    webhooks: tuple[Webhook, ...]


class Applications:
    """Lists applications of a person, and ends their access."""

    def __init__(self, store: ApplicationStore, people: People, webhooks: WebhookAdministration) -> None:
        self._store = store
        self._people = people
        self._webhooks = webhooks

    async def list_of(self, principal: Principal) -> Sequence[Application]:
        """Return the applications of the person, each with its webhooks.

        Webhooks of homes that the calling application may not use are left out.
        """
        grants: dict[str, list[Grant]] = {}
        for grant in await self._store.list_grants(principal.user_id):
            if grant.client_id != PAGES_CLIENT:  # The gateway's own pages are not an application.
                grants.setdefault(grant.client_id, []).append(grant)
        webhooks = await self._list_webhooks(principal)
        found = []
        for client_id, theirs in grants.items():
            client = await self._store.find_client(client_id)
            found.append(
                Application(
                    client_id,
                    client.name if client is not None else client_id,
                    tuple(dict.fromkeys(scope for grant in theirs for scope in grant.scopes)),
                    _plants_of(theirs, principal),
                    min(grant.created_at for grant in theirs),
                    tuple(webhook for webhook in webhooks if webhook.client_id == client_id),
                )
            )
        return found

    async def revoke(self, principal: Principal, client_id: str, *, address: str) -> None:
        """Revoke all grants of the person for this application.

        Raises NotFound if the person gave the application no access. Raises Forbidden if the calling application has access to
        only some homes, and `client_id` names another application. Every application may revoke its own grants.
        """
        if principal.plants is not None and client_id != principal.client_id:
            raise Forbidden("This application has access to only some homes, so it cannot revoke other applications.")
        user_id = principal.user_id
        if not await self._people.revoke_grants(user_id, client_id, by=Actor(user_id, address)):
            raise NotFound("The person gave no access to such an application.")

    async def end_webhook(self, principal: Principal, webhook_id: Id, *, address: str) -> None:
        """End a webhook of the person.

        Raises NotFound if the webhook is unknown, has ended, or is for a home that the caller may not use.
        """
        if webhook_id not in {webhook.id for webhook in await self._list_webhooks(principal)}:
            raise NotFound("The person has no active webhook with this id.")
        await self._webhooks.end(principal.user_id, EndReason.BY_USER, webhook_id=webhook_id, address=address)

    async def _list_webhooks(self, principal: Principal) -> list[Webhook]:
        active = await self._webhooks.list_active_of(principal.user_id)
        return [webhook for webhook in active if is_chosen(principal.plants, webhook.plant_id)]


def _plants_of(grants: Sequence[Grant], principal: Principal) -> tuple[Id, ...] | None:
    """Return the plants that the person chose in these grants and that the calling application may also use.

    None means that one of the grants is for all plants.
    """
    chosen = [grant.plants for grant in grants if grant.plants is not None]
    if len(chosen) < len(grants):
        return None
    return tuple(sorted(plant for plant in frozenset().union(*chosen) if is_chosen(principal.plants, plant)))
