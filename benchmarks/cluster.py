"""Commands that several gateways commit on one PostgreSQL, with a network between them and the database.

Each gateway is a process with only its store. A command is an order that is stored as sent, and its end with a report.
"""

import asyncio
import statistics
import subprocess
import sys
import time
from collections.abc import AsyncIterator

from benchmarks.estates import USER, build_plant, module_id, plant_id
from benchmarks.network import slow_network
from benchmarks.scenarios import Row, Scenario
from domogate.app.parts import SystemClock
from domogate.domain.commands import Order, OrderEnd, OrderState, SetLight
from domogate.domain.devices import DeviceKind
from domogate.domain.estate import Estate
from domogate.domain.ids import new_id
from domogate.domain.states import LightState, Report
from domogate.stores import SqlStore
from support.postgres import postgres_server

_GATEWAYS, _LEAST = 4, 3.0
_CALLERS, _WARM_UP, _SECONDS, _ROUNDS = 4, 2.0, 6.0, 5
_DELAY = 0.002
"""The seconds that each direction of the network adds."""


async def commands_of_a_cluster() -> AsyncIterator[Row]:
    with postgres_server() as server:
        direct = server.empty_database()
        store = SqlStore(direct, clock=SystemClock(), gateway=False)
        await store.start()
        plants = tuple(build_plant(number, 10) for number in range(_GATEWAYS))
        await store.import_estate(Estate(users=(USER,), plants=plants), prune=False)
        await store.stop()
        with slow_network(server.socket, _DELAY) as port:
            url = f"postgresql+psycopg://postgres@127.0.0.1:{port}/postgres"
            rounds = [(await _measure(url, 1), await _measure(url, _GATEWAYS)) for _ in range(_ROUNDS)]
    ratios = sorted(several / one for one, several in rounds)
    ratio = statistics.median(ratios)
    one, several = (statistics.median(figures) for figures in zip(*rounds, strict=True))
    spread = f"{ratios[0]:.1f} to {ratios[-1]:.1f} in {_ROUNDS} rounds"
    figure = f"{ratio:.1f} ({spread}; {several:,.0f} per second, one gateway {one:,.0f} per second)"
    what = f"Commands of {_GATEWAYS} gateways / of one, {_DELAY * 1000:g} ms to the database"
    yield Row(what, figure, f">= {_LEAST:g}", ratio >= _LEAST)


async def _measure(url: str, gateways: int) -> float:
    """Return the commands per second of all gateways together."""
    command = [sys.executable, "-m", "benchmarks.cluster", url]
    processes = [
        await asyncio.create_subprocess_exec(*command, str(number), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        for number in range(gateways)
    ]
    for process in processes:
        assert process.stdout is not None
        await process.stdout.readline()  # It is ready.
    outputs = await asyncio.gather(*(process.communicate(b"begin\n") for process in processes))
    return sum(int(output) for output, _ in outputs) / _SECONDS


async def _run_gateway(url: str, number: int) -> int:
    """Send commands to the lamps of one plant. Return how many ended in the measured time."""
    store = SqlStore(url, clock=SystemClock(), member=True)
    await store.start()
    print("ready", flush=True)
    sys.stdin.readline()
    plant, done = plant_id(number), 0
    start = time.monotonic() + _WARM_UP
    end = start + _SECONDS

    async def send(caller: int) -> None:
        nonlocal done
        lamp = module_id(number, DeviceKind.LIGHT, caller)
        on = False
        if caller % 2:  # One write more, so that each commit has new orders and ends of orders, as with independent callers.
            await store.record([Report(plant, lamp, time.time(), LightState(on=on))])
        while time.monotonic() < end:
            on = not on
            now = time.time()
            order = Order(new_id(), plant, lamp, SetLight(on=on), now + 60)
            await store.add_orders([order], now, sent=True)
            report = Report(plant, lamp, time.time(), LightState(on=on))
            await store.end_order(plant, OrderEnd(order.id, OrderState.CONFIRMED, time.time()), report)
            done += start <= time.monotonic() < end

    await asyncio.gather(*(send(caller) for caller in range(_CALLERS)))
    await store.stop()
    return done


CLUSTER: dict[str, Scenario] = {"cluster-commands": commands_of_a_cluster}

if __name__ == "__main__":
    print(asyncio.run(_run_gateway(sys.argv[1], int(sys.argv[2]))))
