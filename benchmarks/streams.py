"""Server-sent events: the events sent per second, their CPU cost and their delay."""

import asyncio
import statistics
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from benchmarks.bounds import cpu_of_commit
from benchmarks.scenarios import ROUNDS, Row, Scenario, compare_rounds
from benchmarks.socket_bounds import cpu_of_write
from domogate import events
from domogate.domain.devices import DeviceKind
from domogate.domain.ids import Id
from domogate.domain.plants import Module
from domogate.domain.states import PlugState, Reading, Report, Unit
from domogate.edge import server
from domogate.edge.metrics import Metrics
from domogate.edge.stack import Edge
from domogate.http_api.app import SurfaceApp
from domogate.http_api.credentials import KeyAndToken
from support.clocks import ManualClock
from support.listener_pool import ListenerPool, allow_files, listener_pool
from support.mqtt_flood import percentile
from support.stream_setup import StreamSetup, a_module, open_stream_setup

_PLANTS, _LISTENERS = 100, 1_000
_CHANGES = 2_000
_RATE, _SECONDS = 200, 5
_IN_FLIGHT = 8
"""Number of reports that wait for their commit at the same time."""

_LEAST, _GOAL = 0.6, 60_000
"""The smallest allowed ratio of the sent events to the events that are possible, and the goal per CPU-second."""

Places = Sequence[tuple[Id, Module]]


class _Clock(ManualClock):
    def now(self) -> float:
        return time.time()


class _NoAudit:
    def note(self, *_: Any, **__: Any) -> None:
        pass


async def events_streamed() -> AsyncIterator[Row]:
    """A thousand listeners in a separate process, ten on each of a hundred plants."""
    async with _serving() as (setup, port):
        owner = await setup.add_user("Owner")
        plugs = [a_module(DeviceKind.PLUG) for _ in range(_PLANTS)]
        places = [((await setup.add_plant(owner, plug)).id, plug) for plug in plugs]
        credentials = await setup.grant_access(owner)
        headers = {name.decode(): value.decode() for name, value in credentials.headers}
        await _measure(setup, port, headers, places, None)
        rounds, most = [], []
        for _ in range(ROUNDS):
            rounds.append(await _measure(setup, port, headers, places, None))
            most.append(await _find_most())
        per_second = statistics.median(fast.sent / fast.seconds for fast in rounds)
        none_lost = all(fast.complete for fast in rounds)
        yield Row("SSE: events sent to 1,000 listeners per second", f"{per_second:,.0f}", "none lost", none_lost)
        per_cpu_second = [fast.sent / fast.cpu for fast in rounds]
        figure = f"{statistics.median(per_cpu_second):,.0f}"
        yield Row("SSE: events sent to listeners per CPU-second, commits included", figure)
        yield compare_rounds(
            "SSE: events sent to listeners per CPU-second / the most that are possible with one write for each listener",
            per_cpu_second,
            most,
            _LEAST,
            goal=_GOAL,
        )
        steady = await _measure(setup, port, headers, places, _RATE)
    yield Row(
        f"SSE: from report to listener at {_RATE} changes per second, p50 / p99",
        f"{percentile(steady.ages, 0.5) * 1000:.1f} ms / {percentile(steady.ages, 0.99) * 1000:.1f} ms",
        "none lost",
        steady.complete,
    )


async def _find_most() -> float:
    """The most events that are possible per CPU-second: a commit for some reports, and a write for each event."""
    copies = _LISTENERS // _PLANTS
    return copies / (cpu_of_commit(3 * _IN_FLIGHT) / _IN_FLIGHT + copies * await cpu_of_write(_LISTENERS))


class _Run:
    """The result of one run."""

    def __init__(self, listeners: ListenerPool, seconds: float, cpu: float, changes: int) -> None:
        self.seconds = seconds
        self.cpu = cpu
        self.ages = listeners.ages
        self.sent = sum(len(ids) for _, ids, _, _ in listeners.received)
        self.complete = self.sent == changes * _LISTENERS // _PLANTS and not any(odd for *_, odd in listeners.received)


