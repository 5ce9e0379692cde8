"""Hot reads: E8, E12, 304 and a large topology, compared with servers that answer with constant bytes."""

import statistics
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.load import Load, request
from benchmarks.scenarios import (
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
    """The servers are measured in turn, so each ratio compares loads of the same round."""
    with TemporaryDirectory() as folder:
        await fill(Path(folder), plants=PLANTS + 1, modules=100, large=True)
        with running("gateway", data=folder) as gateway:
            light, topology = Path(folder) / "light.json", Path(folder) / "topology.json"
            light.write_bytes(get(gateway, light_path(1, 0))[0])
            whole_body, headers = get(gateway, topology_path(0))
            topology.write_bytes(whole_body)
            sent = gateway.headers()
            lights = [request("GET", light_path(1 + n % PLANTS, n % 8), sent) for n in range(80)]
            thermostats = [request("GET", thermostat_path(1 + n % PLANTS, n % 8), sent) for n in range(80)]
            whole = [request("GET", topology_path(0), sent)]
            known = [request("GET", topology_path(0), {**sent, "If-None-Match": headers["etag"]})]
            with running("stock", body=light) as stock, running("floor", body=light) as floor:
                e8, e12, e7, constant, least = await take_rounds(
                    [
                        Work(gateway, lights),
                        Work(gateway, thermostats),
                        Work(gateway, known),
                        Work(stock, lights),
                        Work(floor, lights),
                    ]
                )
            yield _compared("E8 hot read / stock uvicorn", e8, constant, 1.1)
            yield _compared("E12 hot read / stock uvicorn", e12, constant, 1.0)
            yield _compared("E7 answered 304 / stock uvicorn", e7, constant, 1.2)
            yield _compared("E8 hot read / the floor", e8, least)
            yield _compared("stock uvicorn / the floor", constant, least)
            with running("stock", body=topology) as stock:
                e7, constant = await take_rounds([Work(gateway, whole), Work(stock, whole)])
            yield _compared("E7 of 1,000 modules / stock uvicorn with the same bytes", e7, constant, 0.9)


def _compared(what: str, ones: Sequence[Load], others: Sequence[Load], limit: float | None = None) -> Row:
    found = ratios(ones, others)
    middle = statistics.median(found)
    detail = f" ({min(found):.2f} to {max(found):.2f}){latency(_middle(ones))}"
    return Row(what, f"{middle:.2f}{detail}") if limit is None else at_least(what, middle, limit, detail)


def _middle(loads: Sequence[Load]) -> Load:
    return sorted(loads, key=lambda load: load.per_cpu_second)[len(loads) // 2]


READS: dict[str, Scenario] = {"reads": hot_reads}
