"""Logs repeated failures with the same cause as one line with a count.

The first failure is logged completely, with its traceback. Failures with the same cause within the next seconds are counted,
and then one line says how many there were. While the failure is repeated, there is one line with a count for each period, and
the periods become longer.
"""

import logging
import re
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, NamedTuple

from domogate.common.log import values_of

_PERIODS = (10.0, 60.0, 600.0)
"""In seconds: how long failures of one cause are counted before a line says how many there were.

The three values are for the first line with a count, the second such line, and every later one.
"""
_MOST_CAUSES = 200
_LONGEST_REASON = 200
_NUMBERS = re.compile(r"\d+")
_IS_COUNT = "is_count"
"""If a log record is a line with a count, it has this attribute."""


class _Cause(NamedTuple):
    """The cause of a failure: failures with the same values have the same cause. `driver` and `error` may be empty."""

    logger: str
    event: str
    driver: str
    error: str


class _Repeated:
    """Counts the failures with one cause since the last line of the log about this cause."""

    __slots__ = ("count", "level", "line_at", "period", "since")

    def __init__(self, now: float, level: int, period: int = 0) -> None:
        self.level = level
        self.count = 0
        self.period = period
        self.since = now
        self.line_at = now + _PERIODS[period]


class LogRepeats:
    """Decides which lines are logged. A failure whose cause was logged a short time before is only counted.

    A failure is a line of the level error, or a warning with an exception. All other lines are logged.
    """

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._lock = threading.Lock()
        self._causes: OrderedDict[_Cause, _Repeated] = OrderedDict()
        self._timer: threading.Timer | None = None

    def filter(self, record: logging.LogRecord) -> bool:
        """Return False for a line that must not be logged. The module `logging` calls this method for each line."""
        if vars(record).get(_IS_COUNT):
            return True
        driver = str(values_of(record).get("driver", ""))
        cause = _Cause(record.name, str(record.msg), driver, _error_of(record.exc_info))
        return not self._is_repeated(record.levelno, cause)

    def _is_repeated(self, level: int, cause: _Cause) -> bool:
        """Return False if the line must be logged. Otherwise count the line and return True."""
        if level < (logging.WARNING if cause.error else logging.ERROR):
            return False
        with self._lock:
            known = self._causes.get(cause)
            if known is None:
                self._causes[cause] = _Repeated(self._now(), level)
                dropped = self._causes.popitem(last=False) if len(self._causes) > _MOST_CAUSES else None
            else:
                known.count += 1
                dropped = None
            self._set_timer()
        if dropped is not None:
            self._log_counts([dropped])
        return known is not None

    def flush(self, *, everything: bool = False) -> None:
        """Log the counts that are due. If `everything` is true, log all counts and forget all causes.

        If a failure was not repeated, its count is 0: no line is logged, and the cause is forgotten.
        """
        due: list[tuple[_Cause, _Repeated]] = []
        with self._lock:
            now = self._now()
            for cause, known in list(self._causes.items()):
                if not everything and now < known.line_at:
                    continue
                due.append((cause, known))
                if everything or not known.count:
                    del self._causes[cause]
                    continue
                self._causes[cause] = _Repeated(now, known.level, min(known.period + 1, len(_PERIODS) - 1))
            self._timer = None
            self._set_timer()
        self._log_counts(due)

    def _set_timer(self) -> None:
        """Set one timer for the next line that is due. The thread of the timer does not keep the process alive."""
        if self._timer is not None or not self._causes:
            return
        next_at = min(known.line_at for known in self._causes.values())
        self._timer = threading.Timer(max(0.1, next_at - self._now()), self.flush)
        self._timer.daemon = True
        self._timer.start()

    def _log_counts(self, due: list[tuple[_Cause, _Repeated]]) -> None:
        for cause, known in due:
            if known.count:
                given = {name: text for name, text in (("driver", cause.driver), ("error", cause.error)) if text}
                values = {"times": known.count, "seconds": round(self._now() - known.since, 1), **given}
                logger = logging.getLogger(cause.logger)
                logger.log(known.level, f"{cause.event} (repeated)", extra={"values": values, _IS_COUNT: True})


def _error_of(exc_info: Any) -> str:
    """Return the type and the first line of the error. Numbers are replaced by N, because they differ from case to case."""
    error = exc_info[1] if exc_info else None
    if error is None:
        return ""
    first_line = str(error).split("\n", 1)[0][:_LONGEST_REASON]
    return f"{type(error).__name__}: {_NUMBERS.sub('N', first_line)}"
