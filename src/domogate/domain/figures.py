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
    """The earlier of two times: the time of the oldest pending event, and the time since which a receiver has been unavailable.

    None if no event is pending and all receivers are available. The events of an unavailable receiver wait in the change feed;
    `pending` does not count them.
    """
    dead_letters: int
    open_orders: int
    ended_orders: dict[str, int]
    """For each final state, the number of orders that ended after a given time (`since` of `count_figures`)."""
