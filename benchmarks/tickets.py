"""Redeeming tickets, compared with the most that are possible (one signature check, three durable writes), and refusals."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from benchmarks.bounds import cpu_of_commit, cpu_of_verification
from benchmarks.estates import USER, build_plant, plant_id
from benchmarks.load import request, run_load
from benchmarks.scenarios import SETTLE, Row, Scenario, compare_rounds, get, measure
from benchmarks.servers import Running, fill, running
from domogate.app import open_tools
from domogate.domain.devices import DeviceKind
from domogate.domain.estate import Estate
from domogate.domain.ids import Id
from domogate.domain.plants import Module
from domogate.settings import Settings

_LOCKS = 8
_CLIENTS = 8
_ROUNDS = 9
_WARM, _REDEMPTIONS = 80, 96
"""The redemptions before the measurement, and in each round."""
_FLOOD = 600
_BOUND_TIMES = 150


def _lock_id(number: int) -> Id:
    return Id(f"00000000-0000-4000-8000-{1000 + number:012}")


def _ticket_path(number: int) -> str:
    return (
        f"/doorentry-b/v1.0/lock/automation/addressLocation/plants/{plant_id(0)}"
        f"/modules/parameter/id/value/{_lock_id(number % _LOCKS)}/ticket"
    )


async def tickets() -> AsyncIterator[Row]:
    """In each round, the gateway and the bound are measured one after the other, because other programs slow both down."""
    redeemed, possible = [], []
    with TemporaryDirectory() as folder:
        await _fill(Path(folder))
        with running("gateway", data=folder) as gateway:
            await asyncio.sleep(SETTLE)
            await _redeem(gateway, _WARM)
            for _ in range(_ROUNDS):
                redeemed.append(await _redeem(gateway, _REDEMPTIONS))
                # Eight clients can share a commit. A redemption has two commits; the bound still has three (Decision 0141).
                commit = cpu_of_commit(_CLIENTS, _BOUND_TIMES) / _CLIENTS
                possible.append(1 / (cpu_of_verification(_BOUND_TIMES) + 3 * commit))
            yield await _flood(gateway)
    what = "tickets redeemed per CPU-second / the most that are possible with one signature check and three durable writes"
    yield compare_rounds(what, redeemed, possible, 0.28, goal=1_200)


async def _fill(data: Path) -> None:
    """A hotel with lights and some locks."""
    await fill(data, plants=1, modules=100)
    house = build_plant(0, 100)
    locks = tuple(Module(_lock_id(n), _lock_id(n + _LOCKS), f"Lock {n}", DeviceKind.LOCK) for n in range(_LOCKS))
    house = msgspec.structs.replace(house, topology=msgspec.structs.replace(house.topology, modules=locks))
    async with open_tools(Settings(data=data)) as tools:
        await tools.store.import_estate(Estate(users=(USER,), plants=(house,)), prune=False)


async def _redeem(gateway: Running, count: int) -> float:
    """Redeemed tickets per CPU-second. The tickets are made before, and each is used once."""
    shown = [_show(_mint(gateway, number)) for number in range(count)]
    return (await measure(gateway, shown, total=count, connections=_CLIENTS)).per_cpu_second


async def _flood(gateway: Running) -> Row:
    """Refuse forged tickets. After 100 refusals the gateway checks no signatures, so a refusal costs less than a check."""
    head, body, signature = _mint(gateway, 0).split(".")
    forged = _show(f"{head}.{body}.{signature[::-1]}")
    rates, checks, checked = [], [], 0
    for _ in range(_ROUNDS):
        refused = await run_load(gateway.port, gateway.pid, [forged], total=_FLOOD, connections=2)
        if set(refused.statuses) - {401, 429}:
            raise RuntimeError(f"unexpected answers: {refused.statuses}")
        rates.append(refused.per_cpu_second)
        checks.append(1 / cpu_of_verification(_BOUND_TIMES))
        checked += refused.statuses.get(401, 0)
    what = "forged tickets refused per CPU-second / signatures that can be checked per CPU-second"
    return compare_rounds(what, rates, checks, 1.0, f"; signatures checked: {checked} of {_ROUNDS * _FLOOD}")


def _mint(gateway: Running, number: int) -> str:
    body, _ = get(gateway, _ticket_path(number))
    ticket: str = json.loads(body)["locks"][0]["ticket"]
    return ticket


def _show(ticket: str) -> bytes:
    return request("POST", "/tickets/redeem", {"User-Agent": "bench/1"}, json.dumps({"ticket": ticket}).encode())


TICKETS: dict[str, Scenario] = {"tickets": tickets}
