import asyncio
import hashlib
import json
import re
import sqlite3
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import text

from domogate.domain.audit import GENESIS, AuditEntry, AuditRecord, chain
from domogate.domain.ids import Id
from domogate.services.audit import (
    COMMAND_LINE,
    GONE,
    AuditAction,
    AuditLog,
    AuditResult,
    client_ref,
    user_ref,
    verify_export,
)
from domogate.stores import SqlStore, sqlite_url
from support.examples import examples
from support.stores import ANNA, BRUNO, SMALL, HandClock, an_id


class ChainInMemory:
    """The part of ports.Store that the audit log needs; `failures` appends fail before one works again."""

    def __init__(self, *users: Id) -> None:
        self.records: list[AuditRecord] = []
        self.pseudonyms = {user: f"{number:032x}" for number, user in enumerate(users, 1)}
        self.appends: list[int] = []
        self.failures = 0
        self.held: asyncio.Event | None = None
        self.questions = 0

    async def append_audit(self, entries: Sequence[AuditEntry]) -> None:
        await asyncio.sleep(0)
        if self.held is not None:
            await self.held.wait()
        if self.failures:
            self.failures -= 1
            raise OSError("the disk is full")
        self.appends.append(len(entries))
        for entry in entries:
            previous = self.records[-1].hash if self.records else GENESIS
            number = len(self.records) + 1
            self.records.append(AuditRecord(number, entry, chain(previous, number, entry)))

    async def list_audit(self, after: int, limit: int) -> Sequence[AuditRecord]:
        self.questions += 1
        return [record for record in self.records if record.number > after][:limit]

    async def find_pseudonym(self, user_id: Id) -> str:
        self.questions += 1
        if user_id not in self.pseudonyms:
            raise ValueError("there is no such user")
        return self.pseudonyms[user_id]

    @property
    def whats(self) -> list[str]:
        return [record.entry.what for record in self.records]


USER = an_id(7)
PSEUDONYM = f"user:{1:032x}"


@pytest.fixture
def store() -> ChainInMemory:
    return ChainInMemory(USER)


@pytest.fixture
async def log(store: ChainInMemory) -> AsyncIterator[AuditLog]:
    log = AuditLog(store, HandClock(), gather=0.0, retry=0.0)
    await log.start()
    yield log
    await log.stop()


def note(log: AuditLog, what: str = "x", who: str = USER, **other: object) -> None:
    log.note(AuditAction.LOGIN, who=who, what=what, result=AuditResult.OK, **other)


async def settle(store: ChainInMemory, records: int) -> None:
    async with asyncio.timeout(30):
        while len(store.records) < records:
            await asyncio.sleep(0.001)


