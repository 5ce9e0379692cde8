"""The log of slow requests: one line for each request that took longer than the setting `slow_request`.

If there are too many slow requests in a short time, some of them get no line.
"""

import time
from collections.abc import Mapping

from domogate.common.log import get_logger
from domogate.common.waits import Waits

_MOST, _INTERVAL = 10, 10.0
"""At most `_MOST` lines are written in `_INTERVAL` seconds."""

_log = get_logger("domogate.slow")


class SlowRequests:
    """Writes the lines about slow requests. If there are too many, a later line says how many got no line."""

    def __init__(self, limit: float, routes: Mapping[str, str], waits: Waits) -> None:
        """`limit` is the longest duration of a fast request in seconds. `routes` has the path of each operation."""
        self.limit = limit
        self._routes = routes
        self.waits = waits
        self._began = 0.0
        self._written = 0
        self._omitted = 0

    def forget(self) -> None:
        """Forget how long the current request waited for the store and for devices. Called if the request was not slow.

        Otherwise the log line about a later request with the same request id would show these waiting times.
        """
        self.waits.take()

    def log(self, method: str, operation: str, status: int, seconds: float) -> None:
        waits = self.waits.take()
        now = time.monotonic()
        if now - self._began >= _INTERVAL:
            self._began, self._written = now, 0
        if self._written == _MOST:
            self._omitted += 1
            return
        self._written += 1
        omitted, self._omitted = self._omitted, 0
        # The path of the operation, not of the request: a path can name a person, and a query can have a token.
        _log.warning(
            "slow request",
            method=method,
            route=self._routes.get(operation, operation),
            operation=operation,
            status=status,
            seconds=round(seconds, 3),
            **{f"{what}_seconds": round(waited, 3) for what, waited in sorted(waits.items())},
            **({"omitted": omitted} if omitted else {}),
        )
