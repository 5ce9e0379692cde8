"""Notes are written once and in order, and name people only by pseudonym."""

import asyncio

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from domogate.domain.audit import AuditEntry
from domogate.domain.faults import (
    CommandNotSupported,
    DeviceOffline,
    DeviceRefused,
    DeviceTimeout,
    Fault,
    Internal,
    NoPlug,
    OrderKeyTaken,
)
from domogate.services.audit import COMMAND_LINE, GONE, AuditAction, AuditLog, AuditResult, client_ref, note_command, user_ref
from support.audit_store import PSEUDONYM, USER, MemoryAuditStore, note
from support.clocks import ManualClock
from support.examples import examples
from support.stores import an_id


async def settle(store: MemoryAuditStore, records: int) -> None:
    async with asyncio.timeout(30):
        while len(store.records) < records:
            await asyncio.sleep(0.001)


class TestNoting:
    async def test_a_note_is_appended_with_actor_subject_time_address_and_result(
        self, log: AuditLog, store: MemoryAuditStore
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
            ManualClock().now(), "command", PSEUDONYM, "E1 plant 1", "ok", "192.0.2.7", {"status": "on"}
        )

    async def test_noting_neither_waits_nor_asks_the_store(self, store: MemoryAuditStore) -> None:
        note(AuditLog(store, ManualClock()))
        assert store.questions == 0
        assert store.appends == []

    async def test_many_notes_share_a_write_and_keep_their_order(self, store: MemoryAuditStore) -> None:
        log = AuditLog(store, ManualClock(), batch=4)
        for number in range(10):
            note(log, str(number))
        await log.flush()
        assert store.appends == [4, 4, 2]
        assert store.whats == [str(number) for number in range(10)]

    async def test_a_note_during_a_flush_is_left_for_the_next_flush(self, store: MemoryAuditStore) -> None:
        log = AuditLog(store, ManualClock())
        store.held = asyncio.Event()
        note(log, "first")
        flushing = asyncio.create_task(log.flush())
        while not store.questions:  # The flush has begun.
            await asyncio.sleep(0)
        note(log, "second")
        store.held.set()
        await flushing
        assert store.whats == ["first"]
        note(log, "third")
        await log.stop()
        assert store.appends == [1, 2]
        assert store.whats == ["first", "second", "third"]

    async def test_an_orderly_stop_loses_nothing_that_was_noted_before(self, store: MemoryAuditStore) -> None:
        log = AuditLog(store, ManualClock(), gather=3600.0)
        log.start()
        for number in range(1000):
            note(log, str(number))
        await log.stop()
        assert len(store.records) == 1000

    async def test_a_stop_in_the_middle_of_a_write_writes_nothing_twice(self, store: MemoryAuditStore) -> None:
        log = AuditLog(store, ManualClock(), gather=0.0)
        log.start()
        store.held = asyncio.Event()
        note(log, "first")
        await asyncio.sleep(0.01)
        note(log, "second")
        stopping = asyncio.create_task(log.stop())
        await asyncio.sleep(0.01)
        store.held.set()
        await stopping
        assert store.whats == ["first", "second"]

    async def test_a_flush_whose_caller_is_cancelled_writes_nothing_twice(self, store: MemoryAuditStore) -> None:
        log = AuditLog(store, ManualClock())
        store.held = asyncio.Event()
        note(log, "once")
        flushing = asyncio.create_task(log.flush())
        await asyncio.sleep(0.01)
        flushing.cancel()
        store.held.set()
        await log.flush()
        assert store.whats == ["once"]

    async def test_notes_that_a_failing_store_refused_are_written_later(self, log: AuditLog, store: MemoryAuditStore) -> None:
        store.failures = 3
        note(log, "patient")
        await settle(store, 1)
        assert store.whats == ["patient"]

    async def test_a_stop_tries_again_when_the_store_fails(self, store: MemoryAuditStore) -> None:
        log = AuditLog(store, ManualClock(), retry=0.0)
        store.failures = 2
        note(log)
        await log.stop()
        assert len(store.records) == 1

    async def test_notes_that_a_full_buffer_drops_are_counted_in_an_entry(self, store: MemoryAuditStore) -> None:
        log = AuditLog(store, ManualClock(), capacity=3)
        for number in range(5):
            note(log, str(number))
        await log.flush()
        note(log, "after")
        await log.flush()
        assert [it.entry.action for it in store.records] == ["login", "login", "login", "entries dropped", "login"]
        assert store.records[3].entry.detail == {"entries": "2"}
        assert store.whats[4] == "after"

    async def test_drops_stand_before_what_is_noted_next(self, store: MemoryAuditStore) -> None:
        log = AuditLog(store, ManualClock(), capacity=2, batch=1)
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

    @settings(max_examples=examples(20))
    @given(st.text(max_size=2000))
    def test_no_text_is_too_long_or_too_strange(self, text: str) -> None:
        async def write() -> AuditEntry:
            store = MemoryAuditStore()
            log = AuditLog(store, ManualClock())
            log.note(text, who=f"client:{text}", what=text, result=text, address=text, detail={text: text})
            await log.flush()
            return store.records[0].entry

        entry = asyncio.run(write())
        for said in (entry.action, entry.who, entry.what, entry.result, entry.address, *entry.detail):
            assert said.isprintable()
            assert len(said) <= 500
        msgspec.json.encode(entry)


