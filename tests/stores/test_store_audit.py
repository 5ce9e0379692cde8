"""The audit log is a chain without gaps, also with several writers. Pseudonyms in it."""

import asyncio

import msgspec
import pytest
from sqlalchemy import text

from domogate.domain.audit import (
    GENESIS,
    AuditEntry,
    AuditRecord,
    Removal,
    UnreadableRecord,
    chain,
    find_removal,
)
from domogate.stores import SqlStore, audit
from domogate.stores.subject import writes
from support.clocks import DAY, NOW, ManualClock
from support.stores import ANNA, BRUNO, OpenStore, an_id


def an_entry(number: int) -> AuditEntry:
    return AuditEntry(NOW + number / 3, "log in", f"person {number}", "session", "ok", "::1", {"nonce": "é\0", "a": "b"})


def check_chain(records: list[AuditRecord]) -> None:
    previous = GENESIS
    for number, record in enumerate(records, 1):
        assert record.number == number
        assert record.hash == chain(previous, number, record.entry)
        previous = record.hash


class TestAudit:
    async def test_entries_are_chained_in_the_order_they_were_appended(self, store: SqlStore) -> None:
        entries = [an_entry(number) for number in range(5)]
        await store.append_audit(entries[:1])
        await store.append_audit([])
        await store.append_audit(entries[1:])
        records = list(await store.list_audit(0, 10))
        assert [record.entry for record in records] == entries
        check_chain(records)

    async def test_they_are_listed_page_by_page(self, store: SqlStore) -> None:
        await store.append_audit([an_entry(number) for number in range(5)])
        assert [record.number for record in await store.list_audit(0, 2)] == [1, 2]
        assert [record.number for record in await store.list_audit(2, 2)] == [3, 4]
        assert [record.number for record in await store.list_audit(5, 2)] == []
        assert [record.number for record in await store.list_newest_audit(99, 2)] == [5, 4]
        assert [record.number for record in await store.list_newest_audit(3, 9)] == [2, 1]

    async def test_a_whole_second_is_hashed_as_it_will_be_read(self, store: SqlStore) -> None:
        await store.append_audit([AuditEntry(int(NOW), "log in", "x", "y", "ok")])
        check_chain(list(await store.list_audit(0, 10)))

    async def test_a_record_that_was_changed_no_longer_fits(self, store: SqlStore) -> None:
        await store.append_audit([an_entry(number) for number in range(3)])
        forge = text("UPDATE audit SET entry = REPLACE(entry, 'person 1', 'person 7') WHERE number = 2")
        await writes(lambda tx: tx.connection.execute(forge))(store)
        with pytest.raises(AssertionError):
            check_chain(list(await store.list_audit(0, 10)))

    async def test_a_failed_neighbour_leaves_no_gap(self, store: SqlStore) -> None:
        bad = AuditEntry(NOW, "log in", "\ud800", "y", "ok")
        results = await asyncio.gather(
            store.append_audit([an_entry(1)]),
            store.append_audit([an_entry(2), bad]),
            store.append_audit([an_entry(3)]),
            return_exceptions=True,
        )
        assert [isinstance(result, UnicodeError) for result in results] == [False, True, False]
        records = list(await store.list_audit(0, 10))
        assert [record.entry for record in records] == [an_entry(1), an_entry(3)]
        check_chain(records)

    async def test_two_processes_append_to_one_chain(self, open_store: OpenStore, database_url: str) -> None:
        stores = [await open_store(database_url), await open_store(database_url)]
        await asyncio.gather(*(stores[number % 2].append_audit([an_entry(number)] * 2) for number in range(50)))
        records = list(await stores[0].list_audit(0, 1000))
        assert len(records) == 100
        check_chain(records)


