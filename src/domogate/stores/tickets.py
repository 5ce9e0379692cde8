"""Stores used tickets. Each used ticket has one row until the ticket has expired."""

from sqlalchemy import bindparam, delete, insert, select

from domogate.stores.direct import DirectStatement
from domogate.stores.engine import Transaction
from domogate.stores.subject import SqlSubject, writes
from domogate.stores.tables import used_tickets

_USED = DirectStatement(select(used_tickets.c.id).where(used_tickets.c.id == bindparam("ticket_id")))
_ADD = DirectStatement(insert(used_tickets))


def use_ticket(tx: Transaction, ticket_id: str, expires_at: float) -> bool:
    """Mark the ticket as used. Return False if the ticket was used before.

    The caller's write has the exclusive lock, so no other process adds the ticket at the same time.
    """
    if _USED.scalar(tx.connection, {"ticket_id": ticket_id}) is not None:
        return False
    _ADD.execute(tx.connection, {"id": ticket_id, "expires_at": expires_at})
    return True


def prune_tickets(tx: Transaction, before: float) -> None:
    tx.connection.execute(delete(used_tickets).where(used_tickets.c.expires_at < before))


class SqlTickets(SqlSubject):
    """Stores which tickets were used. Implements TicketStore."""

    use_ticket = writes(use_ticket)
    prune_tickets = writes(prune_tickets)
