"""The port for used tickets."""

from typing import Protocol


class TicketStore(Protocol):
    """Stores which tickets were used."""

    async def use_ticket(self, ticket_id: str, expires_at: float) -> bool:
        """Mark the ticket as used. Exactly one caller in all processes gets True; all other callers get False."""
        ...

    async def prune_tickets(self, before: float) -> None:
        """Remove tickets that expired before this time."""
        ...