class TestRemovingOldRecords:
    @pytest.fixture
    async def full(self, store: SqlStore) -> SqlStore:
        await store.append_audit([AuditEntry(NOW - 100 + number, "log in", "x", str(number), "ok") for number in range(20)])
        return store

    async def test_the_oldest_go_and_a_record_says_up_to_where(self, full: SqlStore) -> None:
        gone = (await full.list_audit(7, 1))[0]
        await full.prune_audit(NOW - 100 + 8)
        records = await full.list_audit(0, 100)
        assert [record.number for record in records] == list(range(9, 22))
        assert records[-1].entry.at == NOW
        assert find_removal(records[-1].entry) == Removal(8, gone.hash)
        assert chain(gone.hash, 9, records[0].entry) == records[0].hash

    async def test_nothing_is_noted_when_nothing_goes(self, full: SqlStore) -> None:
        await full.prune_audit(NOW - 100)
        assert len(await full.list_audit(0, 100)) == 20

    async def test_an_empty_log_stays_empty(self, store: SqlStore) -> None:
        await store.prune_audit(NOW)
        assert await store.list_audit(0, 100) == []

    async def test_when_all_go_the_chain_goes_on_where_it_was(self, full: SqlStore) -> None:
        (last,) = await full.list_audit(19, 1)
        await full.prune_audit(NOW)
        await full.append_audit([an_entry(1)])
        removal, following = await full.list_audit(0, 100)
        assert (removal.number, following.number) == (21, 22)
        assert removal.hash == chain(last.hash, 21, removal.entry)
        assert following.hash == chain(removal.hash, 22, following.entry)

    async def test_records_of_a_time_when_the_clock_was_far_ahead_go_with_those_that_follow(
        self, store: SqlStore, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(audit, "PRUNE_CHUNK", 4)
        times = [*(NOW + 400 * DAY + n for n in range(9)), NOW, NOW + 1, NOW + 20 * DAY]
        await store.append_audit([msgspec.structs.replace(an_entry(1), at=at) for at in times])
        await store.prune_audit(NOW - DAY)
        assert len(await store.list_audit(0, 100)) == len(times), "they are as new as the record after them"
        clock.at = NOW + 20 * DAY
        await store.prune_audit(clock.at - 10 * DAY)
        assert [record.number for record in await store.list_audit(0, 100)] == [12, 13]

    async def test_in_pieces_each_with_its_record(self, full: SqlStore, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(audit, "PRUNE_CHUNK", 4)
        await full.prune_audit(NOW - 100 + 10)
        records = await full.list_audit(0, 100)
        assert records[0].number == 11
        removals = [find_removal(record.entry) for record in records if record.number > 20]
        assert [removal.up_to for removal in removals if removal is not None] == [4, 8, 10]

    async def test_two_processes_at_once_remove_what_one_would(
        self, open_store: OpenStore, full: SqlStore, database_url: str
    ) -> None:
        other = await open_store(database_url)
        await asyncio.gather(*(store.prune_audit(NOW - 90) for store in (full, other)))
        assert [record.number for record in await full.list_audit(0, 100)] == list(range(11, 22))

    async def test_a_record_that_cannot_be_read_is_named(self, full: SqlStore) -> None:
        await full.prune_audit(NOW - 90)
        forge = text("UPDATE audit SET entry = 'nonsense' WHERE number = 11")
        await writes(lambda tx: tx.connection.execute(forge))(full)
        with pytest.raises(UnreadableRecord) as unreadable:
            await full.list_audit(0, 100)
        assert unreadable.value.number == 11


class TestPseudonyms:
    async def test_each_user_has_one_that_stays_and_tells_nothing(self, filled_store: SqlStore) -> None:
        anna, bruno = await filled_store.find_pseudonym(ANNA.id), await filled_store.find_pseudonym(BRUNO.id)
        assert await filled_store.find_pseudonym(ANNA.id) == anna != bruno
        assert await filled_store.list_pseudonyms({anna, "nobody"}) == {anna: ANNA.id}
        assert await filled_store.list_pseudonyms() == {anna: ANNA.id, bruno: BRUNO.id}
        assert len(anna) == 32
        assert ANNA.id.replace("-", "") != anna

    async def test_concurrent_callers_get_the_same(
        self, open_store: OpenStore, filled_store: SqlStore, database_url: str
    ) -> None:
        stores = [filled_store, await open_store(database_url)]
        told = await asyncio.gather(*(stores[number % 2].find_pseudonym(ANNA.id) for number in range(20)))
        assert len(set(told)) == 1

    async def test_it_is_forgotten_with_the_user_and_the_log_stays(self, filled_store: SqlStore) -> None:
        pseudonym = await filled_store.find_pseudonym(BRUNO.id)
        await filled_store.append_audit([AuditEntry(NOW, "log in", pseudonym, "session", "ok")])
        await filled_store.delete_user(BRUNO.id)
        with pytest.raises(ValueError, match="there is no user"):
            await filled_store.find_pseudonym(BRUNO.id)
        await filled_store.save_user(BRUNO)
        assert await filled_store.find_pseudonym(BRUNO.id) != pseudonym
        (record,) = await filled_store.list_audit(0, 10)
        assert record.entry.who == pseudonym
        check_chain([record])

    async def test_nobody_has_none(self, filled_store: SqlStore) -> None:
        with pytest.raises(ValueError, match="there is no user"):
            await filled_store.find_pseudonym(an_id(404))
