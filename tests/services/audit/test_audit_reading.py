"""Notes are listed, verified and exported."""

import asyncio
import json

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from domogate.domain.audit import GENESIS, AuditEntry
from domogate.services.audit import COMMAND_LINE, AuditAction, AuditLog
from support.audit_export import find_broken_line
from support.audit_store import PSEUDONYM, USER, MemoryAuditStore, note
from support.clocks import ManualClock
from support.examples import examples


class TestReading:
    @pytest.fixture
    async def written(self, log: AuditLog) -> AuditLog:
        for number in range(1, 1201):
            action = AuditAction.COMMAND if number % 3 == 0 else AuditAction.LOGIN
            log.note(action, who=USER if number % 2 else COMMAND_LINE, what=str(number), result="ok")
        await log.flush()
        return log

    async def test_records_are_listed_by_number_from_where_one_says(self, written: AuditLog) -> None:
        assert [it.number for it in await written.list(after=600, limit=3)] == [601, 602, 603]
        assert len(await written.list()) == 100
        assert len(await written.list(limit=5000)) == 1200
        assert await written.list(limit=0) == ()
        assert await written.list(after=1200) == ()

    async def test_they_can_be_those_of_an_action_a_user_and_a_time(self, written: AuditLog) -> None:
        found = await written.list(action="command", user_id=USER, limit=3)
        assert [it.number for it in found] == [3, 9, 15]
        now = ManualClock().now()
        assert await written.list(since=now + 1) == ()
        assert await written.list(until=now) == ()
        assert len(await written.list(since=now, until=now + 1, limit=7)) == 7

    @settings(max_examples=examples(40))
    @given(st.integers(0, 300))
    def test_the_newest_is_found_with_one_question(self, count: int) -> None:
        async def find() -> None:
            store = MemoryAuditStore()
            await store.append_audit([AuditEntry(0.0, "a", "b", "c", "d")] * count)
            newest = await AuditLog(store, ManualClock()).find_newest()
            assert (0 if newest is None else newest.number) == count
            assert store.questions == 1

        asyncio.run(find())

    async def test_a_whole_chain_verifies_and_tells_its_end(self, written: AuditLog, store: MemoryAuditStore) -> None:
        verification = await written.verify()
        assert verification.broken is None
        assert (verification.records, verification.last_hash) == (1200, store.records[-1].hash)

    async def test_an_empty_log_verifies(self, log: AuditLog) -> None:
        verification = await log.verify()
        assert (verification.records, verification.last_hash, verification.broken) == (0, GENESIS, None)
        assert (await log.verify(last_hash=GENESIS)).broken is None

    async def test_a_cut_off_end_shows_only_against_a_hash_kept_elsewhere(
        self, written: AuditLog, store: MemoryAuditStore
    ) -> None:
        last = (await written.verify()).last_hash
        note(written, "one more")
        await written.flush()
        assert (await written.verify(last_hash=last)).broken is None
        del store.records[1000:]
        assert (await written.verify()).broken is None
        broken = (await written.verify(last_hash=last)).broken
        assert broken is not None
        assert broken.number == 1001
        assert "cut off" in broken.problem

    @settings(max_examples=examples(40))
    @given(st.data())
    def test_any_change_to_any_record_is_found_at_it(self, data: st.DataObject) -> None:
        async def tamper() -> None:
            store = MemoryAuditStore()
            entries = [AuditEntry(float(n), "login", "user:1", str(n), "ok", "", {"n": str(n)}) for n in range(20)]
            await store.append_audit(entries)
            place = data.draw(st.integers(0, 18))
            record = store.records[place]
            how = data.draw(st.sampled_from(["entry", "hash", "remove", "swap", "double"]))
            expected = place + 1
            if how == "entry":
                field = data.draw(st.sampled_from(["at", "action", "who", "what", "result", "address", "detail"]))
                other = {"at": 77.5, "detail": {"n": "other"}}.get(field, "other")
                entry = msgspec.structs.replace(record.entry, **{field: other})
                store.records[place] = msgspec.structs.replace(record, entry=entry)
            elif how == "hash":
                store.records[place] = msgspec.structs.replace(record, hash="f" * 64)
            elif how == "remove":
                del store.records[place]
            elif how == "swap":
                following = store.records[place + 1]
                store.records[place] = msgspec.structs.replace(following, number=place + 1)
                store.records[place + 1] = msgspec.structs.replace(record, number=place + 2)
            else:
                store.records.insert(place, record)
                expected = place + 2
            broken = (await AuditLog(store, ManualClock()).verify()).broken
            assert broken is not None
            assert broken.number == expected

        asyncio.run(tamper())

    async def test_an_export_is_json_lines_that_anyone_can_check(self, written: AuditLog) -> None:
        lines = [line async for line in written.export()]
        first = json.loads(lines[0])
        assert set(first) == {"number", "entry", "hash"}
        assert first["entry"]["who"] == PSEUDONYM
        assert find_broken_line(lines) is None
        lines[41] = lines[41].replace(b'"42"', b'"43"')
        assert find_broken_line(lines) == 42
        lines[7] = b"no json\n"
        assert find_broken_line(lines) == 8
