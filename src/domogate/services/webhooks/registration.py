"""Webhooks for applications. A client sees only the webhooks that it registered for the user of its token."""

import math
from collections.abc import Collection, Sequence
from typing import Protocol

import msgspec

from domogate.common.window_limiter import WindowLimiter
from domogate.domain.faults import ScopeMissing, TooManyRequests
from domogate.domain.ids import Id, new_id
from domogate.domain.notices import NoticeKind
from domogate.domain.people import Principal
from domogate.domain.webhooks import PendingDelivery, TooManyWebhooks, Webhook, WebhookFormat
from domogate.ports import Audit, Clock, FeedStore, GrantStore, Undelivered, WebhookSender, WebhookStore
from domogate.services.audit import AuditAction
from domogate.services.events.filters import scopes_for
from domogate.services.events.notices import find_notice
from domogate.services.plants.read_model import ReadModel
from domogate.services.refusals import Conflict, Forbidden, Invalid, NotFound
from domogate.services.rights.access import Access, get_access
from domogate.services.webhooks.administration import WebhookAdministration, check_not_ended
from domogate.services.webhooks.delivery_log import DeliveryAttempt, DeliveryLog
from domogate.services.webhooks.formats import WebhookFormats
from domogate.services.webhooks.signing import new_webhook_secret, sign_delivery

MOST = 20
"""The number of webhooks that an application may have for one user and plant. Ended webhooks are not counted."""

TESTS, TESTS_SPAN = 10, 60.0
"""An application may send `TESTS` test events for one user in `TESTS_SPAN` seconds, to all webhooks together.

Each operator may also send `TESTS` test events in `TESTS_SPAN` seconds.
"""


class RegistrationStore(WebhookStore, GrantStore, FeedStore, Protocol):
    """The parts of the store with webhooks, grants and the change feed."""


class Ping(msgspec.Struct, frozen=True):
    """The result of a test: the status of the receiver's answer, or the reason why there is no answer."""

    status: int | None
    problem: str = ""

    @property
    def taken(self) -> bool:
        return self.status is not None and 200 <= self.status < 300