@asynccontextmanager
async def _serving() -> AsyncIterator[tuple[StreamSetup, int]]:
    allow_files(_LISTENERS)
    stop = asyncio.Event()
    # All listeners are one user with one key, who may hold half of the streams.
    async with open_stream_setup(_Clock(), most=2 * _LISTENERS, most_per_user=_LISTENERS, most_per_key=_LISTENERS) as setup:
        credentials = KeyAndToken(setup.admission, setup.verifier, _NoAudit())
        app = SurfaceApp(events.SURFACE, setup.hub, credentials, base_url="http://localhost", version="0")
        edge = Edge(app, is_allowed_origin=_allow_no_origin, is_ready=lambda: True, metrics=Metrics(), access_log=False)
        async with server.listen("127.0.0.1", 0, "127.0.0.1", None) as listening:
            many = server.Connections(2 * _LISTENERS, 2 * _LISTENERS)
            running = asyncio.create_task(server.run(edge, listening, connections=many, stop=stop, on_drain=setup.hub.drain))
            try:
                yield setup, listening.port
            finally:
                stop.set()
                await running


async def _measure(setup: StreamSetup, port: int, headers: dict[str, str], places: Places, rate: int | None) -> _Run:
    """Send reports as fast as they are committed, or at `rate` reports a second."""
    crowded = listener_pool(port, headers, [plant_id for plant_id, _ in places], _LISTENERS)
    listeners = await asyncio.to_thread(crowded.__enter__)
    try:
        before, begun, cpu = setup.hub.sent, time.perf_counter(), time.process_time()
        count = _CHANGES if rate is None else rate * _SECONDS
        await (_report_fast(setup, places, count) if rate is None else _report_steadily(setup, places, count, rate))
        wanted = count * _LISTENERS // _PLANTS
        # `sent` is a sum over all streams. It is computed only when no event waits, so that it adds no CPU time to the result.
        while not (setup.hub.idle and setup.hub.sent - before >= wanted) and time.perf_counter() - begun < 60:
            await asyncio.sleep(0.005)
        seconds, cost = time.perf_counter() - begun, time.process_time() - cpu
        newest = await setup.store.newest_cursor()
        plants = [plant_id for plant_id, _ in places]
        seen: dict[str, int] = dict.fromkeys(plants, 0)
        for change in await setup.store.list_changes_of(plants, max(0, newest - len(places)), 10 * len(places)):
            seen[change.event.plant_id] = change.cursor  # type: ignore[union-attr]  # only those of plants were read
        await asyncio.to_thread(listeners.finish, seen)
    finally:
        await asyncio.to_thread(crowded.__exit__, None, None, None)
    return _Run(listeners, seconds, cost, count)


async def _report_fast(setup: StreamSetup, places: Places, count: int) -> None:
    numbers = iter(range(count))

    async def worker() -> None:
        for number in numbers:
            await _report(setup, places, number)

    await asyncio.gather(*(worker() for _ in range(_IN_FLIGHT)))


async def _report_steadily(setup: StreamSetup, places: Places, count: int, rate: int) -> None:
    begun, tasks = time.perf_counter(), []
    for number in range(count):
        await asyncio.sleep(max(0.0, begun + number / rate - time.perf_counter()))
        tasks.append(asyncio.create_task(_report(setup, places, number)))
    await asyncio.gather(*tasks)


async def _report(setup: StreamSetup, places: Places, number: int) -> None:
    """Record a report as a driver does. The time of its reading tells the listener the age of the event."""
    plant_id, plug = places[number % len(places)]
    now = time.time()
    state = PlugState(on=number % 2 == 0, power=Reading(number % 2_000, Unit.WATT, now))
    await setup.store.record([Report(plant_id, plug.id, now, state)])


STREAMS: dict[str, Scenario] = {"streams": events_streamed}


async def _allow_no_origin(_: bytes) -> bool:
    return False
