"""Changes by other processes, how it stops, and failures of the gateway itself."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any
from unittest.mock import AsyncMock

import pytest

from domogate.domain.events import Change, ChangesLost
from domogate.domain.webhooks import EndReason
from domogate.ports import Undelivered
from domogate.services.audit import GATEWAY, AuditAction
from domogate.stores import SqlStore, sqlite_url
from support.clocks import ManualClock
from support.delivery_setup import (
    GIVEN_UP,
    LAMPS,
    PATIENCE,
    DeliverySetup,
    RecordingSender,
    open_delivery_setup,
)

pytestmark = pytest.mark.slow

URL = "https://receiver.example/"
AWAY = Undelivered("The receiver did not answer within 15 s.")
DAY = 86_400.0


def failing_access() -> tuple[Callable[..., Awaitable[None]], asyncio.Event]:
    """A method of a store that always fails, and an event that says that it was called."""
    failed = asyncio.Event()

    async def fail(*_: Any) -> None:
        failed.set()
        raise OSError("disk")

    return fail, failed


class TestOtherProcesses:
    async def test_what_a_command_replays_or_removes_is_noticed(
        self, database: Path, setup: DeliverySetup, sender: RecordingSender
    ) -> None:
        command_line = SqlStore(sqlite_url(database), clock=setup.clock, gateway=False)
        await command_line.start()
        sender.answer = AWAY
        webhook = await setup.register(URL)
        cursor = await setup.report()
        await setup.settle()
        await setup.pass_time(GIVEN_UP)
        await setup.pass_time(3600)
        sender.got.clear()
        sender.answer = 200
        await command_line.replay_dead(webhook.id, None, setup.clock.now())
        await setup.until(lambda: sender.cursors() == [cursor])
        await command_line.delete_webhook(webhook.id)
        await command_line.stop()
        await setup.until(lambda: setup.dispatcher.webhooks == 0)


class TestStopping:
    @pytest.mark.parametrize("found_again", [False, True])
    async def test_what_is_under_way_ends_and_counts(
        self, database: Path, sender: RecordingSender, monkeypatch: pytest.MonkeyPatch, found_again: bool
    ) -> None:
        """Also for a webhook that is found in the store again: its worker must not be replaced."""
        monkeypatch.setattr("domogate.services.webhooks.dispatcher._GRACE", PATIENCE)
        clock, going, stopping = ManualClock(), asyncio.Event(), asyncio.Event()

        async def take() -> int:
            going.set()
            await stopping.wait()
            return 200

        sender.answer = lambda *_: take()
        async with open_delivery_setup(database, sender, clock) as one:
            webhook = await one.register(URL)
            cursors = [await one.report(LAMPS[0], n) for n in range(5)]
            await going.wait()
            if found_again:
                one.dispatcher.apply([Change(0, 0.0, ChangesLost())])
            stopping.set()  # the delivery goes on at the next turn of the loop, when the dispatcher is stopping
        assert sender.cursors() == cursors[:1]
        sender.answer = 200
        async with open_delivery_setup(database, sender, clock, estate=None) as two:
            await two.until(lambda: len(sender.got) >= 5)
            await two.settle()
            assert sender.cursors() == cursors
            assert (await two.find(webhook)).position == cursors[-1]

    async def test_a_receiver_that_hangs_does_not_hold_it_up(
        self, database: Path, sender: RecordingSender, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("domogate.services.webhooks.dispatcher._GRACE", 0.05)
        clock = ManualClock()
        sender.answer = lambda *_: asyncio.sleep(3600, 200)
        async with open_delivery_setup(database, sender, clock) as one:
            await one.register(URL)
            cursor = await one.report()
            await one.until(lambda: len(sender.got) == 1)
        sender.answer = 200
        async with open_delivery_setup(database, sender, clock, estate=None) as two:
            await two.until(lambda: sender.cursors() == [cursor, cursor])


class TestTrouble:
    async def test_a_failure_of_our_own_is_tried_again(
        self, setup: DeliverySetup, sender: RecordingSender, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        calls = 0
        real = setup.store.list_changes_of

        async def failing(*arguments: Any) -> Any:
            nonlocal calls
            calls += 1
            if calls == 1:
                raise OSError("disk")
            return await real(*arguments)

        monkeypatch.setattr(setup.store, "list_changes_of", failing)
        await setup.register(URL)
        cursor = await setup.report()
        await setup.settle()
        await setup.pass_time(5)
        assert sender.cursors() == [cursor]

    async def test_a_webhook_that_cannot_be_read_is_read_again(
        self, setup: DeliverySetup, sender: RecordingSender, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("domogate.services.webhooks.dispatcher._RETRY", 0.01)
        fail, failed = failing_access()
        with monkeypatch.context() as patched:
            patched.setattr(setup.store, "find_webhook", fail)
            await setup.register(URL)
            await failed.wait()
        cursor = await setup.report()
        await setup.until(lambda: sender.cursors() == [cursor])

    async def test_an_end_that_cannot_be_stored_is_stored_later(
        self, setup: DeliverySetup, sender: RecordingSender, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("domogate.services.webhooks.dispatcher._RETRY", 0.01)
        fail, failed = failing_access()
        webhook = await setup.register(URL)
        await setup.settle()
        sender.answer = 410
        with monkeypatch.context() as patched:
            patched.setattr(setup.store, "end_webhook", fail)
            await setup.report()
            await failed.wait()
        await setup.settle()
        assert (await setup.find(webhook)).ended_why == EndReason.RECEIVER_GONE
        assert setup.notes.entries[-1] == (AuditAction.WEBHOOK_ENDED, GATEWAY)
        assert len(sender.got) == 1, "nothing is sent to a webhook that has ended"

    async def test_dead_letters_past_keeping_go(self, setup: DeliverySetup, sender: RecordingSender) -> None:
        sender.answer = AWAY
        webhook = await setup.register(URL)
        await setup.report()
        await setup.settle()
        await setup.pass_time(GIVEN_UP)
        await setup.pass_time(3600)
        assert await setup.store.list_pending(webhook.id, dead=True, limit=9)
        await setup.pass_time(31 * DAY)
        async with asyncio.timeout(PATIENCE):
            while await setup.store.list_pending(webhook.id, dead=True, limit=9):
                await asyncio.sleep(0.01)


class TestAClockThatMayBeWrong:
    async def test_no_dead_letter_is_removed_until_it_is_right(self, database: Path) -> None:
        clock, sender, may_prune = ManualClock(), RecordingSender(), AsyncMock(return_value=False)
        sender.answer = AWAY
        async with open_delivery_setup(database, sender, clock, may_prune=may_prune) as setup:
            webhook = await setup.register(URL)
            await setup.report()
            await setup.settle()
            await setup.pass_time(GIVEN_UP)
            await setup.pass_time(3600)
            await setup.pass_time(400 * DAY)
            asked = may_prune.await_count
            async with asyncio.timeout(PATIENCE):
                while may_prune.await_count < asked + 3:
                    await asyncio.sleep(0.01)
            assert await setup.store.list_pending(webhook.id, dead=True, limit=9)
            may_prune.return_value = True
            async with asyncio.timeout(PATIENCE):
                while await setup.store.list_pending(webhook.id, dead=True, limit=9):
                    await asyncio.sleep(0.01)


class TestAClockThatWasAhead:
    @pytest.mark.parametrize("answer", [AWAY, 500, 400])
    @pytest.mark.parametrize("failures", [1, 3, 6])
    async def test_a_receiver_that_failed_is_tried_again_when_the_clock_is_corrected(
        self, setup: DeliverySetup, sender: RecordingSender, failures: int, answer: Any
    ) -> None:
        setup.clock.at += 400 * DAY
        sender.answer = lambda *_: answer
        await setup.register(URL)
        cursor = await setup.report()
        await setup.settle()
        for _ in range(failures - 1):
            await setup.pass_time(200.0)
        tried = len(sender.got)
        assert tried >= failures
        sender.answer = 200
        setup.clock.at -= 400 * DAY
        await setup.until(lambda: len(sender.got) > tried)
        assert sender.cursors()[-1] == cursor
        await setup.settle()
        assert sender.cursors().count(cursor) == tried + 1
