"""The IP addresses of host names, from the system's resolver."""

import asyncio
import socket
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

_LOOKUPS = 64
"""The number of concurrent look-ups. Each of them has its own thread, so one slow look-up does not delay the others."""


class NameResolver:
    """The system's resolver on its own threads. Concurrent requests for the same name share one look-up."""

    def __init__(self) -> None:
        self._threads: ThreadPoolExecutor | None = None
        self._under_way: dict[str, asyncio.Future[Sequence[str]]] = {}

    async def look_up(self, host: str) -> Sequence[str]:
        found = self._under_way.get(host)
        if found is None:
            if self._threads is None:
                self._threads = ThreadPoolExecutor(_LOOKUPS, thread_name_prefix="domogate-names")
            found = asyncio.get_running_loop().run_in_executor(self._threads, _addresses_of, host)
            self._under_way[host] = found
            found.add_done_callback(lambda done: self._forget(host, done))
        return await asyncio.shield(found)

    def close(self) -> None:
        threads, self._threads = self._threads, None
        if threads is not None:
            threads.shutdown(wait=False, cancel_futures=True)

    def _forget(self, host: str, done: "asyncio.Future[Sequence[str]]") -> None:
        self._under_way.pop(host, None)
        if not done.cancelled():
            done.exception()  # marks the result as read: the caller may have been cancelled


def _addresses_of(host: str) -> Sequence[str]:
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP)
    except UnicodeError:
        raise OSError(f"{host!r} is not a host name") from None
    return list(dict.fromkeys(str(address[0]) for *_, address in found))
