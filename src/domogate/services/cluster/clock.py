"""The clock of a cluster: all gateways use the time of the database, so their times agree."""

import time
from collections.abc import Awaitable, Callable

from domogate.ports import Clock

_QUESTIONS = 5


class ClusterClock:
    """A clock that is set to the time of the database, and then follows the monotonic clock of this machine.

    Before it is set for the first time, it shows the time of this machine. A change of the machine's clock has no effect on
    this clock. Implements SharedClock.
    """

    def __init__(self, machine: Clock, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._offset = machine.now() - monotonic()
        self.began_at = machine.now()

    def now(self) -> float:
        return self._monotonic() + self._offset

    async def set_by(self, read_time: Callable[[], Awaitable[float]]) -> None:
        """Set this clock to the time of the database.

        The database is asked several times, because the fastest answer corrects the clock most exactly.
        """
        for _ in range(_QUESTIONS):
            asked_at = self._monotonic()
            self.adjust(await read_time(), asked_at, self._monotonic())

    def adjust(self, said: float, asked_at: float, answered_at: float) -> None:
        """Correct this clock. `said` is the time that the database gave.

        The database was asked at `asked_at` and answered at `answered_at`, on the monotonic clock.

        This clock changes only if the answer proves that this clock is wrong. So a slow answer does not make this clock less
        exact.
        """
        self._offset = min(max(self._offset, said - answered_at), said - asked_at)
