"""The locks of writes in a cluster."""

from enum import IntEnum


class WriteLock(IntEnum):
    """The lock of a write in a cluster. With every lock except EXCLUSIVE, gateways commit side by side (Decision 0086).

    A process that is not a member of a cluster always takes the exclusive lock.
    """

    EXCLUSIVE = 0
    """For every write that is not named below. No other process writes at the same time."""
    SHARED = 1
    """For rows that only the holder of a shard writes. The write is fenced."""
    AUDIT = 2
    """Gateways write the audit log one after the other, because each hash includes the hash of the previous record."""
    USAGE = 3
    """For the usage of subscription keys."""
    ATTEMPTS = 4
    """For the counts of login attempts."""
