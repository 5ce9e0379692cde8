"""The times and limits of the writer thread."""

import msgspec

REPORT_SECONDS = 60.0
"""The time limit, in seconds, of a write that has only reports of drivers.

This time is long, because no caller waits, and an import of another process may hold the lock for a long time.
"""
POLL_SECONDS, LEAVE_SECONDS = 1.5, 2.0
SHORTEST_PAUSE, LONGEST_PAUSE = 0.001, 0.02
"""The seconds between two reads of the feed while committed changes wait for their delivery.

The pauses grow from the first value to the second value.
"""
ANNOUNCE_SECONDS = 0.25
"""A member of a cluster writes its applied cursor to the store at most once in this number of seconds.

Without this limit, a member would write very often, because the other members commit changes all the time.
"""
LONG_SECONDS = 600.0
"""A write that declares more than this number of seconds may change a large part of the database."""


class WriterLimits(msgspec.Struct, frozen=True):
    """Limits of the writer. `poll`: the seconds between two reads of the change feed.

    `max_batch`: the largest number of writes in one transaction. `deadline`: the seconds that a write may take. A write can
    declare a longer time.
    """

    poll: float
    max_batch: int
    deadline: float
