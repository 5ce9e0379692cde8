"""Webhook rows."""

from domogate.stores.lifecycle import StoreLifecycle


class WebhookRows(StoreLifecycle):
    """Webhook rows."""
