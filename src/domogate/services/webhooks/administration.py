"""Administration of webhooks by operators, users and applications. These services work without a running gateway."""

from collections.abc import Collection, Sequence

from domogate.domain.ids import Id
from domogate.domain.webhooks import EndReason, PendingDelivery, Webhook
from domogate.ports import Audit, Clock, WebhookStore
from domogate.services.audit import COMMAND_LINE, AuditAction, AuditResult, client_ref
from domogate.services.refusals import Conflict, NotFound, Reason


class WebhookAdministration:
    """Lists, ends and removes webhooks, and replays their dead letters. `who` is the actor in the audit log."""

    def __init__(self, store: WebhookStore, clock: Clock, audit: Audit) -> None:
        self._store = store
        self._clock = clock
        self._audit = audit

    async def list(self, plant_id: Id | None = None, *, with_dead: bool = False) -> Sequence[Webhook]:
        """Return the webhooks, including ended webhooks, oldest first.

        If `with_dead` is true, return only webhooks that have dead letters.
        """
        return await self._store.list_webhooks(plant_id=plant_id, with_dead=with_dead)

    async def get(self, webhook_id: Id) -> Webhook:
        """Return the webhook. Raises NotFound."""
        found = await self._store.find_webhook(webhook_id)
        if found is None:
            raise NotFound(f"There is no webhook {webhook_id}.")
        return found

    async def remove(self, webhook_id: Id, *, who: str = COMMAND_LINE, address: str = "") -> None:
        """Remove the webhook with its pending deliveries and dead letters. Raises NotFound."""
        webhook = await self.get(webhook_id)
        if not await self._store.delete_webhook(webhook_id):
            raise NotFound(f"There is no webhook {webhook_id}.")
        self.note(AuditAction.WEBHOOK_REMOVED, webhook, who, address)

    async def list_active_of(self, user_id: Id) -> Sequence[Webhook]:
        """Return the active webhooks of one user, for all applications, oldest first."""
        return [webhook for webhook in await self._store.list_webhooks(user_id=user_id) if webhook.ended_at is None]

    async def end(self, user_id: Id, reason: EndReason, *, webhook_id: Id | None = None, address: str = "") -> int:
        """End one webhook of this user, or all webhooks of the user if `webhook_id` is None.

        Return the number of ended webhooks. Applications can read `reason`. The audit log gets `address`, the IP address of the
        caller.
        """
        ended = 0
        for webhook in await self.list_active_of(user_id):
            if webhook_id not in (None, webhook.id):
                continue
            if await self._store.end_webhook(webhook.id, reason, self._clock.now()):
                self.note(AuditAction.WEBHOOK_ENDED, webhook, user_id, address, why=str(reason))
                ended += 1
        return ended

    async def list_dead(self, webhook_id: Id, *, after: int = 0, limit: int) -> Sequence[PendingDelivery]:
        """Return at most `limit` dead letters with cursors above `after`, in cursor order. Raises NotFound."""
        await self.get(webhook_id)
        return await self._store.list_pending(webhook_id, dead=True, after=after, limit=limit)

    async def replay(
        self, webhook_id: Id, cursors: Collection[int] | None, *, who: str = COMMAND_LINE, address: str = ""
    ) -> int:
        """Let the gateway try the dead letters with these cursors again. None means all dead letters of the webhook.

        Return the number of dead letters that are tried again. Raises NotFound, or Conflict if the webhook has ended.
        """
        webhook = await self.get(webhook_id)
        check_not_ended(webhook)
        replayed = await self._store.replay_dead(webhook_id, cursors, self._clock.now())
        if replayed:
            self.note(AuditAction.DEAD_LETTERS_REPLAYED, webhook, who, address, letters=str(replayed))
        return replayed

    def note(self, action: AuditAction, webhook: Webhook, who: str, address: str, **detail: str) -> None:
        """Write a record to the audit log.

        The record does not have the URL of the webhook, because the URL often contains a secret.
        """
        self._audit.note(action, who=who, what=webhook_ref(webhook), result=AuditResult.OK, address=address, detail=detail)


def check_not_ended(webhook: Webhook) -> None:
    """Raises Conflict if the webhook has ended."""
    if webhook.ended_at is not None:
        raise Conflict(f"The webhook has ended, so nothing is delivered any more: {webhook.ended_why}", Reason.WEBHOOK_ENDED)


def webhook_ref(webhook: Webhook) -> str:
    """Return the reference to a webhook for a record of the audit log."""
    return f"webhook:{webhook.id} of {client_ref(webhook.client_id)} plant:{webhook.plant_id}"
