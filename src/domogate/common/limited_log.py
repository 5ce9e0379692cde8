"""Limits how often a warning is logged, if another program can cause the warning as often as it wants."""

import time
from typing import Protocol

_INTERVAL = 60.0
_LONGEST_REASON = 200


class _Log(Protocol):
    def warning(self, event: str, /, *, reason: str, times: int) -> object: ...


class LimitedLog:
    """Logs that an event happened, at most once a minute. The log line says how often it happened since the previous line."""

    def __init__(self, log: _Log, event: str) -> None:
        self._log = log
        self._event = event
        self._times = 0
        self._silent_until = 0.0

    def warn(self, reason: object) -> None:
        """Count the event, and log a warning if the last warning is older than a minute.

        A long reason is cut, because it can contain text that another program sent.
        """
        self._times += 1
        now = time.monotonic()
        if now >= self._silent_until:
            self._log.warning(self._event, reason=str(reason)[:_LONGEST_REASON], times=self._times)
            self._times, self._silent_until = 0, now + _INTERVAL
