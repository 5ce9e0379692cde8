"""Logbook rows."""

from domogate.stores.lifecycle import StoreLifecycle


class LogbookRows(StoreLifecycle):
    """Logbook rows."""
