"""The times and limits of the writer thread."""

import msgspec

REPORT_SECONDS = 60.0
"""The time limit, in seconds, of a write that has only reports of drivers.

This time is long, because no caller waits, and an import of another process may hold the lock of the database for long.
"""
POLL_SECONDS, LEAVE_SECONDS = 1.5, 2.0
SHORTEST_PAUSE, LONGEST_PAUSE = 0.001, 0.02
"""The seconds between two reads of the change feed while committed changes are not passed to the listeners yet.

The pauses grow from the first value to the second value.
"""
ANNOUNCE_SECONDS = 0.25
"""A member of a cluster stores the cursor of the last change that it knows, at most once in this number of seconds.

Without this limit, a member would write very often, because the other members commit changes all the time.
"""
LONG_SECONDS = 600.0
"""A write whose time limit is longer than this number of seconds may change a large part of the database."""


class WriterLimits(msgspec.Struct, frozen=True):
    """Limits of the writer. `poll`: the seconds between two reads of the change feed.

    `max_batch`: the largest number of writes in one transaction. `deadline`: the seconds that a write may take. A caller
    can choose a longer time for its write.
    """

    poll: float
    max_batch: int
    deadline: float
