"""Surface: the webhooks that applications register (/webhooks)."""

from domogate.webhooks.surface import SURFACE

__all__ = ["SURFACE"]
