"""Used tickets. Each used ticket has one row until the ticket has expired."""

from sqlalchemy import delete

from domogate.stores.engine import Transaction
from domogate.stores.subject import SqlSubject, writes
from domogate.stores.tables import used_tickets


def use_ticket(tx: Transaction, ticket_id: str, expires_at: float) -> bool:
    adding = tx.database.insert(used_tickets).values(id=ticket_id, expires_at=expires_at).on_conflict_do_nothing()
    # Uses the returned row, because the row count is not reliable here in every database.
    return tx.connection.execute(adding.returning(used_tickets.c.id)).first() is not None


def prune_tickets(tx: Transaction, before: float) -> None:
    tx.connection.execute(delete(used_tickets).where(used_tickets.c.expires_at < before))


class SqlTickets(SqlSubject):
    """Implements TicketStore."""

    use_ticket = writes(use_ticket)
    prune_tickets = writes(prune_tickets)
