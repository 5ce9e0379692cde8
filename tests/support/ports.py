"""A port for a server that a test stops and starts again."""

import random
import socket
from contextlib import suppress

_PORTS = range(10_000, 32_000)
"""Below the ephemeral ports, so that no other process gets the port while the server is stopped, and a client cannot connect
to itself."""
_choose = random.SystemRandom().choice  # independent of the seed of a test, because other tests may use the same seed


def free_port() -> int:
    while True:
        port = _choose(_PORTS)
        with socket.socket() as one, suppress(OSError):
            one.bind(("127.0.0.1", port))
            return port
