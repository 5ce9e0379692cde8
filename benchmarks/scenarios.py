"""The scenarios of commands, growth and memory, and tools for other scenarios.

A scenario yields the rows of the table, each as soon as it is measured.
"""

import asyncio
import statistics
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.request import Request, urlopen

import msgspec

from benchmarks.bounds import cpu_of_command
from benchmarks.estates import ambient_id, module_id, plant_id
from benchmarks.load import Load, add_loads, request, resident_megabytes, run_load
from benchmarks.servers import Running, fill, running
from domogate.domain.devices import DeviceKind
from domogate.domain.ids import HEX32
from domogate.domain.people import TokenKind

ROUNDS = 9
PROCESSES = 5
"""The number of rounds if each round starts new gateways and waits until they have loaded their plants."""
SLICES = 5
ROUND_CPU = 0.5
"""CPU-seconds. Each server that is compared uses about this much in a round."""
SETTLE = 3.0
"""Seconds. After its start, a gateway loads plants. This work is not measured."""
_SHARING = 14
"""The number of commands that share a commit in the measurement of SQLite alone."""
_LEAST_COMMANDS, _GOAL = 0.31, 4_500
"""The smallest allowed ratio of the commands to the commands that are possible, and the goal per CPU-second."""


class Row(msgspec.Struct, frozen=True):
    """One row of the table. `holds` is None for a row without a limit."""

    what: str
    figure: str
    limit: str = ""
    holds: bool | None = None


Scenario = Callable[[], AsyncIterator[Row]]


def light_path(plant: int, number: int) -> str:
    return (
        f"/homeauto/v1.0/light/lighting/addressLocation/plants/{plant_id(plant)}"
        f"/modules/parameter/id/value/{module_id(plant, DeviceKind.LIGHT, number)}"
    )


def thermostat_path(plant: int, number: int) -> str:
    return (
        f"/thermostat/v2.0/chronothermostat/thermoregulation/addressLocation/plants/{plant_id(plant)}"
        f"/modules/parameter/id/value/{module_id(plant, DeviceKind.CHRONOTHERMOSTAT, number)}"
    )


def plugs_path(plant: int, ambient: int) -> str:
    return (
        f"/homectl/api/v1.0/plug/energy/addressLocation/plants/{HEX32.print_id(plant_id(plant))}"
        f"/ambients/parameter/id/value/{HEX32.print_id(ambient_id(plant, ambient))}"
    )


def topology_path(plant: int) -> str:
    return f"/homeauto/v1.0/plants/{plant_id(plant)}/topology"


def get(server: Running, path: str) -> tuple[bytes, dict[str, str]]:
    asked = Request(f"http://127.0.0.1:{server.port}{path}", headers=server.headers())
    with urlopen(asked, timeout=10) as answer:
        return answer.read(), dict(answer.headers)


async def measure(server: Running, requests: Sequence[bytes], *, total: int = 6_000, connections: int = 8) -> Load:
    load = await run_load(server.port, server.pid, requests, total=total, connections=connections)
    if set(load.statuses) - {200, 304}:
        raise RuntimeError(f"unexpected answers: {load.statuses}")
    return load


class Work(msgspec.Struct, frozen=True):
    """A server and the requests that it gets in each round."""

    server: Running
    requests: Sequence[bytes]
    connections: int = 8


async def take_rounds(works: Sequence[Work], rounds: int = ROUNDS) -> list[list[Load]]:
    """Measure the works in several rounds. Returns the loads of each work.

    A round has several slices, and in each slice all works are measured in turn. So other programs on the machine slow all
    works down in the same way. A first slice warms the servers up and shows how many requests need enough CPU time.
    """
    totals = []
    for work in works:
        await measure(work.server, work.requests, total=1_000, connections=work.connections)
        first = await measure(work.server, work.requests, total=1_000, connections=work.connections)
        totals.append(int(ROUND_CPU / SLICES * first.per_cpu_second) + 8)
    measured = []
    for _ in range(rounds):
        slices = [
            [
                await measure(work.server, work.requests, total=total, connections=work.connections)
                for work, total in zip(works, totals, strict=True)
            ]
            for _ in range(SLICES)
        ]
        measured.append([add_loads(own) for own in zip(*slices, strict=True)])
    return [list(own) for own in zip(*measured, strict=True)]


def ratios(ones: Sequence[Load], others: Sequence[Load]) -> list[float]:
    """The ratio of requests per CPU-second in each round."""
    return [one.per_cpu_second / other.per_cpu_second for one, other in zip(ones, others, strict=True)]


