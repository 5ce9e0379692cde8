"""Stores the used tickets of a cluster, and used passkey challenges.

Each ticket or challenge has one row, which is pruned after its expiry.

Outside a cluster, the stored order shows that a ticket was used (`services/tickets/redemption.py`).
"""

from collections.abc import Sequence

from sqlalchemy import delete, insert

from domogate.stores.direct import DirectStatement
from domogate.stores.engine import Transaction
from domogate.stores.subject import SqlSubject, writes
from domogate.stores.tables.notices import used_tickets

_ADD = DirectStatement(insert(used_tickets))
_COLUMNS = used_tickets.columns.keys()


def use_tickets(tx: Transaction, tickets: Sequence[tuple[str, float]]) -> list[bool]:
    """Mark the tickets as used. Return False for each ticket that was used before, and True for the others.

    Each element of `tickets` is the id and the expiry of a ticket. The caller's write has the lock `WriteLock.EXCLUSIVE`,
    so no other process adds a ticket at the same time.
    """
    found = tx.database.find_rows(tx.connection, used_tickets.c.id, {ticket_id for ticket_id, _ in tickets})
    used = {ticket_id for ticket_id, _ in found}
    new: dict[str, float] = {}
    answers = []
    for ticket_id, expires_at in tickets:
        answers.append(ticket_id not in used and ticket_id not in new)
        if answers[-1]:
            new[ticket_id] = expires_at
    _ADD.execute_tuples(tx.connection, _COLUMNS, list(new.items()))
    return answers


def prune_tickets(tx: Transaction, before: float) -> None:
    tx.connection.execute(delete(used_tickets).where(used_tickets.c.expires_at < before))


class SqlTickets(SqlSubject):
    """Stores which tickets were used. Implements TicketStore."""

    prune_tickets = writes(prune_tickets)

    async def use_ticket(self, ticket_id: str, expires_at: float) -> bool:
        return await self._write_together(use_tickets, (ticket_id, expires_at))
