"""Surface: where an SDK takes its tickets (/tickets). The ticket is the credential: there is no key and no token beside it."""

from domogate.tickets.surface import TicketsApp, build

__all__ = ["TicketsApp", "build"]
