"""Limits requests with wrong client secrets, for each client and network, and for each network.

The secret is checked first, so the right one is always accepted: wrong secrets of others must not stop an application. Client
secrets cannot be guessed (Decision 0053); this limits work and entries in the audit log. It counts in this process.
"""

import hashlib
import math

from domogate.common.networks import network_of
from domogate.common.window_limiter import WindowLimiter
from domogate.ports import Clock

WRONG_FOR_CLIENT = 10
WRONG_FROM_NETWORK = 100
"""Wrong secrets in a span, from one network: for one client, and for all clients together."""
SPAN = 60.0


class ClientThrottle:
    """Tells after a wrong secret how long the sender must wait."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._by_client = WindowLimiter(WRONG_FOR_CLIENT, SPAN)
        self._by_network = WindowLimiter(WRONG_FROM_NETWORK, SPAN)

    def fail(self, client_id: str, address: str) -> int:
        """Count a wrong secret. Returns the seconds to wait; 0 within the allowance."""
        now, network = self._clock.now(), network_of(address)
        # Of fixed size, however long the id is.
        key = hashlib.blake2b(f"{network}\0{client_id}".encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
        wait = max(self._by_client.wait(key, now), self._by_network.wait(network, now))
        self._by_client.count(key, now)
        self._by_network.count(network, now)
        return math.ceil(wait)