class TestNoting:
    async def test_what_is_noted_is_appended_by_itself_with_who_what_when_where_and_result(
        self, log: AuditLog, store: ChainInMemory
    ) -> None:
        log.note(
            AuditAction.COMMAND,
            who=USER,
            what="E1 plant 1",
            result=AuditResult.OK,
            address="192.0.2.7",
            detail={"status": "on"},
        )
        await settle(store, 1)
        assert store.records[0].entry == AuditEntry(
            HandClock().now(), "command", PSEUDONYM, "E1 plant 1", "ok", "192.0.2.7", {"status": "on"}
        )

    async def test_noting_neither_waits_nor_asks_the_store(self, store: ChainInMemory) -> None:
        note(AuditLog(store, HandClock()))
        assert store.questions == 0
        assert store.appends == []

    async def test_many_notes_share_a_write_and_keep_their_order(self, store: ChainInMemory) -> None:
        log = AuditLog(store, HandClock(), batch=4)
        for number in range(10):
            note(log, str(number))
        await log.flush()
        assert store.appends == [4, 4, 2]
        assert store.whats == [str(number) for number in range(10)]

    async def test_an_orderly_stop_loses_nothing_that_was_noted_before(self, store: ChainInMemory) -> None:
        log = AuditLog(store, HandClock(), gather=3600.0)
        await log.start()
        for number in range(1000):
            note(log, str(number))
        await log.stop()
        assert len(store.records) == 1000

    async def test_a_stop_in_the_middle_of_a_write_writes_nothing_twice(self, store: ChainInMemory) -> None:
        log = AuditLog(store, HandClock(), gather=0.0)
        await log.start()
        store.held = asyncio.Event()
        note(log, "first")
        await asyncio.sleep(0.01)
        note(log, "second")
        stopping = asyncio.create_task(log.stop())
        await asyncio.sleep(0.01)
        store.held.set()
        await stopping
        assert store.whats == ["first", "second"]

    async def test_a_flush_whose_caller_is_cancelled_writes_nothing_twice(self, store: ChainInMemory) -> None:
        log = AuditLog(store, HandClock())
        store.held = asyncio.Event()
        note(log, "once")
        flushing = asyncio.create_task(log.flush())
        await asyncio.sleep(0.01)
        flushing.cancel()
        store.held.set()
        await log.flush()
        assert store.whats == ["once"]

    async def test_what_a_failing_store_did_not_take_is_kept_and_written_later(
        self, log: AuditLog, store: ChainInMemory
    ) -> None:
        store.failures = 3
        note(log, "patient")
        await settle(store, 1)
        assert store.whats == ["patient"]

    async def test_a_stop_tries_again_when_the_store_fails(self, store: ChainInMemory) -> None:
        log = AuditLog(store, HandClock(), retry=0.0)
        store.failures = 2
        note(log)
        await log.stop()
        assert len(store.records) == 1

    async def test_what_a_full_buffer_drops_is_counted_and_noted_in_its_place(self, store: ChainInMemory) -> None:
        log = AuditLog(store, HandClock(), capacity=3)
        for number in range(5):
            note(log, str(number))
        await log.flush()
        note(log, "after")
        await log.flush()
        assert [it.entry.action for it in store.records] == ["login", "login", "login", "entries dropped", "login"]
        assert store.records[3].entry.detail == {"entries": "2"}
        assert store.whats[4] == "after"

    async def test_drops_stand_before_what_is_noted_next(self, store: ChainInMemory) -> None:
        log = AuditLog(store, HandClock(), capacity=2, batch=1)
        for number in range(3):
            note(log, str(number))
        store.held = asyncio.Event()
        flushing = asyncio.create_task(log.flush())
        await asyncio.sleep(0.01)
        store.held.set()
        await asyncio.sleep(0)
        await flushing
        note(log, "3")
        await log.flush()
        assert [it.entry.action for it in store.records] == ["login", "login", "entries dropped", "login"]

    @settings(max_examples=examples(40))
    @given(st.text(max_size=2000))
    def test_no_text_is_too_long_or_too_strange(self, text: str) -> None:
        async def write() -> AuditEntry:
            store = ChainInMemory()
            log = AuditLog(store, HandClock())
            log.note(text, who=f"client:{text}", what=text, result=text, address=text, detail={text: text})
            await log.flush()
            return store.records[0].entry

        entry = asyncio.run(write())
        for said in (entry.action, entry.who, entry.what, entry.result, entry.address, *entry.detail):
            assert said.isprintable()
            assert len(said) <= 500
        msgspec.json.encode(entry)


