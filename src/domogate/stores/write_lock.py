"""Names the locks that a gateway of a cluster takes before it writes to the database."""

from enum import IntEnum


class WriteLock(IntEnum):
    """The lock that a write takes in a cluster. Writes that do not take EXCLUSIVE can commit at the same time.

    But two writes with the lock AUDIT run one after the other (Decision 0086). The same is true for USAGE and for ATTEMPTS.

    A process that is not a member of a cluster always takes the exclusive lock.
    """

    EXCLUSIVE = 0
    """For all writes that have none of the following locks. No other process writes at the same time."""
    SHARED = 1
    """For writes of rows that only the holder of a shard writes. Such a write is fenced.

    Also for new orders with the state QUEUED. Any gateway may write them, and this write is not fenced.
    """
    AUDIT = 2
    """For writes to the audit log.

    The records of the log are written one by one, because each hash includes the hash of the previous record.
    """
    USAGE = 3
    """For writes of the usage of subscription keys."""
    ATTEMPTS = 4
    """For writes of the counts of login attempts."""
