"""Hot reads: E8, E12, 304 and a large topology, compared with servers that answer with constant bytes."""

import statistics
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.load import Load, request
from benchmarks.scenarios import (
    ROUNDS,
    Row,
    Scenario,
    Work,
    at_least,
    get,
    latency,
    light_path,
    ratios,
    take_rounds,
    thermostat_path,
    topology_path,
)
from benchmarks.servers import fill, running

PLANTS = 10


async def hot_reads() -> AsyncIterator[Row]:
    """Each round starts new servers and measures them in turn, so each ratio compares loads of the same round.

    The addresses of a process in memory are random, and on some virtual machines they make a process up to 1.6 times slower for
    its whole life. So one process is only one sample.
    """
    with TemporaryDirectory() as folder:
        data = Path(folder)
        await fill(data, plants=PLANTS + 1, modules=100, large=True)
        rounds = [await _take_round(data) for _ in range(ROUNDS)]
    e8, e12, not_modified, constant, floor, topology, constant_topology = zip(*rounds, strict=True)
    yield _compared("E8 hot read / stock uvicorn", e8, constant, 1.1)
    yield _compared("E12 hot read / stock uvicorn", e12, constant, 1.0)
    yield _compared("E7 answered 304 / stock uvicorn", not_modified, constant, 1.2)
    yield _compared("E8 hot read / the floor", e8, floor)
    yield _compared("stock uvicorn / the floor", constant, floor)
    yield _compared("E7 of 1,000 modules / stock uvicorn with the same bytes", topology, constant_topology, 0.9)


async def _take_round(data: Path) -> list[Load]:
    with running("gateway", data=data) as gateway:
        light, topology = data / "light.json", data / "topology.json"
        light.write_bytes(get(gateway, light_path(1, 0))[0])
        whole_body, headers = get(gateway, topology_path(0))
        topology.write_bytes(whole_body)
        sent = gateway.headers()
        lights = [request("GET", light_path(1 + n % PLANTS, n % 8), sent) for n in range(80)]
        thermostats = [request("GET", thermostat_path(1 + n % PLANTS, n % 8), sent) for n in range(80)]
        whole = [request("GET", topology_path(0), sent)]
        known = [request("GET", topology_path(0), {**sent, "If-None-Match": headers["etag"]})]
        with (
            running("stock", body=light) as stock,
            running("floor", body=light) as floor,
            running("stock", body=topology) as large_stock,
        ):
            works = [
                Work(gateway, lights),
                Work(gateway, thermostats),
                Work(gateway, known),
                Work(stock, lights),
                Work(floor, lights),
                Work(gateway, whole),
                Work(large_stock, whole),
            ]
            return [load for (load,) in await take_rounds(works, rounds=1)]


def _compared(what: str, ones: Sequence[Load], others: Sequence[Load], limit: float | None = None) -> Row:
    found = ratios(ones, others)
    middle = statistics.median(found)
    detail = f" ({min(found):.2f} to {max(found):.2f}){latency(_middle(ones))}"
    return Row(what, f"{middle:.2f}{detail}") if limit is None else at_least(what, middle, limit, detail)


def _middle(loads: Sequence[Load]) -> Load:
    return sorted(loads, key=lambda load: load.per_cpu_second)[len(loads) // 2]


READS: dict[str, Scenario] = {"reads": hot_reads}
