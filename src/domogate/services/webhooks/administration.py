"""Webhooks as operators deal with them, beside a gateway that may be running: whose they are, how they fare, what died."""

from collections.abc import Collection, Sequence
from typing import Protocol

from domogate.domain.ids import Id
from domogate.domain.webhooks import PendingDelivery, Webhook
from domogate.ports import Audit, Clock, WebhookStore
from domogate.services.audit.log import COMMAND_LINE, AuditAction, AuditResult, client_ref
from domogate.services.refusals import Conflict, NotFound


class Delivering(Protocol):
    """Whoever delivers in this process, told at once; others notice within seconds."""

    def know(self, webhook: Webhook) -> None: ...
    def forget(self, webhook_id: Id) -> None: ...
    def wake(self, webhook_id: Id) -> None: ...


class WebhookAdministration:
    """Where webhooks are looked after, by their applications and by operators. `who` does it, as the audit log names them."""

    def __init__(self, store: WebhookStore, clock: Clock, audit: Audit, delivering: Delivering | None = None) -> None:
        self._store = store
        self._clock = clock
        self._audit = audit
        self._delivering = delivering

    async def list(self, plant_id: Id | None = None) -> Sequence[Webhook]:
        """The oldest first, ended ones too."""
        return await self._store.list_webhooks(plant_id=plant_id)

    async def get(self, webhook_id: Id) -> Webhook:
        """Raises NotFound."""
        found = await self._store.find_webhook(webhook_id)
        if found is None:
            raise NotFound(f"There is no webhook {webhook_id}.")
        return found

    async def remove(self, webhook_id: Id, *, who: str = COMMAND_LINE, address: str = "") -> None:
        """With everything that was kept for it, dead letters included. Raises NotFound."""
        webhook = await self.get(webhook_id)
        if self._delivering is not None:
            self._delivering.forget(webhook_id)
        if not await self._store.delete_webhook(webhook_id):
            raise NotFound(f"There is no webhook {webhook_id}.")
        self.note(AuditAction.WEBHOOK_REMOVED, webhook, who, address)

    async def list_dead(self, webhook_id: Id, *, after: int = 0, limit: int) -> Sequence[PendingDelivery]:
        """By cursor. Raises NotFound."""
        await self.get(webhook_id)
        return await self._store.list_pending(webhook_id, dead=True, after=after, limit=limit)

    async def replay(
        self, webhook_id: Id, cursors: Collection[int] | None, *, who: str = COMMAND_LINE, address: str = ""
    ) -> int:
        """Try these dead letters again, or all; how many there were. Raises NotFound, Conflict."""
        webhook = await self.get(webhook_id)
        if webhook.ended_at is not None:
            raise Conflict(f"The webhook has ended, so nothing is delivered any more: {webhook.ended_why}")
        replayed = await self._store.replay_dead(webhook_id, cursors, self._clock.now())
        if replayed:
            self.note(AuditAction.DEAD_LETTERS_REPLAYED, webhook, who, address, letters=str(replayed))
            if self._delivering is not None:
                self._delivering.wake(webhook_id)
        return replayed

    def note(self, action: AuditAction, webhook: Webhook, who: str, address: str, **detail: str) -> None:
        """The address it leads to is not noted: a part of it is often a secret."""
        what = f"webhook:{webhook.id} of {client_ref(webhook.client_id)} plant:{webhook.plant_id}"
        self._audit.note(action, who=who, what=what, result=AuditResult.OK, address=address, detail=detail)
