"""Limits how often the hub writes to connections.

So a busy hub writes many events together (Decision 0145).
"""

WRITES_PER_SECOND = 4_000
"""The number of writes in a second while the hub is busy."""
AT_FULL_SPEED = 1_000
"""After a time with few writes, the hub does this number of writes without pauses."""
BUSY_AFTER = 250
"""After this number of writes without pauses, the hub is busy."""
LONGEST_WAIT = 0.25
"""In seconds. If more streams wait than can be written in this time, the hub writes faster."""
SHORTEST_PAUSE = 0.005
"""In seconds. A pause of the hub is at least this long, because waking the hub takes more CPU time than a write."""

_ADVANCE = AT_FULL_SPEED / WRITES_PER_SECOND


class WritePace:
    """Decides when the hub may write. All times are times of the event loop."""

    def __init__(self) -> None:
        self._used_until = 0.0
        """The past writes use up the time until this moment. Each write uses `1 / WRITES_PER_SECOND` seconds or less."""

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
