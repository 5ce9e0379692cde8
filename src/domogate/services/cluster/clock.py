"""The clock of a cluster: all gateways use the time of the database, so their times agree."""

import time
from collections.abc import Callable

from domogate.ports import Clock


class ClusterClock:
    """Implements Clock. Counts with the monotonic clock of this machine, from the time that the database said.

    Until then it shows the time of this machine. Later changes of the machine's clock have no effect.
    """

    def __init__(self, machine: Clock, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._offset = machine.now() - monotonic()

    def now(self) -> float:
        return self._monotonic() + self._offset

    def adjust(self, said: float, asked_at: float, answered_at: float) -> None:
        """The database said the time between these two times of the monotonic clock.

        The clock changes only if it cannot be right. So a slow answer does not make it less exact.
        """
        self._offset = min(max(self._offset, said - answered_at), said - asked_at)