class TestPseudonyms:
    async def test_a_user_is_known_by_pseudonym_wherever_they_are_named(self, log: AuditLog, store: MemoryAuditStore) -> None:
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

    async def test_a_pseudonym_is_asked_for_once(self, log: AuditLog, store: MemoryAuditStore) -> None:
        for _ in range(3):
            note(log)
            await log.flush()
        assert store.questions == 1

    async def test_the_pseudonyms_of_many_users_are_one_question(self) -> None:
        users = [an_id(number) for number in range(5)]
        store = MemoryAuditStore(*users)
        log = AuditLog(store, ManualClock())
        for user in users:
            note(log, who=user)
        await log.flush()
        assert store.questions == 1
        assert [record.entry.who for record in store.records] == [f"user:{store.pseudonyms[user]}" for user in users]

    async def test_no_more_users_are_remembered_than_is_allowed(self) -> None:
        users = [an_id(number) for number in range(5)]
        store = MemoryAuditStore(*users)
        log = AuditLog(store, ManualClock(), cached_users=2)
        for user in users:
            note(log, who=user)
        await log.flush()
        store.questions = 0
        await log.find_pseudonym(users[-1])
        assert store.questions == 0
        await log.find_pseudonym(users[0])
        assert store.questions == 1

    async def test_a_user_who_is_gone_is_not_named(self, log: AuditLog, store: MemoryAuditStore) -> None:
        note(log, who=an_id(99))
        await log.flush()
        assert store.records[0].entry.who == GONE

    async def test_a_deletion_can_be_noted_after_it(self, log: AuditLog, store: MemoryAuditStore) -> None:
        await log.find_pseudonym(USER)
        del store.pseudonyms[USER]
        log.note(AuditAction.USER_DELETED, who=COMMAND_LINE, what=user_ref(USER), result="ok")
        await log.flush()
        assert store.whats == [PSEUDONYM]

    async def test_others_keep_their_ids(self, log: AuditLog, store: MemoryAuditStore) -> None:
        note(log, who=client_ref("app"), what=f"plant {an_id(3)}")
        await log.flush()
        assert (store.records[0].entry.who, store.whats) == ("client:app", [f"plant {an_id(3)}"])

    async def test_an_e_mail_never_gets_in(self, log: AuditLog, store: MemoryAuditStore) -> None:
        note(log, who="anna@example.com", what="invited <Bruno.B+x@mail.example>, role: allowed", detail={"to": "a@b"})
        await log.flush()
        entry = store.records[0].entry
        assert "@" not in repr(entry)
        assert entry.what == "invited <(an e-mail)>, role: allowed"


class TestFailedCommands:
    @pytest.mark.parametrize(
        ("fault", "state"),
        [
            (DeviceOffline("the plug is offline"), "failed"),
            (DeviceRefused("the plug is locked"), "failed"),
            (CommandNotSupported("the lamp has no levels"), "failed"),
            (DeviceTimeout("the plug did not answer"), "expired"),
            (Internal("the answer of the device could not be recorded"), "unknown"),
        ],
    )
    async def test_the_record_has_the_state_in_which_the_order_ended(
        self, log: AuditLog, store: MemoryAuditStore, fault: Fault, state: str
    ) -> None:
        note_command(log, USER, "E1 plugs on", fault, "192.0.2.7")
        await settle(store, 1)
        assert store.records[0].entry == AuditEntry(
            ManualClock().now(), "command", PSEUDONYM, "E1 plugs on", "failed", "192.0.2.7", {"state": state}
        )

    @pytest.mark.parametrize("fault", [NoPlug("the ambient has no plug"), OrderKeyTaken("this order was given before")])
    async def test_nothing_is_recorded_if_nothing_was_ordered(
        self, log: AuditLog, store: MemoryAuditStore, fault: Fault
    ) -> None:
        note_command(log, USER, "E1 plugs on", fault, "192.0.2.7")
        await log.flush()
        assert store.records == []
