"""Redeeming tickets: read the ticket, check the rights, use it once, command the device (Decision 0048)."""

from domogate.services.tickets.redemption import PicturePermission, Redeemed, Redemption
from domogate.services.tickets.refusals import NotRedeemed, Reason

__all__ = ["NotRedeemed", "PicturePermission", "Reason", "Redeemed", "Redemption"]
