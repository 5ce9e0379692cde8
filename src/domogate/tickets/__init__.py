"""Surface: redeems tickets (/tickets). The ticket or picture token is the only credential: no subscription key is needed."""

from domogate.tickets.surface import SURFACE, PictureToken, TicketServices

__all__ = ["SURFACE", "PictureToken", "TicketServices"]
