"""Whoever shows what is refused, again and again, is not looked at for a while: looking at a signature costs more than asking.

Nothing can be guessed here, so this is about work, not about secrecy: it is counted in this process, by address, and forgotten
within seconds.
"""

import math
from collections import OrderedDict

from domogate.ports import Clock
from domogate.services.people import network_of
from domogate.services.tickets.refusals import NotRedeemed, Reason

ALLOWANCE = 100
"""Refusals in one span: more than a crowd at one door causes that taps the same ticket fifty times."""
SPAN = 10.0
_CAPACITY = 10_000


class RefusalLimiter:
    """How much that was refused came from each address in the span that is running there."""

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
            message = "too much that was refused came from this address; nothing of this was looked at or used"
            raise NotRedeemed(Reason.SLOW_DOWN, message, retry_after=math.ceil(left))

    def count(self, address: str) -> None:
        """Something from there was refused."""
        network, now = network_of(address), self._clock.now()
        begun, refused = self._spans.get(network, (now, 0))
        if not begun <= now < begun + SPAN:
            begun, refused = now, 0
        self._spans[network] = (begun, refused + 1)
        self._spans.move_to_end(network)
        if len(self._spans) > _CAPACITY:
            self._spans.popitem(last=False)
