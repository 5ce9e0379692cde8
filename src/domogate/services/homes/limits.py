"""Limits the requests of each person to the home API. This API needs no subscription key, so no rate of a key limits them."""

import math
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from domogate.common.window_limiter import WindowLimiter
from domogate.domain.faults import TooManyRequests
from domogate.domain.ids import Id
from domogate.ports import Clock

REQUESTS, REQUESTS_SPAN = 1_200, 60.0
"""The number of requests that one person may send in `REQUESTS_SPAN` seconds, with all applications together."""
ACTIONS = 300
"""The number of commands, scenes, and requests for pictures or readings that a person may send in `REQUESTS_SPAN` seconds."""
MOST_OPEN = 16
"""The number of commands, scenes, and requests for pictures or readings that one person may have under way."""


class PersonLimits:
    """Counts the requests of each person in this process, and refuses requests above the limits."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._requests = WindowLimiter(REQUESTS, REQUESTS_SPAN)
        self._actions = WindowLimiter(ACTIONS, REQUESTS_SPAN)
        self._open: Counter[Id] = Counter()

    def admit(self, user_id: Id) -> None:
        """Count a request.

        Raises TooManyRequests if the person has sent `REQUESTS` requests in this period. A period has `REQUESTS_SPAN` seconds,
        and begins with the first request after the previous period. A refused request is not counted.
        """
        self._count(self._requests, user_id, f"a person may send {REQUESTS} requests a minute")

    @contextmanager
    def hold(self, user_id: Id) -> Iterator[None]:
        """Count a command, a scene, or a request for a picture or for readings.

        The request counts as under way until the `with` block ends.

        Raises TooManyRequests if the person has sent `ACTIONS` of these requests in this period, or has `MOST_OPEN` of them
        under way. The period is as in `admit`.
        """
        if self._open[user_id] >= MOST_OPEN:
            raise TooManyRequests(f"the person already waits for {MOST_OPEN} answers, which is the limit", 1)
        rule = f"a person may send {ACTIONS} commands and requests for pictures or readings a minute"
        self._count(self._actions, user_id, rule)
        self._open[user_id] += 1
        try:
            yield
        finally:
            self._open[user_id] -= 1
            if not self._open[user_id]:
                del self._open[user_id]

    def _count(self, limiter: WindowLimiter, user_id: Id, rule: str) -> None:
        now = self._clock.now()
        if wait := limiter.wait(user_id, now):
            raise TooManyRequests(rule, math.ceil(wait))
        limiter.count(user_id, now)
