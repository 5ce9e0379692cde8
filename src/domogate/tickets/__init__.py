"""Surface: redeems tickets (/tickets). The ticket is the credential: no key and no token is needed beside it."""

from domogate.tickets.surface import build

__all__ = ["build"]
