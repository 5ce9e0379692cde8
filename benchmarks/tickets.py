"""Redeeming tickets, compared with the most that are possible (one signature check, three durable writes), and refusals."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from benchmarks.estates import USER, build_plant, plant_id
from benchmarks.load import request, run_load
from benchmarks.scenarios import Row, Scenario, at_least, get, light_path, measure
from benchmarks.servers import Running, fill, running
from domogate.app import open_tools
from domogate.domain.commands import OpenLock, Order, OrderEnd, OrderState
from domogate.domain.devices import DeviceKind
from domogate.domain.estate import Estate
from domogate.domain.ids import Id, new_id
from domogate.domain.plants import Module
from domogate.domain.states import LockState, Report
from domogate.settings import Settings

_LOCKS = 8
_CLIENTS = 8
_WARM, _REDEMPTIONS = 80, 800
_FLOOD = 6_000
_AT_ONCE = 8
_WRITES = 400


def _lock_id(number: int) -> Id:
    return Id(f"00000000-0000-4000-8000-{1000 + number:012}")


def _ticket_path(number: int) -> str:
    return (
        f"/doorentry-b/v1.0/lock/automation/addressLocation/plants/{plant_id(0)}"
        f"/modules/parameter/id/value/{_lock_id(number % _LOCKS)}/ticket"
    )


async def tickets() -> AsyncIterator[Row]:
    with TemporaryDirectory() as folder, TemporaryDirectory() as other:
        await _fill(Path(folder))
        with running("gateway", data=folder) as gateway:
            rate = await _redeem(gateway)
            yield await _flood(gateway)
        bound = await _bound(Path(other))
    what = "tickets redeemed per CPU-second / the most that are possible with one signature check and three durable writes"
    yield at_least(what, rate / bound, 0.25, f" ({rate:,.0f} / {bound:,.0f})")


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
    """A refused ticket costs about as much as a read, because signatures are no longer checked after a hundred refusals."""
    hot = [request("GET", light_path(0, number % 8), gateway.headers()) for number in range(8)]
    head, body, signature = _mint(gateway, 0).split(".")
    forged = _show(f"{head}.{body}.{signature[::-1]}")
    await measure(gateway, hot, total=2_000, connections=2)
    idle = await measure(gateway, hot, total=_FLOOD, connections=2)
    refused = await run_load(gateway.port, gateway.pid, [forged], total=_FLOOD, connections=2)
    if set(refused.statuses) - {401, 429}:
        raise RuntimeError(f"unexpected answers: {refused.statuses}")
    part = refused.per_cpu_second / idle.per_cpu_second
    detail = (
        f" ({refused.per_cpu_second:,.0f} / {idle.per_cpu_second:,.0f}; signatures checked: {refused.statuses.get(401, 0)})"
    )
    return at_least("forged tickets refused / E8 hot reads, per CPU-second", part, 0.4, detail)


async def _bound(data: Path) -> float:
    """The CPU time of one signature check and of the writes with shared commits. Each is measured separately."""
    await _fill(data)
    async with open_tools(Settings(data=data)) as tools:
        signer = await tools.open_signer()
        signed = await signer.sign({"sub": USER.id, "jti": new_id(), "module": _lock_id(0)}, typ="ticket+jwt")
        started = time.process_time()
        for _ in range(_WRITES):
            await signer.read(signed, typ="ticket+jwt")
        proof = (time.process_time() - started) / _WRITES
        store, now = tools.store, tools.clock.now()

        async def use(_: int) -> None:
            await store.use_ticket(new_id(), now + 60)

        async def order(number: int) -> None:
            lock = _lock_id(number % _LOCKS)
            kept = Order(new_id(), plant_id(0), lock, OpenLock(), now + 5)
            await store.add_orders((kept,), now, sent=True)
            report = Report(plant_id(0), lock, now + number, state=LockState(locked=False))
            await store.end_order(kept.plant_id, OrderEnd(kept.id, OrderState.CONFIRMED, now), report)

        writes = await _cpu_each(use) + await _cpu_each(order)
    return 1 / (proof + writes)


async def _cpu_each(work: Callable[[int], Awaitable[None]]) -> float:
    started = time.process_time()
    for begin in range(0, _WRITES, _AT_ONCE):
        await asyncio.gather(*(work(begin + number) for number in range(_AT_ONCE)))
    return (time.process_time() - started) / _WRITES


def _mint(gateway: Running, number: int) -> str:
    body, _ = get(gateway, _ticket_path(number))
    ticket: str = json.loads(body)["locks"][0]["ticket"]
    return ticket


def _show(ticket: str) -> bytes:
    return request("POST", "/tickets/redeem", {"User-Agent": "bench/1"}, json.dumps({"ticket": ticket}).encode())


TICKETS: dict[str, Scenario] = {"tickets": tickets}
