"""Ignores an address for some seconds after too many refusals, because checking a signature costs more than asking.

Tickets cannot be guessed, so this only saves work. It counts in this process, and forgets within seconds.
"""

import math
from collections import OrderedDict

from domogate.ports import Clock
from domogate.services.people import network_of
from domogate.services.tickets.refusals import NotRedeemed, Reason

ALLOWANCE = 100
"""Refusals in one span. Many people behind one address may each use the same ticket several times."""
SPAN = 10.0
_CAPACITY = 10_000


class RefusalLimiter:
    """Counts the refusals of each address in its current span."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._spans: OrderedDict[str, tuple[float, int]] = OrderedDict()

    def check(self, address: str) -> None:
        """Raises NotRedeemed."""
        if not self._spans:
            return
        begun, refused = self._spans.get(network_of(address), (0.0, 0))
        if refused < ALLOWANCE:
            return
        left = begun + SPAN - self._clock.now()
        if 0 < left <= SPAN:
            message = "too many refused requests came from this address; this one was not checked and nothing was used"
            raise NotRedeemed(Reason.SLOW_DOWN, message, retry_after=math.ceil(left))

    def count(self, address: str) -> None:
        """A request from this address was refused."""
        network, now = network_of(address), self._clock.now()
        begun, refused = self._spans.get(network, (now, 0))
        if not begun <= now < begun + SPAN:
            begun, refused = now, 0
        self._spans[network] = (begun, refused + 1)
        self._spans.move_to_end(network)
        if len(self._spans) > _CAPACITY:
            self._spans.popitem(last=False)
