"""Deadlines of the blocking client: no wait on a connection lasts longer than the end of the call.

httpx takes a timeout for each network operation. With a slow server, a new timeout would begin with each byte. So each timeout
of a request also contains the time at which the request ends. The streams of a connection do not wait longer.
"""

import time
from collections.abc import Callable
from typing import Any

import httpx

_OPENED = ("connect_tcp.complete", "connect_unix_socket.complete", "start_tls.complete")
"""The ends of the names of the events with which httpx reports a new network stream (its request extension `trace`)."""
_SHORTEST = 0.001
"""A timeout of 0 seconds would mean that the socket never waits."""


class Until(float):
    """A timeout in seconds that also ends at a time of the monotonic clock."""

    ends: float

    def __new__(cls, seconds: float, ends: float) -> "Until":
        made = super().__new__(cls, seconds)
        made.ends = ends
        return made

    def left(self) -> float:
        return min(float(self), max(_SHORTEST, self.ends - time.monotonic()))


def end_at(request: httpx.Request, ends: float) -> httpx.Request:
    """Make every wait of this request end at this time of the monotonic clock."""
    timeouts: dict[str, float] = request.extensions["timeout"]
    request.extensions["timeout"] = {name: Until(seconds, ends) for name, seconds in timeouts.items()}
    request.extensions["trace"] = _watch
    return request


def _watch(event: str, info: dict[str, Any]) -> None:
    if event.endswith(_OPENED):
        stream = info["return_value"]
        stream.read, stream.write = _bound(stream.read), _bound(stream.write)
        stream.start_tls = _bound_tls(stream.start_tls)


def _bound(method: Callable[..., Any]) -> Callable[..., Any]:
    def bounded(data: Any, timeout: float | None = None) -> Any:
        return method(data, timeout.left() if isinstance(timeout, Until) else timeout)

    return bounded


def _bound_tls(method: Callable[..., Any]) -> Callable[..., Any]:
    def bounded(*context: Any, timeout: float | None = None, **named: Any) -> Any:
        return method(*context, timeout=timeout.left() if isinstance(timeout, Until) else timeout, **named)

    return bounded
