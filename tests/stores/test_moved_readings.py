"""Readings that version 0.1 stored by the hour are moved into the present table."""

import pytest
from sqlalchemy import delete, insert, select

from domogate.domain.states import Reading, Report, Unit
from domogate.stores import SqlStore, recorder, retention
from domogate.stores.engine import Transaction
from domogate.stores.readings import HOUR_MS
from domogate.stores.subject import writes
from domogate.stores.tables.devices import raw_readings, recent_readings
from support.clocks import NOW
from support.stores import HOUSE, PLUG

HOUR = 3600.0
FOR_EVER = 10 * NOW


def watt(value: float, at: float) -> tuple[str, Reading]:
    return "power", Reading(value, Unit.WATT, at)


async def measure(store: SqlStore, *kept: tuple[str, Reading]) -> None:
    await store.record([Report(HOUSE.id, PLUG.id, NOW, readings=kept)])


async def measure_as_version_0_1(store: SqlStore, *kept: tuple[str, Reading]) -> None:
    """Store readings as version 0.1 does: by the hour."""
    await measure(store, *kept)

    def move(tx: Transaction) -> None:
        found = tx.connection.execute(select(recent_readings)).all()
        moments = [(slot * recorder.SLOT_MS + ms, series, value) for slot, series, ms, value in found]
        rows = [
            {"hour": moment // HOUR_MS, "series": series, "ms": moment % HOUR_MS, "value": value}
            for moment, series, value in moments
        ]
        tx.connection.execute(insert(raw_readings), rows)
        tx.connection.execute(delete(recent_readings))

    await writes(move)(store)


class TestReadingsOfVersion01:
    async def test_are_moved_before_old_readings_are_summarised(self, filled_store: SqlStore) -> None:
        kept = [watt(n, NOW + n * 599.999) for n in range(40)]
        await measure_as_version_0_1(filled_store, *kept)
        assert await filled_store.list_readings(PLUG.id, 0, FOR_EVER, 99) == []
        await filled_store.summarise_readings(0)
        assert await filled_store.list_readings(PLUG.id, 0, FOR_EVER, 99) == [
            watt(value.value, round(value.at, 3)) for _, value in kept
        ]
        await filled_store.summarise_readings(NOW + 2 * HOUR)
        assert len(await filled_store.list_readings(PLUG.id, 0, FOR_EVER, 99)) == 40 - 13
        assert sum(hour.count for hour in await filled_store.list_summaries(PLUG.id, 0, FOR_EVER, HOUR, 99)) == 40

    async def test_do_not_replace_a_newer_one_of_the_same_millisecond(self, filled_store: SqlStore) -> None:
        await measure_as_version_0_1(filled_store, watt(1, NOW), watt(2, NOW + 1))
        await measure(filled_store, watt(3, NOW + 1))
        await filled_store.summarise_readings(0)
        assert await filled_store.list_readings(PLUG.id, 0, FOR_EVER, 99) == [watt(1, NOW), watt(3, NOW + 1)]

    async def test_are_moved_in_bounded_pieces_the_newest_first(
        self, filled_store: SqlStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(retention, "PIECE", 10)
        kept = [watt(n, NOW + n * 250) for n in range(35)]
        await measure_as_version_0_1(filled_store, *kept)
        for moved in (10, 20, 30, 35):
            assert await writes(retention.move_earlier)(filled_store) == (moved < 35)
            assert await filled_store.list_readings(PLUG.id, 0, FOR_EVER, 99) == kept[-moved:]
        assert not await writes(retention.move_earlier)(filled_store)
