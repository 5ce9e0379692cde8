"""A port for a server that a test stops and starts again."""

import random
import socket
from contextlib import suppress

_PORTS = range(10_000, 32_000)
"""Below those that the system gives to whoever connects: while the server is away, nobody else is given its port, and whoever
knocks there is not connected to themselves."""
_choose = random.SystemRandom().choice  # whatever seed a test sets: its neighbours may have set the same


def free_port() -> int:
    while True:
        port = _choose(_PORTS)
        with socket.socket() as one, suppress(OSError):
            one.bind(("127.0.0.1", port))
            return port
