"""Logs repeated failures with the same cause as one line with a count.

The first failure is logged completely, with its traceback. Equal failures within the next seconds are counted, and then one
line says how many there were. While a failure goes on, there is one such line for each period, and the periods grow.
"""

import logging
import re
import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, MutableMapping
from typing import Any

import structlog

_PERIODS = (10.0, 60.0, 600.0)
"""Seconds between two lines about one cause: the first time, the second time, and all later times."""
_MOST_CAUSES = 200
_LONGEST_REASON = 200
_NUMBERS = re.compile(r"\d+")

EventDict = MutableMapping[str, Any]
Cause = tuple[str, str, str, str]
"""The logger, the event, the driver and the error."""


class _Repeated:
    """The failures of one cause since its last line."""

    __slots__ = ("count", "error", "level", "line_at", "period", "since")

    def __init__(self, now: float, level: int, error: str) -> None:
        self.level = level
        self.error = error
        self.count = 0
        self.period = 0
        self.since = now
        self.line_at = now + _PERIODS[0]


class LogRepeats:
    """Decides which failures are logged. All other lines are logged."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._lock = threading.Lock()
        self._causes: OrderedDict[Cause, _Repeated] = OrderedDict()
        self._timer: threading.Timer | None = None

    def limit(self, logger: Any, _method: str, event: EventDict) -> EventDict:
        """A structlog processor. It runs before the traceback is formatted. Raises DropEvent."""
        if event.pop("_counted", False):
            return event
        level = getattr(logging, str(event.get("level", "")).upper(), logging.INFO)
        error = _error_of(event.get("exc_info"))
        name = str(getattr(logger, "name", ""))
        if self._is_repeated(level, (name, str(event.get("event", "")), str(event.get("driver", "")), error)):
            raise structlog.DropEvent
        return event

    def filter(self, record: logging.LogRecord) -> bool:
        """A filter of the standard library, for the lines of other libraries."""
        if isinstance(record.msg, dict):  # From structlog: `limit` has already seen this line.
            return True
        return not self._is_repeated(record.levelno, (record.name, str(record.msg), "", _error_of(record.exc_info)))

    def _is_repeated(self, level: int, cause: Cause) -> bool:
        """Count the line. Returns False if it must be logged."""
        if level < (logging.WARNING if cause[3] else logging.ERROR):
            return False
        with self._lock:
            known = self._causes.get(cause)
            if known is None:
                self._causes[cause] = _Repeated(self._now(), level, cause[3])
                dropped = self._causes.popitem(last=False) if len(self._causes) > _MOST_CAUSES else None
            else:
                known.count += 1
                dropped = None
            self._set_timer()
        if dropped is not None:
            self._say([dropped])
        return known is not None

    def flush(self, *, everything: bool = False) -> None:
        """Log the counts that are due. If a cause was not repeated for a whole period, it is removed."""
        due: list[tuple[Cause, _Repeated]] = []
        with self._lock:
            now = self._now()
            for cause, known in list(self._causes.items()):
                if not everything and now < known.line_at:
                    continue
                due.append((cause, known))
                if everything or not known.count:
                    del self._causes[cause]
                    continue
                fresh = _Repeated(now, known.level, known.error)
                fresh.period = min(known.period + 1, len(_PERIODS) - 1)
                fresh.line_at = now + _PERIODS[fresh.period]
                self._causes[cause] = fresh
            self._timer = None
            self._set_timer()
        self._say(due)

    def _set_timer(self) -> None:
        """Set one timer for the next line that is due. Its thread does not keep the process alive."""
        if self._timer is not None or not self._causes:
            return
        next_at = min(known.line_at for known in self._causes.values())
        self._timer = threading.Timer(max(0.1, next_at - self._now()), self.flush)
        self._timer.daemon = True
        self._timer.start()

    def _say(self, due: list[tuple[Cause, _Repeated]]) -> None:
        for (name, event, driver, _), known in due:
            if known.count:
                more = {"driver": driver} if driver else {}
                error = {"error": known.error} if known.error else {}
                seconds = round(self._now() - known.since, 1)
                log = structlog.stdlib.get_logger(name)
                log.log(known.level, f"{event} (repeated)", times=known.count, seconds=seconds, _counted=True, **more, **error)


def _error_of(exc_info: Any) -> str:
    """The kind and the first line of the error, without numbers, because numbers differ from case to case."""
    if exc_info is True:
        exc_info = sys.exc_info()
    error = exc_info[1] if isinstance(exc_info, tuple) else exc_info
    if not isinstance(error, BaseException):
        return ""
    first_line = str(error).split("\n", 1)[0][:_LONGEST_REASON]
    return f"{type(error).__name__}: {_NUMBERS.sub('N', first_line)}"
