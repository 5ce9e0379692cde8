"""Which tickets were used: one row each until the ticket has expired."""

from sqlalchemy import delete

from domogate.stores.lifecycle import StoreLifecycle
from domogate.stores.tables import used_tickets
from domogate.stores.transaction import Transaction


def use_ticket(tx: Transaction, ticket_id: str, expires_at: float) -> bool:
    adding = tx.database.insert(used_tickets).values(id=ticket_id, expires_at=expires_at).on_conflict_do_nothing()
    # What came back, not how many: that number is not given by every engine.
    return tx.connection.execute(adding.returning(used_tickets.c.id)).first() is not None


def prune_tickets(tx: Transaction, before: float) -> None:
    tx.connection.execute(delete(used_tickets).where(used_tickets.c.expires_at < before))


class TicketRows(StoreLifecycle):
    """Used tickets."""

    async def use_ticket(self, ticket_id: str, expires_at: float) -> bool:
        return await self._write(use_ticket, ticket_id, expires_at)

    async def prune_tickets(self, before: float) -> None:
        await self._write(prune_tickets, before)
