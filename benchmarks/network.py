"""A network with an exact delay between gateways and their database."""

import asyncio
import selectors
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from support.tcp_proxy import TcpProxy


@contextmanager
def slow_network(target: Path, delay: float) -> Iterator[int]:
    """Start a proxy before a Unix socket, and yield its port. Each byte is late by `delay` seconds in each direction.

    The usual event loops round the time of a timer up to whole milliseconds, so the delay would grow with the number of
    connections: from 2.3 ms with one gateway to 3.1 ms with four. A loop with `select` waits for microseconds.
    """
    loop = asyncio.SelectorEventLoop(selectors.SelectSelector())
    thread = threading.Thread(target=loop.run_forever, name="slow network", daemon=True)
    thread.start()
    proxy = TcpProxy(target, delay)
    asyncio.run_coroutine_threadsafe(proxy.start(), loop).result()
    try:
        yield proxy.port
    finally:
        asyncio.run_coroutine_threadsafe(proxy.stop(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
