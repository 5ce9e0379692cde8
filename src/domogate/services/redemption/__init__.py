"""Tickets taken to the door: what they permit, whether that still holds, and what becomes of it (Decision 0048)."""

from domogate.services.redemption.reasons import NotRedeemed, Reason
from domogate.services.redemption.redemption import PicturePermission, Redeemed, Redemption

__all__ = ["NotRedeemed", "PicturePermission", "Reason", "Redeemed", "Redemption"]
