"""Compares the clock of this machine with the last clock time that a gateway stored. Nothing is pruned while the two times are
far apart.

With a clock that is 400 days ahead, the gateway would prune all tokens and all history. But a gateway may have been off for a
long time. Then the two times are far apart although the clock is right. The gateway cannot distinguish these two cases, so an
operator must confirm the clock (Decision 0071).
"""

import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Literal

from domogate.common.log import get_logger
from domogate.ports import Clock, ClockStore

TOLERANCE = 7 * 86_400.0
"""In seconds. An operator must confirm the clock if it differs by more than this from the time that was stored last."""

LEAP = 60.0
"""In seconds. If the clock minus `uptime` changed by more than this since the last check, somebody has set the clock."""

_Direction = Literal["ahead", "behind"]
_log = get_logger(__name__)


class ClockCheck:
    """Checks the clock, and remembers whether it was right at the last check."""

    def __init__(self, store: ClockStore, clock: Clock, uptime: Callable[[], float] = time.monotonic) -> None:
        """`uptime` returns a time in seconds that always grows and that nobody can set."""
        self._store = store
        self._clock = clock
        self._uptime = uptime
        self._ahead: float | None = None
        """The difference between the clock and `uptime` at the last check."""
        self._wrong: _Direction | None = None
        """The direction in which the clock was wrong at the last check. None if it was right."""
        self.problem: str | None = None
        """The reason why nothing is pruned now. None if the clock is right."""

    @property
    def is_right(self) -> bool:
        return self.problem is None

    async def check(self) -> bool:
        """Check the clock now, and return whether it is right. If it is right, store the time."""
        now = self._clock.now()
        last = await self._store.check_clock(now, TOLERANCE)
        before, self._wrong = self._wrong, None if last is None else _direction(now, last)
        self.problem = None if last is None else describe(now, last)
        leap = self._measure_leap(now)
        if abs(leap) > LEAP and before is None and self._wrong is None:
            _log.warning("the clock of this machine was set", seconds=round(leap), now=_print(now))
        if self._wrong is not None and self._wrong != before:
            # The direction is in the text of the line, because the log counts lines with the same text as repeated.
            _log.error(f"nothing is pruned: the clock is far {self._wrong}", reason=self.problem)
        elif self._wrong is None and before is not None:
            _log.info("the clock is right or was confirmed; old data is pruned again")
        return self.is_right

    def _measure_leap(self, now: float) -> float:
        """Return the seconds by which the clock was set forward since the last check. They are negative if it was set back."""
        ahead = now - self._uptime()
        before, self._ahead = ahead if self._ahead is None else self._ahead, ahead
        return ahead - before


def describe(now: float, last: float) -> str:
    days, direction = abs(now - last) / 86_400, {"ahead": "ahead of", "behind": "behind"}[_direction(now, last)]
    return (
        f"the clock of this machine ({_print(now)}) is {days:.0f} days {direction} the time that the gateway last saw "
        f"({_print(last)}). Correct the clock. If it is right, run: domogate clock confirm"
    )


def _direction(now: float, last: float) -> _Direction:
    return "ahead" if now > last else "behind"


def _print(at: float) -> str:
    try:
        return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M UTC")
    except (OverflowError, ValueError, OSError):
        return f"{at:.0f} s since 1970"
