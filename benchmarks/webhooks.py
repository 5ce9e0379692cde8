"""Webhooks: the deliveries per second, their CPU cost and their delay."""

import asyncio
import multiprocessing
import socket
import statistics
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from multiprocessing.connection import Connection
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec

from benchmarks.bounds import cpu_of_commit
from benchmarks.scenarios import Row, Scenario, compare_rounds
from benchmarks.socket_bounds import cpu_of_post
from domogate.backends.webhook_sender import HttpWebhookSender
from domogate.domain.devices import DeviceKind
from domogate.domain.estate import Estate
from domogate.domain.ids import Id
from domogate.domain.plants import Module
from domogate.domain.states import PlugState, Reading, Report, Unit
from support.clocks import ManualClock
from support.delivery_setup import APP, GUEST, OWNER, DeliverySetup, a_plant, open_delivery_setup
from support.mqtt_flood import percentile
from support.stores import an_id

_PLANTS, _EACH = 100, 2
_ROUNDS = 5
_CHANGES = 500
"""The changes of one round."""
_RATE, _SECONDS = 100, 5
_IN_FLIGHT = 8
"""Number of reports that wait for their commit at the same time."""
_TIMEOUT = 120.0

_LEAST, _GOAL = 0.12, 3_000
"""The smallest allowed ratio of the deliveries to the deliveries that are possible, and the goal per CPU-second."""

_ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"


class _Clock(ManualClock):
    def now(self) -> float:
        return time.time()


class _Receiver(asyncio.Protocol):
    """A minimal HTTP server, so that the cost of the server does not count."""

    def __init__(self, got: list[tuple[float, bytes]]) -> None:
        self._got = got
        self._buffer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport: Any = transport

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        while True:
            head, found, rest = self._buffer.partition(b"\r\n\r\n")
            if not found:
                return
            length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
            if len(rest) < length:
                return
            self._got.append((time.time(), rest[:length]))
            self._buffer = rest[length:]
            self._transport.write(_ANSWER)


def _receive(pipe: Connection) -> None:
    """Runs in a separate process, and first sends its port.

    For each number that it gets, it sends this number of deliveries back.
    """

    async def run() -> None:
        got: list[tuple[float, bytes]] = []
        loop = asyncio.get_running_loop()
        listening = socket.create_server(("127.0.0.1", 0), backlog=1024)
        server = await loop.create_server(lambda: _Receiver(got), sock=listening)
        pipe.send(listening.getsockname()[1])
        while (wanted := await asyncio.to_thread(pipe.recv)) is not None:
            end = time.monotonic() + _TIMEOUT
            while len(got) < wanted and time.monotonic() < end:
                await asyncio.sleep(0.01)
            pipe.send(list(got))
            got.clear()
        server.close()

    asyncio.run(run())


class _Run:
    """The result of one run."""

    def __init__(self, got: Sequence[tuple[float, bytes]], wanted: int, seconds: float, cpu: float) -> None:
        self.delivered = len(got)
        self.complete = len(got) == wanted
        self.seconds = seconds
        self.cpu = cpu
        self.ages = [arrived - _reported_at(body) for arrived, body in got]


def _reported_at(body: bytes) -> float:
    at = msgspec.json.decode(body)["data"]["state"]["power"]["at"]
    return datetime.fromisoformat(at.replace("Z", "+00:00")).timestamp()


async def webhooks_delivered() -> AsyncIterator[Row]:
    """Two hundred receivers, two for each of a hundred plants."""
    async with _house() as (setup, pipe):
        rounds, most = [], []
        for _ in range(_ROUNDS):
            rounds.append(await _measure(setup, pipe, _CHANGES, None))
            most.append(await _find_most())
        rate = f"{statistics.median(fast.delivered / fast.seconds for fast in rounds):,.0f}"
        none_lost = all(fast.complete for fast in rounds)
        yield Row("Webhooks: deliveries to 200 receivers per second", rate, "none lost", none_lost)
        per_cpu_second = [fast.delivered / fast.cpu for fast in rounds]
        yield Row("Webhooks: deliveries per CPU-second, commits included", f"{statistics.median(per_cpu_second):,.0f}")
        yield compare_rounds(
            "Webhooks: deliveries per CPU-second / the most that are possible with one POST of a bare client",
            per_cpu_second,
            most,
            _LEAST,
            goal=_GOAL,
        )
        steady = await _measure(setup, pipe, _RATE * _SECONDS, _RATE)
    yield Row(
        f"Webhooks: from report to receiver at {_RATE} changes per second, p50 / p99",
        f"{percentile(steady.ages, 0.5) * 1000:.1f} ms / {percentile(steady.ages, 0.99) * 1000:.1f} ms",
        "none lost",
        steady.complete,
    )


async def _find_most() -> float:
    """The most deliveries that are possible per CPU-second: commits for some reports and their deliveries, and the POSTs."""
    posts = _EACH * _IN_FLIGHT
    commits = cpu_of_commit(3 * _IN_FLIGHT) + cpu_of_commit(posts)
    return 1 / (commits / posts + await cpu_of_post(_PLANTS * _EACH))


@asynccontextmanager
async def _house() -> AsyncIterator[tuple[DeliverySetup, Connection]]:
    pipe, far_end = multiprocessing.Pipe()
    receiver = multiprocessing.get_context("spawn").Process(target=_receive, args=(far_end,), daemon=True)
    receiver.start()
    port = await asyncio.to_thread(pipe.recv)
    webhook_sender = HttpWebhookSender(("127.0.0.0/8",))
    plants = tuple(a_plant(_plant_id(number), (_plug(number),)) for number in range(_PLANTS))
    estate = Estate(users=(OWNER, GUEST), clients=(APP,), plants=plants)
    try:
        with TemporaryDirectory() as folder:
            async with open_delivery_setup(Path(folder) / "domogate.db", webhook_sender, _Clock(), estate=estate) as setup:
                who = await setup.grant_access()
                for number in range(_PLANTS * _EACH):
                    url = f"http://127.0.0.1:{port}/{number}"
                    await setup.register(url, who, plant_id=_plant_id(number % _PLANTS))
                yield setup, pipe
    finally:
        pipe.send(None)
        await webhook_sender.stop()
        await asyncio.to_thread(receiver.join, 10)


async def _measure(setup: DeliverySetup, pipe: Connection, changes: int, rate: int | None) -> _Run:
    free = asyncio.Semaphore(_IN_FLIGHT)
    wanted = changes * _EACH
    pipe.send(wanted)
    begun, cpu = time.perf_counter(), time.process_time()

    async def report(number: int) -> None:
        async with free:
            now = time.time()
            state = PlugState(on=True, power=Reading(float(number), Unit.WATT, now))
            plug = number % _PLANTS
            await setup.store.record([Report(_plant_id(plug), _plug(plug).id, now, state)])

    reports = []
    for number in range(changes):
        if rate is not None:
            await asyncio.sleep(max(0.0, begun + number / rate - time.perf_counter()))
        reports.append(asyncio.create_task(report(number)))
    await asyncio.gather(*reports)
    got = await asyncio.to_thread(pipe.recv)
    return _Run(got, wanted, time.perf_counter() - begun, time.process_time() - cpu)


def _plant_id(number: int) -> Id:
    return an_id(0x1000 + number)


def _plug(number: int) -> Module:
    return Module(an_id(0x2000 + number), an_id(0x3000 + number), f"Plug {number}", DeviceKind.PLUG)


WEBHOOKS: dict[str, Scenario] = {"webhooks": webhooks_delivered}
