"""Issues and redeems tickets. Redeeming reads the ticket, checks the rights, and commands the device once (Decision 0048)."""

from domogate.services.tickets.permits import PicturePermission
from domogate.services.tickets.redemption import Redeemed, Redemption
from domogate.services.tickets.refusals import NotRedeemed, Reason

__all__ = ["NotRedeemed", "PicturePermission", "Reason", "Redeemed", "Redemption"]
