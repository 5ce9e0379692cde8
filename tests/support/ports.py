"""A port for a server that a test stops and starts again, or that cannot choose one by itself."""

import atexit
import os
import random
import socket
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from itertools import cycle

_PORTS = range(10_000, 32_000)
"""Below the ephemeral ports, so that no other process gets the port while the server is stopped, and a client cannot connect
to itself."""
_SIZE = 400
"""Ports of a block. A process uses the ports of one block, one after the other. So two processes never choose the same port,
also before a server listens on it. The first port of a block is its lock: the process binds it until it ends."""
_shuffle = random.SystemRandom().shuffle  # independent of the seed of a test, because other tests may use the same seed


def free_port() -> int:
    return free_ports(1)[0]


def free_ports(number: int) -> list[int]:
    """Ports that follow one another."""
    ports, found = _take_block(os.getpid()), list[int]()
    while len(found) < number:
        port = next(ports)
        if found and port != found[-1] + 1:
            found.clear()
        found = [*found, port] if _is_free(port) else []
    return found


def _is_free(port: int) -> bool:
    with socket.socket() as one, suppress(OSError):
        one.bind(("127.0.0.1", port))
        return True
    return False


@cache
def _take_block(_process: int) -> Iterator[int]:
    """The ports of a block that no other process has. `_process`: a forked process needs another block than its parent."""
    blocks = [_PORTS[at : at + _SIZE] for at in range(0, len(_PORTS), _SIZE)]
    _shuffle(blocks)
    for lock, *ports in blocks:
        held = socket.socket()
        try:
            held.bind(("127.0.0.1", lock))
        except OSError:
            held.close()
        else:
            atexit.register(held.close)
            return cycle(ports)
    raise RuntimeError("all blocks of ports are in use")
