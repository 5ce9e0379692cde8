"""Surface: the stream of events that applications listen to (/events)."""

from domogate.events.surface import build

__all__ = ["build"]
