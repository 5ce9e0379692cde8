"""Surface: the webhooks that applications register (/webhooks)."""

from domogate.webhooks.surface import build

__all__ = ["build"]
