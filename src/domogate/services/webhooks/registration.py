"""Webhooks as applications deal with their own: those of the same client for the same user."""

from collections.abc import Collection, Sequence
from typing import Protocol

import msgspec

from domogate.domain.faults import ScopeMissing
from domogate.domain.ids import Id, new_id
from domogate.domain.notices import NoticeKind
from domogate.domain.people import Principal
from domogate.domain.webhooks import PendingDelivery, TooManyWebhooks, Webhook, WebhookFormat
from domogate.ports import Audit, Clock, FeedStore, GrantStore, Undelivered, WebhookSender, WebhookStore
from domogate.services.audit.log import AuditAction
from domogate.services.events.filters import scopes_for
from domogate.services.plants.read_model import ReadModel
from domogate.services.refusals import Conflict, Forbidden, Invalid, NotFound
from domogate.services.rights.access import get_access
from domogate.services.webhooks.administration import Delivering, WebhookAdministration
from domogate.services.webhooks.formats import WebhookFormats
from domogate.services.webhooks.signing import new_webhook_secret, sign_delivery

MOST = 20
"""So many an application may have for one user and plant; ended ones do not count."""

EVENT_SCOPES = tuple(sorted(scopes_for(())))
"""Each of these shows some events."""


class RegistrationStore(WebhookStore, GrantStore, FeedStore, Protocol):
    """Webhooks, the grants they depend on, and the feed position they start at."""


class Ping(msgspec.Struct, frozen=True):
    """What came of a test: the receiver's status, or why there is none."""

    status: int | None
    problem: str = ""

    @property
    def taken(self) -> bool:
        return self.status is not None and 200 <= self.status < 300


class Webhooks:
    """Registering, and looking after what was registered."""

    def __init__(
        self,
        store: RegistrationStore,
        read_model: ReadModel,
        webhook_sender: WebhookSender,
        clock: Clock,
        audit: Audit,
        forms: WebhookFormats,
        delivering: Delivering,
    ) -> None:
        self._store = store
        self._read_model = read_model
        self._webhook_sender = webhook_sender
        self._clock = clock
        self._forms = forms
        self._delivering = delivering
        self._desk = WebhookAdministration(store, clock, audit, delivering)

    async def register(
        self,
        principal: Principal,
        plant_id: Id,
        url: str,
        *,
        kinds: Collection[NoticeKind] = (),
        form: WebhookFormat = WebhookFormat.CLOUDEVENTS,
        address: str = "",
    ) -> Webhook:
        """What happens from now on is told. Raises NoSuchPlant, NotYourPlant, ScopeMissing, Forbidden, Invalid, Conflict."""
        if principal.scopes.isdisjoint(EVENT_SCOPES):
            raise ScopeMissing(f"the token lacks all of the scopes {', '.join(EVENT_SCOPES)}", EVENT_SCOPES)
        await self._check_rights(principal, plant_id)
        if await self._store.find_grant(principal.grant_id) is None:
            # Nobody would tell us that it was withdrawn.
            raise Forbidden("A webhook outlives the token that makes it, so it needs one that this gateway issued itself.")
        try:
            await self._webhook_sender.check_url(url)
        except Undelivered as refused:
            raise Invalid(str(refused)) from None
        webhook = Webhook(
            id=new_id(),
            client_id=principal.client_id,
            user_id=principal.user_id,
            grant_id=principal.grant_id,
            plant_id=plant_id,
            url=url,
            secret=new_webhook_secret(),
            kinds=tuple(sorted(set(kinds))),
            form=form,
            created_at=self._clock.now(),
            position=await self._store.newest_cursor(),
        )
        await self._add(webhook)
        self._desk.note(AuditAction.WEBHOOK_ADDED, webhook, principal.user_id, address)
        return webhook

    async def _add(self, webhook: Webhook) -> None:
        try:
            added = await self._store.add_webhook(webhook, most=MOST)
        except TooManyWebhooks:
            words = f"There are {MOST} webhooks of this application for this plant already; remove one first."
            raise Conflict(words) from None
        if not added:
            raise Conflict("There is a webhook of this application for this plant and URL already.")
        self._delivering.know(webhook)
        self._delivering.wake(webhook.id)

    async def list_own(self, principal: Principal, form: WebhookFormat | None = None) -> Sequence[Webhook]:
        """The oldest first, ended ones too."""
        found = await self._store.list_webhooks(client_id=principal.client_id, user_id=principal.user_id)
        return [webhook for webhook in found if form is None or webhook.form is form]

    async def get_own(self, principal: Principal, webhook_id: Id) -> Webhook:
        """Raises NotFound, the same for one that is another's."""
        found = await self._store.find_webhook(webhook_id)
        if found is None or (found.client_id, found.user_id) != (principal.client_id, principal.user_id):
            raise NotFound("There is no such webhook.")
        return found

    async def remove(self, principal: Principal, webhook_id: Id, *, address: str = "") -> None:
        await self.get_own(principal, webhook_id)
        await self._desk.remove(webhook_id, who=principal.user_id, address=address)

    async def renew_secret(self, principal: Principal, webhook_id: Id, *, address: str = "") -> str:
        """Deliveries that begin from now on are signed with it. Raises NotFound, Conflict."""
        webhook = await self.get_own(principal, webhook_id)
        secret = new_webhook_secret()
        if not await self._store.set_webhook_secret(webhook_id, secret):
            raise Conflict("The webhook has ended; register it again.")
        self._delivering.wake(webhook_id)
        self._desk.note(AuditAction.WEBHOOK_CHANGED, webhook, principal.user_id, address, secret="new")
        return secret

    async def ping(self, principal: Principal, webhook_id: Id) -> Ping:
        """Send an event that tells nothing, now. Raises NotFound, Conflict, NoSuchPlant, NotYourPlant."""
        webhook = await self._get_living(principal, webhook_id)
        message, now = f"test_{new_id()}", self._clock.now()
        printed = self._forms.print_ping(webhook, message, now)
        signed = sign_delivery(webhook, message, now, printed.body)
        try:
            answer = await self._webhook_sender.post(webhook.url, printed.body, {**printed.headers, **signed})
        except Undelivered as away:
            return Ping(None, str(away))
        return Ping(answer.status)

    async def list_dead(self, principal: Principal, webhook_id: Id, *, after: int, limit: int) -> Sequence[PendingDelivery]:
        """By cursor, for as long as the plant is the user's. Raises NotFound, NoSuchPlant, NotYourPlant."""
        webhook = await self.get_own(principal, webhook_id)
        await self._check_rights(principal, webhook.plant_id)
        return await self._desk.list_dead(webhook_id, after=after, limit=limit)

    async def replay(self, principal: Principal, webhook_id: Id, cursors: Collection[int] | None, *, address: str = "") -> int:
        """Try dead letters again, these or all; how many. Raises NotFound, Conflict, NoSuchPlant, NotYourPlant."""
        await self._get_living(principal, webhook_id)
        return await self._desk.replay(webhook_id, cursors, who=principal.user_id, address=address)

    async def _get_living(self, principal: Principal, webhook_id: Id) -> Webhook:
        webhook = await self.get_own(principal, webhook_id)
        if webhook.ended_at is not None:
            raise Conflict(f"The webhook has ended, so nothing is delivered any more: {webhook.ended_why}")
        await self._check_rights(principal, webhook.plant_id)
        return webhook

    async def _check_rights(self, principal: Principal, plant_id: Id) -> None:
        get_access(principal, plant_id, await self._read_model.get_plant(plant_id), self._clock.now())
