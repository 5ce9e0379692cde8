"""Tickets taken to the door: what they permit, whether that still holds, and what becomes of it (Decision 0048)."""

from domogate.services.tickets.redemption import PicturePermission, Redeemed, Redemption
from domogate.services.tickets.refusals import NotRedeemed, Reason

__all__ = ["NotRedeemed", "PicturePermission", "Reason", "Redeemed", "Redemption"]
