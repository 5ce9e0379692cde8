"""Writes of several gateways that have a lock of their own: they follow each other, and do not stop other writes."""

import asyncio
from collections.abc import Awaitable, Callable

import psycopg
import pytest
from sqlalchemy import make_url

from domogate.domain.attempts import Attempt, Limit
from domogate.domain.audit import AuditEntry
from domogate.ports import Usage
from domogate.services.audit.trail import AuditTrail
from domogate.stores import SqlStore
from domogate.stores.write_lock import WriteLock
from support.clocks import NOW
from support.houses import houses, lamp_on
from support.stores import KEY, SMALL, HeldStore, OpenStore

pytestmark = pytest.mark.slow

LOCK = 0x646F6D6F67617465
LIMIT = Limit(allowance=10, first_wait=60.0, longest_wait=60.0, half_life=600.0)
ATTEMPT = Attempt("a:anna", "n:home", "f:anna", LIMIT, LIMIT, 60.0)
DAY = "2026-11-15"


def an_entry(number: int) -> AuditEntry:
    return AuditEntry(NOW + number, "login", "user:x", f"number {number}", "ok", "", {})


@pytest.fixture
async def stores(open_store: OpenStore, postgres_url: str) -> list[HeldStore]:
    """Three members of a cluster. The first two have a house each."""
    opened = [await open_store(postgres_url, HeldStore, member=True) for _ in range(3)]
    await opened[0].import_estate(houses(2), prune=False)
    await opened[0].import_estate(SMALL, prune=False)
    return [store for store in opened if isinstance(store, HeldStore)]


async def test_gateways_write_side_by_side_and_nothing_is_lost_or_counted_twice(stores: list[HeldStore]) -> None:
    rounds = 15

    async def write(number: int, store: SqlStore) -> list[float]:
        waits = []
        for turn in range(rounds):
            results = await asyncio.gather(
                store.append_audit([an_entry(turn), an_entry(turn)]),
                store.add_usage([Usage(KEY.id, DAY, 2)]),
                store.admit_attempt(ATTEMPT, NOW),
                *([store.record([lamp_on(turn, number)])] if number < 2 else []),
            )
            waits.append(results[2].seconds)
        return waits

    waits = await asyncio.gather(*(write(number, store) for number, store in enumerate(stores)))
    verified = await AuditTrail(stores[0]).verify()
    assert verified.broken is None
    assert verified.records == 3 * rounds * 2
    assert await stores[0].find_usage(KEY.id, DAY) == 3 * rounds * 2
    assert sum(wait <= 0 for each in waits for wait in each) == LIMIT.allowance


@pytest.mark.parametrize("lock", [WriteLock.AUDIT, WriteLock.USAGE, WriteLock.ATTEMPTS])
async def test_a_held_lock_stops_only_its_own_writes(stores: list[HeldStore], postgres_url: str, lock: WriteLock) -> None:
    url = make_url(postgres_url).set(drivername="postgresql").render_as_string(hide_password=False)
    first, second, _ = stores
    with psycopg.connect(url) as other:
        # Another gateway is in the middle of such a write.
        other.execute(f"SELECT pg_advisory_xact_lock_shared({LOCK}), pg_advisory_xact_lock({LOCK + lock})")
        writes: dict[WriteLock, Callable[[], Awaitable[object]]] = {
            WriteLock.AUDIT: lambda: first.append_audit([an_entry(1)]),
            WriteLock.USAGE: lambda: first.add_usage([Usage(KEY.id, DAY, 1)]),
            WriteLock.ATTEMPTS: lambda: first.admit_attempt(ATTEMPT, NOW),
        }
        waiting = asyncio.ensure_future(writes[lock]())
        await second.record([lamp_on(1, 1)])
        assert not waiting.done()
        other.commit()
        await waiting


async def test_an_audit_write_does_not_wait_for_a_report_of_another_gateway(stores: list[HeldStore]) -> None:
    first, second, _ = stores
    held = await first.hold(first.record([lamp_on(1, 0)]))
    await second.append_audit([an_entry(1)])
    assert not held.done()
    first.released.set()
    await held