class TestPseudonyms:
    async def test_a_user_is_known_by_pseudonym_wherever_they_are_named(self, log: AuditLog, store: ChainInMemory) -> None:
        log.note(
            AuditAction.WITHDRAWN,
            who=COMMAND_LINE,
            what=f"plant 1, {user_ref(USER)}",
            result="ok",
            detail={"by": user_ref(USER).upper().replace("USER", "user")},
        )
        await log.flush()
        entry = store.records[0].entry
        assert (entry.who, entry.what, entry.detail) == (COMMAND_LINE, f"plant 1, {PSEUDONYM}", {"by": PSEUDONYM})

    async def test_a_pseudonym_is_asked_for_once(self, log: AuditLog, store: ChainInMemory) -> None:
        for _ in range(3):
            note(log)
            await log.flush()
        assert store.questions == 1

    async def test_no_more_users_are_remembered_than_is_allowed(self) -> None:
        users = [an_id(number) for number in range(5)]
        store = ChainInMemory(*users)
        log = AuditLog(store, HandClock(), known_users=2)
        for user in users:
            note(log, who=user)
        await log.flush()
        store.questions = 0
        await log.know(users[-1])
        assert store.questions == 0
        await log.know(users[0])
        assert store.questions == 1

    async def test_a_user_who_is_gone_is_not_named(self, log: AuditLog, store: ChainInMemory) -> None:
        note(log, who=an_id(99))
        await log.flush()
        assert store.records[0].entry.who == GONE

    async def test_a_deletion_can_be_noted_after_it(self, log: AuditLog, store: ChainInMemory) -> None:
        await log.know(USER)
        del store.pseudonyms[USER]
        log.note(AuditAction.USER_DELETED, who=COMMAND_LINE, what=user_ref(USER), result="ok")
        await log.flush()
        assert store.whats == [PSEUDONYM]

    async def test_others_keep_their_ids(self, log: AuditLog, store: ChainInMemory) -> None:
        note(log, who=client_ref("app"), what=f"plant {an_id(3)}")
        await log.flush()
        assert (store.records[0].entry.who, store.whats) == ("client:app", [f"plant {an_id(3)}"])

    async def test_an_e_mail_never_gets_in(self, log: AuditLog, store: ChainInMemory) -> None:
        note(log, who="anna@example.com", what="invited <Bruno.B+x@mail.example>, role: allowed", detail={"to": "a@b"})
        await log.flush()
        entry = store.records[0].entry
        assert "@" not in repr(entry)
        assert entry.what == "invited <(an e-mail)>, role: allowed"


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
        now = HandClock().now()
        assert await written.list(since=now + 1) == ()
        assert await written.list(until=now) == ()
        assert len(await written.list(since=now, until=now + 1, limit=7)) == 7

    @settings(max_examples=examples(40))
    @given(st.integers(0, 300))
    def test_the_newest_is_found_in_few_questions(self, count: int) -> None:
        async def find() -> None:
            store = ChainInMemory()
            await store.append_audit([AuditEntry(0.0, "a", "b", "c", "d")] * count)
            newest = await AuditLog(store, HandClock()).find_newest()
            assert (0 if newest is None else newest.number) == count
            assert store.questions <= 60

        asyncio.run(find())

    async def test_a_whole_chain_verifies_and_tells_its_end(self, written: AuditLog, store: ChainInMemory) -> None:
        verification = await written.verify()
        assert verification.broken is None
        assert (verification.records, verification.last_hash) == (1200, store.records[-1].hash)

    async def test_an_empty_log_verifies(self, log: AuditLog) -> None:
        verification = await log.verify()
        assert (verification.records, verification.last_hash, verification.broken) == (0, GENESIS, None)
        assert (await log.verify(last_hash=GENESIS)).broken is None

    async def test_a_cut_off_end_shows_only_against_a_hash_kept_elsewhere(
        self, written: AuditLog, store: ChainInMemory
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
            store = ChainInMemory()
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
            broken = (await AuditLog(store, HandClock()).verify()).broken
            assert broken is not None
            assert broken.number == expected

        asyncio.run(tamper())

    async def test_an_export_is_json_lines_that_anyone_can_check(self, written: AuditLog) -> None:
        lines = [line async for line in written.export()]
        first = json.loads(lines[0])
        assert set(first) == {"number", "entry", "hash"}
        assert first["entry"]["who"] == PSEUDONYM
        assert verify_export(lines) == await written.verify()
        lines[41] = lines[41].replace(b'"42"', b'"43"')
        broken = verify_export(lines).broken
        assert broken is not None
        assert broken.number == 42
        lines[7] = b"no json\n"
        broken = verify_export(lines).broken
        assert broken is not None
        assert broken.number == 8

    async def test_the_chain_of_an_export_is_recomputed_from_its_documentation_alone(self, written: AuditLog) -> None:
        """As docs/audit.md says: SHA-256 of the hash before, the number, and the entry just as it stands in the line."""
        previous = "0" * 64
        async for line in written.export():
            found = re.fullmatch(rb'{"number":(\d+),"entry":({.*}),"hash":"([0-9a-f]{64})"}\n', line)
            assert found is not None
            previous = hashlib.sha256(previous.encode() + found[1] + found[2]).hexdigest()
            assert found[3].decode() == previous


class TestOnADatabase:
    @pytest.fixture
    async def database(self, tmp_path: Path) -> AsyncIterator[tuple[SqlStore, Path]]:
        file = tmp_path / "domogate.sqlite3"
        store = SqlStore(sqlite_url(file), clock=HandClock())
        await store.start()
        await store.import_estate(SMALL, prune=False)
        yield store, file
        await store.stop()

    async def write(self, store: SqlStore) -> AuditLog:
        log = AuditLog(store, HandClock())
        for number in range(20):
            log.note(AuditAction.LOGIN, who=ANNA.id if number % 2 else BRUNO.id, what=str(number), result="ok")
        await log.flush()
        return log

    @pytest.mark.parametrize(
        ("statement", "number"),
        [
            ("""UPDATE audit SET entry = replace(entry, '"ok"', '"no"') WHERE number = 5""", 5),
            ("UPDATE audit SET hash = (SELECT hash FROM audit WHERE number = 3) WHERE number = 9", 9),
            ("DELETE FROM audit WHERE number = 7", 7),
            ("DELETE FROM audit WHERE number = 1", 1),
            ("UPDATE audit SET entry = 'nonsense' WHERE number = 12", 12),
            ("UPDATE audit SET entry = '{}' WHERE number = 20", 20),
        ],
    )
    async def test_what_was_changed_in_the_file_is_found(
        self, database: tuple[SqlStore, Path], statement: str, number: int
    ) -> None:
        store, file = database
        log = await self.write(store)
        assert (await log.verify()).broken is None
        with sqlite3.connect(file) as thief:
            assert thief.execute(statement).rowcount == 1
        thief.close()
        broken = (await log.verify()).broken
        assert broken is not None
        assert broken.number == number

    async def prune(self, store: SqlStore, up_to: int) -> None:
        """All up to that number, as if time had passed."""
        whole = await store.list_audit(0, 1000)
        entries = [msgspec.structs.replace(record.entry, at=float(record.number)) for record in whole]
        await store._write(lambda tx: tx.connection.execute(text("DELETE FROM audit")))
        await store.append_audit(entries)
        await store.prune_audit(up_to + 1)

    async def test_what_is_left_after_old_records_were_removed_verifies(self, database: tuple[SqlStore, Path]) -> None:
        store, _ = database
        log = await self.write(store)
        await self.prune(store, 8)
        verification = await log.verify()
        assert (verification.broken, verification.records, verification.removed) == (None, 13, 8)
        assert verify_export([line async for line in log.export()]) == verification
        await store.prune_audit(15 + 1)
        verification = await log.verify(last_hash=verification.last_hash)
        assert (verification.broken, verification.records, verification.removed) == (None, 7, 15)
        newest = await log.find_newest()
        assert newest is not None
        assert (newest.number, newest.entry.action) == (22, AuditAction.REMOVED)

    @pytest.mark.parametrize(
        ("statement", "number"),
        [
            # the first that is left, which follows the hash that the removal names
            ("""UPDATE audit SET entry = replace(entry, '"ok"', '"no"') WHERE number = 9""", 9),
            ("DELETE FROM audit WHERE number = 9", 9),
            ("UPDATE audit SET entry = 'nonsense' WHERE number = 9", 9),
            # the removal itself
            ("""UPDATE audit SET entry = replace(entry, '"up_to":"8"', '"up_to":"9"') WHERE number = 21""", 21),
            ("""UPDATE audit SET entry = replace(entry, '"hash":"', '"hash":"0') WHERE number = 21""", 21),
            ("DELETE FROM audit WHERE number = 21", 1),
            # the others
            ("""UPDATE audit SET entry = replace(entry, '"ok"', '"no"') WHERE number = 14""", 14),
            ("DELETE FROM audit WHERE number = 14", 14),
            ("INSERT INTO audit SELECT 8, entry, hash FROM audit WHERE number = 10", 9),
        ],
    )
    async def test_what_was_changed_after_a_removal_is_found(
        self, database: tuple[SqlStore, Path], statement: str, number: int
    ) -> None:
        store, file = database
        log = await self.write(store)
        await self.prune(store, 8)
        with sqlite3.connect(file) as thief:
            assert thief.execute(statement).rowcount == 1
        thief.close()
        broken = (await log.verify()).broken
        assert broken is not None
        assert broken.number == number

    async def test_the_beginning_cannot_be_moved_with_the_hash_that_is_there(self, database: tuple[SqlStore, Path]) -> None:
        """Whoever removes more than was removed has no record that says so."""
        store, file = database
        log = await self.write(store)
        await self.prune(store, 8)
        with sqlite3.connect(file) as thief:
            assert thief.execute("DELETE FROM audit WHERE number < 15").rowcount == 6
        thief.close()
        broken = (await log.verify()).broken
        assert broken is not None
        assert broken.number == 9

    async def test_a_hash_kept_elsewhere_is_found_while_its_record_is_the_last_removed(
        self, database: tuple[SqlStore, Path]
    ) -> None:
        store, _ = database
        log = await self.write(store)
        await self.prune(store, 0)
        hashes = [record.hash for record in await store.list_audit(0, 100)]
        await store.prune_audit(8 + 1)
        assert (await log.verify(last_hash=hashes[7])).broken is None
        broken = (await log.verify(last_hash=hashes[6])).broken
        assert broken is not None
        assert "removed since" in broken.problem

    async def test_a_person_is_erased_and_the_chain_stays_whole(self, database: tuple[SqlStore, Path]) -> None:
        store, file = database
        log = await self.write(store)
        before = await log.verify()
        pseudonym = await store.find_pseudonym(BRUNO.id)
        assert len(await log.list(user_id=BRUNO.id)) == 10
        await log.know(BRUNO.id)
        assert await store.delete_user(BRUNO.id)
        log.note(AuditAction.USER_DELETED, who=COMMAND_LINE, what=user_ref(BRUNO.id), result="ok")
        await log.flush()
        assert (await log.verify(last_hash=before.last_hash)).broken is None
        assert (await log.list(after=20))[0].entry.what == f"user:{pseudonym}"
        with sqlite3.connect(file) as database_file:
            assert database_file.execute("SELECT count(*) FROM pseudonyms WHERE pseudonym = ?", (pseudonym,)).fetchone() == (0,)
        database_file.close()

    async def test_two_logs_on_one_store_write_one_chain(self, database: tuple[SqlStore, Path]) -> None:
        store, _ = database
        logs = [AuditLog(store, HandClock(), batch=3) for _ in range(4)]
        for log in logs:
            for number in range(25):
                log.note(AuditAction.COMMAND, who=COMMAND_LINE, what=str(number), result="ok")
        await asyncio.gather(*(log.flush() for log in logs))
        verification = await logs[0].verify()
        assert (verification.records, verification.broken) == (100, None)
