"""Surface: the event stream for applications (/events)."""

from domogate.events.surface import build

__all__ = ["build"]
