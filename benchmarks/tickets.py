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
from benchmarks.scenarios import SETTLE, Row, Scenario, at_least, get, measure
from benchmarks.servers import Running, fill, running
from domogate.app import open_tools
from domogate.domain.devices import DeviceKind
from domogate.domain.estate import Estate
from domogate.domain.ids import Id
from domogate.domain.plants import Module
from domogate.settings import Settings

_LOCKS = 8
_CLIENTS = 8
_WARM, _REDEMPTIONS = 80, 800
_FLOOD = 6_000


def _lock_id(number: int) -> Id:
    return Id(f"00000000-0000-4000-8000-{1000 + number:012}")


def _ticket_path(number: int) -> str:
    return (
        f"/doorentry-b/v1.0/lock/automation/addressLocation/plants/{plant_id(0)}"
        f"/modules/parameter/id/value/{_lock_id(number % _LOCKS)}/ticket"
    )


async def tickets() -> AsyncIterator[Row]:
    with TemporaryDirectory() as folder:
        await _fill(Path(folder))
        with running("gateway", data=folder) as gateway:
            await asyncio.sleep(SETTLE)
            rate = await _redeem(gateway)
            yield await _flood(gateway)
    # Eight clients can share each of the three commits of a redemption.
    bound = 1 / (cpu_of_verification() + 3 * cpu_of_commit(_CLIENTS) / _CLIENTS)
    what = "tickets redeemed per CPU-second / the most that are possible with one signature check and three durable writes"
    yield at_least(what, rate / bound, 0.28, f" ({rate:,.0f} / {bound:,.0f})")


async def _fill(data: Path) -> None:
    """A hotel with lights and some locks."""
    await fill(data, plants=1, modules=100)
    house = build_plant(0, 100)
    locks = tuple(Module(_lock_id(n), _lock_id(n + _LOCKS), f"Lock {n}", DeviceKind.LOCK) for n in range(_LOCKS))
    house = msgspec.structs.replace(house, topology=msgspec.structs.replace(house.topology, modules=locks))
    async with open_tools(Settings(data=data)) as tools:
        await tools.store.import_estate(Estate(users=(USER,), plants=(house,)), prune=False)


async def _redeem(gateway: Running) -> float:
    """Redeemed tickets per CPU-second. The tickets are made before, and each is used once."""

    async def redeem(count: int) -> float:
        shown = [_show(_mint(gateway, number)) for number in range(count)]
        return (await measure(gateway, shown, total=count, connections=_CLIENTS)).per_cpu_second

    await redeem(_WARM)
    return await redeem(_REDEMPTIONS)


async def _flood(gateway: Running) -> Row:
    """Refuse forged tickets. After 100 refusals the gateway checks no signatures, so a refusal costs less than a check."""
    head, body, signature = _mint(gateway, 0).split(".")
    forged = _show(f"{head}.{body}.{signature[::-1]}")
    refused = await run_load(gateway.port, gateway.pid, [forged], total=_FLOOD, connections=2)
    if set(refused.statuses) - {401, 429}:
        raise RuntimeError(f"unexpected answers: {refused.statuses}")
    checks = 1 / cpu_of_verification()
    what = "forged tickets refused per CPU-second / signatures that can be checked per CPU-second"
    checked = refused.statuses.get(401, 0)
    detail = f" ({refused.per_cpu_second:,.0f} / {checks:,.0f}; signatures checked: {checked} of {refused.requests})"
    return at_least(what, refused.per_cpu_second / checks, 1.0, detail)


def _mint(gateway: Running, number: int) -> str:
    body, _ = get(gateway, _ticket_path(number))
    ticket: str = json.loads(body)["locks"][0]["ticket"]
    return ticket


def _show(ticket: str) -> bytes:
    return request("POST", "/tickets/redeem", {"User-Agent": "bench/1"}, json.dumps({"ticket": ticket}).encode())


TICKETS: dict[str, Scenario] = {"tickets": tickets}
