"""The chain on a database: changes by an attacker are found; removals by the gateway are valid."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import msgspec
import pytest
from sqlalchemy import text

from domogate.domain.audit import AuditRecord
from domogate.services.audit import COMMAND_LINE, AuditAction, AuditLog, user_ref
from domogate.stores import SqlStore, sqlite_url
from domogate.stores.subject import writes
from support.audit_export import find_broken_line
from support.clocks import ManualClock
from support.stores import ANNA, BRUNO, SMALL

pytestmark = pytest.mark.slow


class TestOnADatabase:
    @pytest.fixture
    async def database(self, tmp_path: Path) -> AsyncIterator[tuple[SqlStore, Path]]:
        file = tmp_path / "domogate.sqlite3"
        store = SqlStore(sqlite_url(file), clock=ManualClock())
        await store.start()
        await store.import_estate(SMALL, prune=False)
        yield store, file
        await store.stop()

    async def write(self, store: SqlStore) -> AuditLog:
        log = AuditLog(store, ManualClock())
        for number in range(20):
            log.note(AuditAction.LOGIN, who=ANNA.id if number % 2 else BRUNO.id, what=str(number), result="ok")
        await log.flush()
        return log

    async def check_found(self, log: AuditLog, file: Path, statement: str, number: int) -> None:
        """The statement of an attacker breaks the chain at this record."""
        with sqlite3.connect(file) as thief:
            assert thief.execute(statement).rowcount == 1
        thief.close()
        broken = (await log.verify()).broken
        assert broken is not None
        assert broken.number == number

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
    async def test_a_change_in_the_file_is_found(self, database: tuple[SqlStore, Path], statement: str, number: int) -> None:
        store, file = database
        log = await self.write(store)
        assert (await log.verify()).broken is None
        await self.check_found(log, file, statement, number)

    async def prune(self, store: SqlStore, up_to: int) -> None:
        """Removes all records up to this number, as if time had passed."""
        whole = await store.list_audit(0, 1000)
        entries = [msgspec.structs.replace(record.entry, at=float(record.number)) for record in whole]
        await writes(lambda tx: tx.connection.execute(text("DELETE FROM audit")))(store)
        await store.append_audit(entries)
        await store.prune_audit(up_to + 1)

    async def test_the_rest_verifies_after_old_records_were_removed(self, database: tuple[SqlStore, Path]) -> None:
        store, _ = database
        log = await self.write(store)
        await self.prune(store, 8)
        verification = await log.verify()
        assert (verification.broken, verification.records, verification.removed) == (None, 13, 8)
        assert find_broken_line([line async for line in log.export()]) is None
        await store.prune_audit(15 + 1)
        verification = await log.verify(last_hash=verification.last_hash)
        assert (verification.broken, verification.records, verification.removed) == (None, 7, 15)
        newest = await log.find_newest()
        assert newest is not None
        assert (newest.number, newest.entry.action) == (22, AuditAction.REMOVED)

    @pytest.mark.parametrize("up_to", [3, 12])
    async def test_records_that_are_removed_during_the_check_do_not_break_the_chain(
        self, database: tuple[SqlStore, Path], monkeypatch: pytest.MonkeyPatch, up_to: int
    ) -> None:
        """They are removed behind the place that the check has reached, or before it gets there."""
        store, _ = database
        log = await self.write(store)
        await self.prune(store, 0)
        monkeypatch.setattr("domogate.services.audit.trail._PAGE", 6)
        read = store.list_audit

        async def read_and_remove(after: int, limit: int) -> Sequence[AuditRecord]:
            page = await read(after, limit)
            if limit > 1:
                await store.prune_audit(up_to + 1)
            return page

        monkeypatch.setattr(store, "list_audit", read_and_remove)
        verification = await log.verify()
        assert (verification.broken, verification.removed) == (None, up_to)

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
    async def test_a_change_after_a_removal_is_found(
        self, database: tuple[SqlStore, Path], statement: str, number: int
    ) -> None:
        store, file = database
        log = await self.write(store)
        await self.prune(store, 8)
        await self.check_found(log, file, statement, number)

    async def test_the_beginning_cannot_be_moved_with_the_hash_that_is_there(self, database: tuple[SqlStore, Path]) -> None:
        """An attacker who removes more records has no removal record for them."""
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
        await log.find_pseudonym(BRUNO.id)
        assert await store.delete_user(BRUNO.id)
        log.note(AuditAction.USER_DELETED, who=COMMAND_LINE, what=user_ref(BRUNO.id), result="ok")
        await log.flush()
        assert (await log.verify(last_hash=before.last_hash)).broken is None
        assert (await log.list(after=20))[0].entry.what == f"user:{pseudonym}"
        with sqlite3.connect(file) as database_file:
            assert database_file.execute("SELECT count(*) FROM pseudonyms WHERE pseudonym = ?", (pseudonym,)).fetchone() == (0,)
        database_file.close()

    async def test_a_user_who_is_added_again_gets_a_new_pseudonym(self, database: tuple[SqlStore, Path]) -> None:
        store, _ = database
        log = await self.write(store)
        store.listen(log.apply)
        former = await store.find_pseudonym(BRUNO.id)
        await store.delete_user(BRUNO.id)
        log.note(AuditAction.USER_DELETED, who=COMMAND_LINE, what=user_ref(BRUNO.id), result="ok")
        await log.flush()
        assert (await log.list(after=20))[0].entry.what == f"user:{former}"
        await store.add_user(BRUNO)
        log.note(AuditAction.USER_ADDED, who=COMMAND_LINE, what=user_ref(BRUNO.id), result="ok")
        await log.flush()
        (added,) = await log.list(user_id=BRUNO.id)
        assert added.entry.action == AuditAction.USER_ADDED
        assert former not in added.entry.what

    async def test_two_logs_on_one_store_write_one_chain(self, database: tuple[SqlStore, Path]) -> None:
        store, _ = database
        logs = [AuditLog(store, ManualClock(), batch=3) for _ in range(4)]
        for log in logs:
            for number in range(25):
                log.note(AuditAction.COMMAND, who=COMMAND_LINE, what=str(number), result="ok")
        await asyncio.gather(*(log.flush() for log in logs))
        verification = await logs[0].verify()
        assert (verification.records, verification.broken) == (100, None)