class Webhooks:
    """Registers webhooks, and shows, changes, tests and removes them."""

    def __init__(
        self,
        store: RegistrationStore,
        read_model: ReadModel,
        sender: WebhookSender,
        clock: Clock,
        audit: Audit,
        formats: WebhookFormats,
        log: DeliveryLog,
    ) -> None:
        self._store = store
        self._read_model = read_model
        self._sender = sender
        self._clock = clock
        self._formats = formats
        self._log = log
        self._tests = WindowLimiter(TESTS, TESTS_SPAN)
        self._administration = WebhookAdministration(store, clock, audit)

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
        """Register a webhook. The webhook gets events from now on.

        Raises NoSuchPlant, NotYourPlant. Raises ScopeMissing if the scopes of the token allow none of these kinds of events.
        Raises Forbidden if another issuer gave the token. Raises Invalid if the URL is not allowed. Raises Conflict if the
        application has too many webhooks for this user and plant. Also raises Conflict if one of these webhooks has this URL,
        or if `form` is the thermostat format and one of them has this format already.
        """
        scopes = tuple(sorted(scopes_for(kinds)))
        if principal.scopes.isdisjoint(scopes):
            raise ScopeMissing(f"the token needs one of the scopes that show these events: {', '.join(scopes)}", scopes)
        await self._check_rights(principal, plant_id)
        if await self._store.find_grant(principal.grant_id) is None:
            # Another issuer gave this grant. That issuer does not tell us if it revokes the grant.
            raise Forbidden("A webhook needs a token that this gateway issued, because it works longer than the token.")
        try:
            await self._sender.check_url(url)
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
            scopes=tuple(sorted(principal.scopes)),
            form=form,
            created_at=self._clock.now(),
            position=await self._store.newest_cursor(),
        )
        await self._add(webhook)
        self._administration.note(AuditAction.WEBHOOK_ADDED, webhook, principal.user_id, address)
        return webhook

    async def _add(self, webhook: Webhook) -> None:
        try:
            added = await self._store.add_webhook(webhook, most=MOST)
        except TooManyWebhooks:
            problem = f"This application has {MOST} webhooks for this user and plant already"
            raise Conflict(f"{problem}; remove one first, with DELETE /webhooks/{{webhookId}}.") from None
        if not added:
            raise Conflict(await self._explain_conflict(webhook))

    async def _explain_conflict(self, webhook: Webhook) -> str:
        """Return a text about the active webhook that prevents the registration of this webhook."""
        theirs = await self._store.list_webhooks(
            client_id=webhook.client_id, user_id=webhook.user_id, plant_id=webhook.plant_id
        )
        if webhook.form is WebhookFormat.THERMOSTAT and any(
            one.form is webhook.form and one.ended_at is None for one in theirs
        ):
            return "This application is subscribed to this plant already; unsubscribe first, with X8."
        problem = "This application has a webhook for this user, plant and URL already"
        return f"{problem}; use another URL, or remove the webhook first, with DELETE /webhooks/{{webhookId}}."

    async def list_own(self, principal: Principal, form: WebhookFormat | None = None) -> Sequence[Webhook]:
        """Return the webhooks of the principal's client and user, including ended webhooks, oldest first."""
        found = await self._store.list_webhooks(client_id=principal.client_id, user_id=principal.user_id)
        return [webhook for webhook in found if form is None or webhook.form is form]

    async def get_own(self, principal: Principal, webhook_id: Id) -> Webhook:
        """Return the webhook. Raises NotFound if it does not exist, or belongs to another client or user."""
        found = await self._store.find_webhook(webhook_id)
        if found is None or (found.client_id, found.user_id) != (principal.client_id, principal.user_id):
            raise NotFound("There is no such webhook.")
        return found

    async def remove(self, principal: Principal, webhook_id: Id, *, address: str = "") -> None:
        await self.get_own(principal, webhook_id)
        await self._administration.remove(webhook_id, who=principal.user_id, address=address)

    async def renew_secret(self, principal: Principal, webhook_id: Id, *, address: str = "") -> str:
        """Return a new secret, which signs later deliveries. Raises NotFound, or Conflict if the webhook has ended."""
        webhook = await self.get_own(principal, webhook_id)
        secret = new_webhook_secret()
        if not await self._store.set_webhook_secret(webhook_id, secret):
            raise Conflict("The webhook has ended; register it again.")
        self._administration.note(AuditAction.WEBHOOK_CHANGED, webhook, principal.user_id, address, secret="new")
        return secret

    async def ping(self, principal: Principal, webhook_id: Id) -> Ping:
        """Send a test event to this webhook now.

        Raises NotFound, NoSuchPlant, NotYourPlant, TooManyRequests, or Conflict if the webhook has ended.
        """
        webhook = await self._get_active(principal, webhook_id)
        return await self._ping(webhook, f"{principal.user_id} {principal.client_id}")

    async def ping_as_operator(self, webhook_id: Id, operator_id: Id) -> Ping:
        """Send a test event to a webhook of any application.

        Raises NotFound, TooManyRequests, or Conflict if the webhook has ended.
        """
        webhook = await self._administration.get(webhook_id)
        check_not_ended(webhook)
        return await self._ping(webhook, operator_id)

    async def list_attempts(self, webhook_id: Id) -> Sequence[DeliveryAttempt]:
        """Return the last attempts of this process to deliver to the webhook, the newest first. Raises NotFound."""
        webhook = await self._administration.get(webhook_id)
        return self._log.list(webhook.id)

    async def _ping(self, webhook: Webhook, tester: str) -> Ping:
        message, now = f"test_{new_id()}", self._clock.now()
        if wait := self._tests.wait(tester, now):
            raise TooManyRequests(f"{TESTS} test events may be sent in {TESTS_SPAN:.0f} s", math.ceil(wait))
        self._tests.count(tester, now)
        printed = self._formats.print_ping(webhook, message, now)
        signed = sign_delivery(webhook, message, now, printed.body)
        try:
            post = self._sender.post(webhook.url, printed.body, {**printed.headers, **signed})
            answer = await self._log.record(webhook.id, message, 1, post)
        except Undelivered as failure:
            return Ping(None, str(failure))
        return Ping(answer.status)

    async def list_dead(self, principal: Principal, webhook_id: Id, *, after: int, limit: int) -> Sequence[PendingDelivery]:
        """Return the dead letters that the application may get with its present rights, in cursor order.

        Dead letters from the time before the person joined the plant are left out (Decision 0056).

        Raises NotFound, NoSuchPlant, NotYourPlant.
        """
        webhook = await self.get_own(principal, webhook_id)
        access = await self._check_rights(principal, webhook.plant_id)
        found: list[PendingDelivery] = []
        while len(found) < limit:
            page = await self._administration.list_dead(webhook_id, after=after, limit=limit)
            notices = [(delivery, find_notice(delivery.change, access.plant)) for delivery in page]
            found += [delivery for delivery, notice in notices if notice is not None and access.may_get(notice)]
            if len(page) < limit:
                break
            after = page[-1].change.cursor
        return found[:limit]

    async def replay(self, principal: Principal, webhook_id: Id, cursors: Collection[int] | None, *, address: str = "") -> int:
        """Try the dead letters with these cursors again, for a webhook of the principal's client and user.

        If `cursors` is None, all dead letters of the webhook are tried again.

        Return the number of dead letters that are tried again. Raises NotFound, NoSuchPlant, NotYourPlant, or Conflict if the
        webhook has ended.
        """
        await self._get_active(principal, webhook_id)
        return await self._administration.replay(webhook_id, cursors, who=principal.user_id, address=address)

    async def _get_active(self, principal: Principal, webhook_id: Id) -> Webhook:
        webhook = await self.get_own(principal, webhook_id)
        check_not_ended(webhook)
        await self._check_rights(principal, webhook.plant_id)
        return webhook

    async def _check_rights(self, principal: Principal, plant_id: Id) -> Access:
        return get_access(principal, plant_id, await self._read_model.get_plant(plant_id), self._clock.now())
