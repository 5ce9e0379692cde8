"""Limits requests with wrong client secrets: for each network, and for each pair of client and network.

The secret is checked first, and the right secret is always accepted. So other callers with wrong secrets cannot block an
application. The limit does not protect the secrets: they are hard to guess even without it (Decision 0053). It tells senders
to wait, so they cause less work and fewer entries in the audit log. Each process counts separately.
"""

import hashlib
import math

from domogate.common.networks import network_of
from domogate.common.window_limiter import WindowLimiter
from domogate.ports import Clock

WRONG_FOR_CLIENT = 10
"""How many wrong secrets one network may send for one client in `SPAN` seconds."""
WRONG_FROM_NETWORK = 100
"""How many wrong secrets one network may send for all clients together in `SPAN` seconds."""
SPAN = 60.0


class ClientThrottle:
    """Counts wrong client secrets, and says how long the sender must wait before the next attempt."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._by_client = WindowLimiter(WRONG_FOR_CLIENT, SPAN)
        self._by_network = WindowLimiter(WRONG_FROM_NETWORK, SPAN)

    def fail(self, client_id: str, address: str) -> int:
        """Count a wrong secret. Returns the seconds that the sender must wait, or 0 if no limit is reached."""
        now, network = self._clock.now(), network_of(address)
        # The key has a fixed size, even if the client id is long.
        key = hashlib.blake2b(f"{network}\0{client_id}".encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
        wait = max(self._by_client.wait(key, now), self._by_network.wait(network, now))
        self._by_client.count(key, now)
        self._by_network.count(network, now)
        return math.ceil(wait)
