"""After too many refused tickets from an IP address, refuses all its requests with tickets for some seconds.

Tickets cannot be guessed, so the limiter only saves CPU time: the check of a signature takes long. Each process counts
separately, and keeps its counts only for some seconds.
"""

import math

from domogate.common.networks import network_of
from domogate.common.window_limiter import WindowLimiter
from domogate.ports import Clock
from domogate.services.tickets.refusals import NotRedeemed, Reason

ALLOWANCE = 100
"""The number of refusals that an IP address may have in one period. It is high, because many people can share an IP address."""
SPAN = 10.0


class RefusalLimiter:
    """Counts the refused requests with tickets from each IP address, in the present period of SPAN seconds.

    All IPv6 addresses of a /64 network count as one address.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._limiter = WindowLimiter(ALLOWANCE, SPAN)

    def check(self, address: str) -> None:
        """Raises NotRedeemed if too many requests from this IP address were refused."""
        left = self._limiter.wait(network_of(address), self._clock.now())
        if left:
            message = "too many refused requests came from this address; this request was not checked, and no ticket was used"
            raise NotRedeemed(Reason.SLOW_DOWN, message, retry_after=math.ceil(left))

    def count(self, address: str) -> None:
        """Count a refused request from this IP address."""
        self._limiter.count(network_of(address), self._clock.now())