async def ratio_of_processes(
    start_one: Callable[[], AbstractContextManager[Running]],
    start_other: Callable[[], AbstractContextManager[Running]],
    requests_to: Callable[[Running], Sequence[bytes]],
) -> float:
    """The same as `ratio`, but each round starts new servers.

    A process can be slower than another process of the same program for its whole life (see `reads.py`).
    """
    found = []
    for _ in range(PROCESSES):
        with start_one() as one, start_other() as other:
            await asyncio.sleep(SETTLE)
            loads = await take_rounds([Work(one, requests_to(one)), Work(other, requests_to(other))], rounds=1)
            found += ratios(*loads)
    return statistics.median(found)


async def ratio(one: Running, ones: Sequence[bytes], other: Running, others: Sequence[bytes]) -> float:
    """The median of the ratios of requests per CPU-second of `one` to those of `other`."""
    return statistics.median(ratios(*await take_rounds([Work(one, ones), Work(other, others)])))


def at_least(what: str, figure: float, bound: float, detail: str = "") -> Row:
    return Row(what, f"{figure:.2f}{detail}", f">= {bound}", figure >= bound)


def compare_rounds(
    what: str, rates: Sequence[float], possible: Sequence[float], bound: float, detail: str = "", *, goal: int | None = None
) -> Row:
    """The median of the ratios of the rounds, with the smallest and the largest ratio.

    `goal` is a number per CPU-second. The row also holds if this machine reaches the goal: some processors are so fast at
    signatures, or at the work of SQLite, that the ratio is small although the gateway is fast enough.
    """
    found = sorted(rate / most for rate, most in zip(rates, possible, strict=True))
    span = f" ({found[0]:.2f} to {found[-1]:.2f})" if len(found) > 1 else ""
    rate = statistics.median(rates)
    figures = f" ({rate:,.0f} / {statistics.median(possible):,.0f}{detail})"
    row = at_least(what, statistics.median(found), bound, span + figures)
    if goal is None:
        return row
    return msgspec.structs.replace(row, limit=f"{row.limit} or >= {goal:,} per CPU-second", holds=row.holds or rate >= goal)


def at_most(what: str, figure: float, bound: float, unit: str = "") -> Row:
    return Row(what, f"{figure:.2f}{unit}", f"<= {bound}{unit}", figure <= bound)


def median_at_most(what: str, figures: Sequence[float], bound: float, unit: str = "") -> Row:
    """The median of the rounds, with the smallest and the largest figure."""
    middle = statistics.median(figures)
    return Row(what, f"{middle:.2f}{unit} ({min(figures):.2f} to {max(figures):.2f})", f"<= {bound}{unit}", middle <= bound)


def latency(load: Load) -> str:
    return (
        f" ({load.per_cpu_second:,.0f} per CPU-second; p50 {load.percentile(0.5) * 1000:.2f} ms,"
        f" p99 {load.percentile(0.99) * 1000:.2f} ms)"
    )


async def durable_commands() -> AsyncIterator[Row]:
    """E1 from 32 clients: the number of commits, and the speed compared with one commit per command."""
    rates = {}
    for fsync in (0.0, 0.002):
        for one_commit_each in (True, False):
            with TemporaryDirectory() as folder:
                await fill(Path(folder), plants=32, modules=100)
                how = {"one_commit_each": one_commit_each, "fsync": fsync, "count_commits": True}
                with running("gateway", data=folder, **how) as gateway:
                    headers = gateway.headers(TokenKind.ACCESS)
                    orders = [
                        request("POST", plugs_path(plant, room), headers, b'{"status":"%s"}' % status)
                        for status in (b"on", b"off")
                        for plant in range(32)
                        for room in range(10)
                    ]
                    await measure(gateway, orders, total=640, connections=32)
                    await asyncio.sleep(0.3)
                    commits = gateway.commits()
                    load = await measure(gateway, orders, total=3_200, connections=32)
                    await asyncio.sleep(0.3)
                    share = (gateway.commits() - commits) / load.requests
                    rates[fsync, one_commit_each] = load.per_second
                    if not one_commit_each and not fsync:
                        yield at_most("E1 from 32 clients: commits per command", share, 0.15)
                        yield Row("E1 from 32 clients: durable commands per second", f"{load.per_second:,.0f}{latency(load)}")
                        yield compare_rounds(
                            "durable commands per CPU-second / the most that are possible with stock uvicorn and the rows of a"
                            " command",
                            *await _compare_with_most(gateway, orders),
                            _LEAST_COMMANDS,
                            goal=_GOAL,
                        )
        speedup = rates[fsync, False] / rates[fsync, True]
        what = "E1, shared commits / one commit each" + (f", with an fsync of {fsync * 1000:.0f} ms" if fsync else "")
        yield at_least(what, speedup, 8 if fsync else 1.8)


