"""Used tickets."""

from typing import Protocol


class TicketStore(Protocol):
    """The tickets that were used."""

    async def use_ticket(self, ticket_id: str, expires_at: float) -> bool:
        """Return True to exactly one caller, over all processes."""
        ...

    async def prune_tickets(self, before: float) -> None:
        """Remove tickets that expired before this time."""
        ...
