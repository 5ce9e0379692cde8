"""Surface: the event stream for applications (/events)."""

from domogate.events.surface import SURFACE

__all__ = ["SURFACE"]
