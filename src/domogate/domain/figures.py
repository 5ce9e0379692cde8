"""Numbers about the stored data, for operators."""

import msgspec


class StoreFigures(msgspec.Struct, frozen=True, kw_only=True):
    """Counts of the store at one time.

    Removed plants have their own count. The counts of plants and modules leave out removed plants and their modules.
    """

    at: float
    database: str
    """The kind of the database: `sqlite` or `postgresql`."""
    size: int
    """The size of the database in bytes."""
    plants: int
    removed_plants: int
    modules: int
    absent: dict[str, int]
    """The number of offline modules for each reason. The reason is empty if no reason was recorded."""
    webhooks: int
    failing_webhooks: int
    pending: int
    oldest_pending: float | None
    """The time of the oldest pending event, or the time since which a receiver has been unavailable: the earlier of the two.

    None if no event is pending and all receivers are available. The events of an unavailable receiver wait in the change feed;
    `pending` does not count them.
    """
    dead_letters: int
    open_orders: int
    ended_orders: dict[str, int]
    """The number of orders that ended since the time that the caller of `count_figures` gave, by their final state."""
