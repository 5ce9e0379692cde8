"""Requests to a cluster of two gateways: through the gateway that drives the plant, and through the other one."""

import statistics
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
import psycopg

from benchmarks.estates import plant_id
from benchmarks.load import cpu_seconds, request
from benchmarks.scenarios import ROUNDS, Row, Scenario, at_most, light_path, measure, plugs_path, ratio
from benchmarks.servers import Running, fill, running
from domogate.domain.people import TokenKind
from domogate.domain.shards import SHARDS, shard_of
from support.nats_server import NatsServer
from support.postgres import PostgresServer, postgres_server

_PLANTS = 64
_ORDERS, _CLIENTS = 1_600, 32


class Pair(msgspec.Struct, frozen=True):
    """Two gateways, and the plants that the first one drives."""

    driving: Running
    other: Running
    plants: list[int]

    @property
    def cpu_seconds(self) -> float:
        return cpu_seconds(self.driving.pid) + cpu_seconds(self.other.pid)


@contextmanager
def running_members(folder: Path, settings: dict[str, Any], names: Sequence[str] = ("one", "two")) -> Iterator[list[Running]]:
    """A cluster on the database of the settings. Tokens of one gateway are valid at all of them."""
    nats = NatsServer(folder)
    nats.start()
    # Long times, so that a busy machine refuses nothing.
    patient = {"knowledge_bound": 60.0, "device_deadline": 60.0}
    settings = {**settings, **patient, "nats": [nats.url], "cluster": "bench", "public_url": "http://bench.example"}
    with ExitStack() as members:
        members.callback(nats.stop)
        yield [members.enter_context(running("gateway", data=folder / name, **settings)) for name in names]


def shared_settings(server: PostgresServer) -> dict[str, Any]:
    """The settings of gateways on an empty database of this server."""
    given = server.settings_for_a_gateway()
    return {"database": given["DOMOGATE_DATABASE"], "secret_key": given["DOMOGATE_SECRET_KEY"]}


@contextmanager
def _running_pair(folder: Path, server: PostgresServer, settings: dict[str, Any]) -> Iterator[Pair]:
    with running_members(folder, settings) as (one, two):
        names = _wait_for_holders(server)
        held = [n for n in range(_PLANTS) if names[shard_of(plant_id(n))].endswith(f":{one.port}")]
        yield Pair(one, two, held[:20])


def _wait_for_holders(server: PostgresServer) -> dict[int, str]:
    """Wait until both gateways have their share. Return the gateway of each shard."""
    query = "SELECT shard, name FROM shards JOIN leases ON id = holder"
    with psycopg.connect(f"host={server.socket.parent} user=postgres dbname=postgres", autocommit=True) as connection:
        while True:
            names: dict[int, str] = dict(connection.execute(query).fetchall())
            if len(names) == SHARDS and min(Counter(names.values()).values()) < SHARDS:
                return names
            time.sleep(0.1)


async def _pairs() -> AsyncIterator[Pair]:
    with TemporaryDirectory() as folder, postgres_server() as server:
        settings = shared_settings(server)
        await fill(Path(folder) / "fill", plants=_PLANTS, modules=100, **settings)
        with _running_pair(Path(folder), server, settings) as pair:
            yield pair


async def reads() -> AsyncIterator[Row]:
    """E8 of the same lights through both gateways."""
    async for pair in _pairs():
        lights = [light_path(plant, number) for plant in pair.plants for number in range(8)]
        here, there = ([request("GET", path, one.headers()) for path in lights] for one in (pair.driving, pair.other))
        cost = await ratio(pair.driving, here, pair.other, there)
        yield at_most("E8 CPU through a gateway that does not drive the plant / through the one that does", cost, 1.15)


async def orders() -> AsyncIterator[Row]:
    """E1 of the same plugs through both gateways. The CPU time of both gateways counts."""
    async for pair in _pairs():
        in_process = await _order_cost(pair, pair.driving)
        over_nats = await _order_cost(pair, pair.other)
        ratios, costs = [], []
        for _ in range(ROUNDS):
            in_process, over_nats = await _order_cost(pair, pair.driving), await _order_cost(pair, pair.other)
            ratios.append(over_nats / in_process)
            costs.append((over_nats, in_process))
        found = statistics.median(ratios)
        most = 1.5
        over_nats, in_process = (statistics.median(each) for each in zip(*costs, strict=True))
        figure = f"{found:.2f} ({over_nats * 1000:.2f} ms / {in_process * 1000:.2f} ms)"
        yield Row("E1 CPU of both gateways: over NATS / in process", figure, f"<= {most}", found <= most)


async def _order_cost(pair: Pair, gateway: Running) -> float:
    """Return the CPU-seconds of both gateways for an order that this gateway receives."""
    headers = gateway.headers(TokenKind.ACCESS)
    sent = [
        request("POST", plugs_path(plant, room), headers, b'{"status":"%s"}' % status)
        for status in (b"on", b"off")
        for plant in pair.plants
        for room in range(10)
    ]
    before = pair.cpu_seconds
    load = await measure(gateway, sent, total=_ORDERS, connections=_CLIENTS)
    return (pair.cpu_seconds - before) / load.requests


CLUSTER_REQUESTS: dict[str, Scenario] = {"cluster-reads": reads, "cluster-orders": orders}
