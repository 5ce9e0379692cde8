"""Limits how often the hub writes to connections.

So a busy hub writes many events together (Decision 0145).
"""

WRITES_PER_SECOND = 4_000
"""The number of writes per second that the hub may do on average. `LONGEST_WAIT` says when it may do more."""
AT_FULL_SPEED = 1_000
"""After a time without writes, the hub may do this number of writes at once. Then it must pause between writes."""
BUSY_AFTER = 250
"""After a time without writes, the hub counts as busy as soon as it has done this number of writes at once."""
LONGEST_WAIT = 0.25
"""In seconds. If `WRITES_PER_SECOND` does not suffice to write to all waiting streams in this time, the hub writes faster."""
SHORTEST_PAUSE = 0.005
"""In seconds. A pause of the hub is at least this long, because waking the hub takes more CPU time than a write."""

_ADVANCE = AT_FULL_SPEED / WRITES_PER_SECOND


class WritePace:
    """Decides when the hub may write. All times are times of the event loop."""

    def __init__(self) -> None:
        self._used_until = 0.0
        """The time at which the past writes would end if they were done one after the other without haste.

        Each write then takes `1 / WRITES_PER_SECOND` seconds, or less if many streams wait (`LONGEST_WAIT`).
        """

    def is_busy(self, moment: float) -> bool:
        return self._used_until - moment >= BUSY_AFTER / WRITES_PER_SECOND

    def may_write(self, moment: float) -> bool:
        return self._used_until - moment < _ADVANCE

    def find_pause(self, moment: float) -> float:
        """Return the number of seconds until the hub may write again."""
        return 0.0 if self.may_write(moment) else max(SHORTEST_PAUSE, self._used_until - moment - _ADVANCE)

    def count(self, writes: int, waiting: int, moment: float) -> None:
        """Count writes. `waiting` is the number of streams that wait for a write."""
        per_second = max(WRITES_PER_SECOND, waiting / LONGEST_WAIT)
        self._used_until = max(self._used_until, moment) + writes / per_second
