"""Ignores an address for some seconds after too many refusals, because checking a signature costs more than asking.

Tickets cannot be guessed, so this only saves work. It counts in this process, and forgets within seconds.
"""

import math

from domogate.common.networks import network_of
from domogate.common.window_limiter import WindowLimiter
from domogate.ports import Clock
from domogate.services.tickets.refusals import NotRedeemed, Reason

ALLOWANCE = 100
"""Refusals in one span. Many people behind one address may each use the same ticket several times."""
SPAN = 10.0


class RefusalLimiter:
    """Counts the refusals of each address in its current span."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._limiter = WindowLimiter(ALLOWANCE, SPAN)

    def check(self, address: str) -> None:
        """Raises NotRedeemed."""
        left = self._limiter.wait(network_of(address), self._clock.now())
        if left:
            message = "too many refused requests came from this address; this one was not checked and nothing was used"
            raise NotRedeemed(Reason.SLOW_DOWN, message, retry_after=math.ceil(left))

    def count(self, address: str) -> None:
        """A request from this address was refused."""
        self._limiter.count(network_of(address), self._clock.now())