async def _compare_with_most(gateway: Running, orders: Sequence[bytes]) -> tuple[list[float], list[float]]:
    """The commands per CPU-second in several rounds, and the most that are possible in each round.

    The most are possible if a command is only a request to stock uvicorn and its rows in SQLite.
    """
    commands, most = [], []
    with TemporaryDirectory() as folder:
        nothing = Path(folder) / "nothing"
        nothing.touch()
        with running("stock", body=nothing) as stock:
            await measure(stock, orders, total=640, connections=32)
            for _ in range(ROUNDS):
                commands.append((await measure(gateway, orders, total=1_280, connections=32)).per_cpu_second)
                requests = (await measure(stock, orders, total=3_200, connections=32)).per_cpu_second
                most.append(1 / (1 / requests + cpu_of_command(_SHARING)))
    return commands, most


async def growth() -> AsyncIterator[Row]:
    """The same reads with 100 and with 100,000 modules stored; memory, start-up time and the cost of a cache miss."""
    with TemporaryDirectory() as small, TemporaryDirectory() as large:
        await fill(Path(small), plants=1, modules=100)
        await fill(Path(large), plants=1_000, modules=100)
        cost = await ratio_of_processes(
            lambda: running("gateway", data=small), lambda: running("gateway", data=large), _read_lights
        )
        yield at_most("E8 CPU with 100,000 modules stored / with 100", cost, 1.2)
        with running("gateway", data=large) as many:
            await asyncio.sleep(SETTLE)
            await measure(many, _read_lights(many))
            yield at_most("start-up with 100,000 modules in 1,000 plants", many.started_in, 3.0, " s")
            yield at_most("memory with 100,000 modules in 1,000 plants stored", resident_megabytes(many.pid), 400, " MB")
        with running("gateway", data=large, world_modules=1, simulator_awake_plants=1) as cold:
            spread = [request("GET", light_path(plant, 0), cold.headers()) for plant in range(1_000)]
            first = await measure(cold, spread, total=1_000, connections=8)
            # The first reads asked the devices. So the states are fresh now, but the plants are not held.
            loads = [await measure(cold, spread, total=500, connections=8) for _ in range(ROUNDS)]
            costs = [load.cpu_seconds / load.requests * 1000 for load in loads]
            yield median_at_most("E8 on a plant of 100 modules that is not held", costs, 3, " ms CPU")
            cost = first.cpu_seconds / first.requests * 1000
            yield Row(
                "E8 on a plant of 100 modules that is not held, if the simulator must be attached and asked",
                f"{cost:.2f} ms CPU",
            )


def _read_lights(server: Running) -> list[bytes]:
    return [request("GET", light_path(0, number), server.headers()) for number in range(80)]


async def demo_memory() -> AsyncIterator[Row]:
    """Idle memory with the demo estate after warm-up."""
    with TemporaryDirectory() as folder:
        ready = Path(folder) / "ready.json"
        process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "domogate.cli",
                "demo",
                "--port",
                "0",
                "--data",
                f"{folder}/data",
                "--ready-file",
                str(ready),
            ],
            stdout=subprocess.DEVNULL,
        )
        try:
            while not ready.exists():
                if process.poll() is not None:
                    raise RuntimeError("the demo did not start")
                time.sleep(0.05)
            found = msgspec.json.decode(ready.read_bytes())
            headers = {"Ocp-Apim-Subscription-Key": found["subscription_key"]}
            for user in found["users"]:
                if user.get("id_token"):
                    _warm_up(found["base_url"], headers | {"Authorization": user["id_token"]})
            await asyncio.sleep(8)
            yield at_most("idle memory with the demo estate", resident_megabytes(process.pid), 95, " MB")
        finally:
            process.terminate()
            process.wait(30)


def _warm_up(base_url: str, headers: dict[str, str]) -> None:
    with urlopen(Request(f"{base_url}/homeauto/v1.0/plants", headers=headers), timeout=10) as answer:
        body = answer.read()
    for plant in msgspec.json.decode(body)["plants"] if body else ():
        if plant["status"] == "Active":
            url = f"{base_url}/homeauto/v1.0/plants/{plant['id']}/topology"
            urlopen(Request(url, headers=headers), timeout=10).close()


SCENARIOS: dict[str, Scenario] = {
    "commands": durable_commands,
    "growth": growth,
    "memory": demo_memory,
}
