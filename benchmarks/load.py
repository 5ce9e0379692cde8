"""A load generator: keep-alive connections that repeat requests, and count and time the answers."""

import asyncio
import itertools
import os
import random
import re
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, cast

import msgspec

_LENGTH = re.compile(rb"\r\ncontent-length: (\d+)", re.IGNORECASE)


class Load(msgspec.Struct, frozen=True):
    """The result of one round of load."""

    requests: int
    seconds: float
    cpu_seconds: float
    latencies: list[float]
    statuses: dict[int, int]

    @property
    def per_cpu_second(self) -> float:
        return self.requests / self.cpu_seconds

    @property
    def per_second(self) -> float:
        return self.requests / self.seconds

    def percentile(self, share: float) -> float:
        ordered = sorted(self.latencies)
        return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def add_loads(loads: Sequence[Load]) -> Load:
    """Return several loads of the same work as one."""
    statuses: Counter[int] = Counter()
    for load in loads:
        statuses.update(load.statuses)
    return Load(
        requests=sum(load.requests for load in loads),
        seconds=sum(load.seconds for load in loads),
        cpu_seconds=sum(load.cpu_seconds for load in loads),
        latencies=[latency for load in loads for latency in load.latencies],
        statuses=statuses,
    )


JSON, FORM = "application/json", "application/x-www-form-urlencoded"


def request(method: str, path: str, headers: dict[str, str], body: bytes = b"", *, content_type: str = JSON) -> bytes:
    lines = [f"{method} {path} HTTP/1.1", "Host: 127.0.0.1", *(f"{name}: {value}" for name, value in headers.items())]
    if body:
        lines += [f"Content-Type: {content_type}", f"Content-Length: {len(body)}"]
    return "\r\n".join([*lines, "", ""]).encode() + body


def find_length(head: bytes) -> int:
    """Return the length of the body of an answer with this header section."""
    length = _LENGTH.search(head)
    return int(length.group(1)) if length else 0


class _Connection(asyncio.Protocol):
    def __init__(self, requests: "itertools.cycle[bytes]", share: int, done: asyncio.Future[None], pause: float) -> None:
        self._requests = requests
        self._pause = pause
        self._left = share
        self._done = done
        self._buffer = b""
        self._expected = -1
        self._sent_at = 0.0
        self.latencies: list[float] = []
        self.statuses: dict[int, int] = {}

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._send()

    def _send(self) -> None:
        self._sent_at = time.perf_counter()
        self._transport.write(next(self._requests))

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        if self._expected < 0:
            end = self._buffer.find(b"\r\n\r\n")
            if end < 0:
                return
            self._expected = end + 4 + find_length(self._buffer[: end + 2])
        if len(self._buffer) < self._expected:
            return
        self.latencies.append(time.perf_counter() - self._sent_at)
        status = int(self._buffer[9:12])
        self.statuses[status] = self.statuses.get(status, 0) + 1
        self._buffer, self._expected = b"", -1
        self._left -= 1
        if self._left <= 0:
            self._transport.close()
        elif self._pause:
            # Real clients are independent. With equal pauses, all clients whose commands share a commit would send at once.
            asyncio.get_running_loop().call_later(random.uniform(0.5, 1.5) * self._pause, self._send)
        else:
            self._send()

    def end_soon(self) -> None:
        """End after the next answer."""
        self._left = min(self._left, 1)

    def connection_lost(self, exc: Exception | None) -> None:
        if not self._done.done():
            if self._left > 0:
                self._done.set_exception(exc or ConnectionError("the server closed the connection"))
            else:
                self._done.set_result(None)


def run_in_background() -> None:
    """Let this process use a core only while no other process needs it. A client calls this before it makes load.

    Real clients run on other machines and use no CPU time of this one. A low priority (`nice`) is not enough: a process of low
    priority may keep its core for some milliseconds after the gateway or the reading client has become ready to run.
    """
    if sys.platform == "linux":
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    else:
        os.nice(19)


def run_first() -> None:
    """Let this process have a core as soon as it needs one, before all normal processes. Only root on Linux may do this."""
    if sys.platform == "linux":
        with suppress(PermissionError):
            os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))


@contextmanager
def running_first() -> Iterator[None]:
    """Do the same as `run_first` until the block ends. Processes that are started in the block do not inherit it."""
    run_first()
    if sys.platform == "linux" and os.sched_getscheduler(0) == os.SCHED_RR:
        os.sched_setscheduler(0, os.SCHED_RR | os.SCHED_RESET_ON_FORK, os.sched_param(1))
        try:
            yield
        finally:
            os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    else:
        yield


def cpu_seconds(pid: int) -> float:
    """User and system time of all threads of the process.

    The number of the process's CPU clock is computed as in `clock_getcpuclockid` of the C library. This clock counts
    nanoseconds; `/proc/PID/stat` counts hundredths of a second.
    """
    return time.clock_gettime((~pid << 3) | 2)


def resident_megabytes(pid: int) -> float:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


async def run_load(
    port: int,
    pid: int,
    requests: Sequence[bytes],
    *,
    total: int,
    connections: int,
    pause: float = 0.0,
    until: asyncio.Future[Any] | None = None,
) -> Load:
    """Send `total` requests, taken from `requests` in turn, over `connections` connections. End when `until` is done.

    `pause` is the mean number of seconds between an answer and the next request of the same connection.
    """
    loop = asyncio.get_running_loop()
    cycle = itertools.cycle(requests)
    share = total // connections
    protocols, waiting = [], []
    cpu, started = cpu_seconds(pid), time.perf_counter()
    for _ in range(connections):
        done: asyncio.Future[None] = loop.create_future()
        _, protocol = await loop.create_connection(partial(_Connection, cycle, share, done, pause), "127.0.0.1", port)
        protocols.append(protocol)
        waiting.append(done)

    def end_soon(_: object) -> None:
        for protocol in protocols:
            protocol.end_soon()

    if until is not None:
        until.add_done_callback(end_soon)
    await asyncio.gather(*waiting)
    statuses: dict[int, int] = {}
    for protocol in protocols:
        for status, count in protocol.statuses.items():
            statuses[status] = statuses.get(status, 0) + count
    return Load(
        requests=sum(statuses.values()),
        seconds=time.perf_counter() - started,
        cpu_seconds=cpu_seconds(pid) - cpu,
        # Without the first request of each connection, because it includes the time to connect.
        latencies=[latency for protocol in protocols for latency in protocol.latencies[1:]],
        statuses=statuses,
    )
