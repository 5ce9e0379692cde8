"""Surface: redeems tickets (/tickets). The ticket is the credential: the request needs no subscription key and no token."""

from domogate.tickets.surface import SURFACE, PictureToken, TicketServices

__all__ = ["SURFACE", "PictureToken", "TicketServices"]
