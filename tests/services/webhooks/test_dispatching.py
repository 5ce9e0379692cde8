"""Which gateway delivers, how it stops, and failures of the gateway itself."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from domogate.ports import Undelivered
from support.deliveries import GIVEN_UP, LAMPS, PATIENCE, DeliverySetup, RecordingSender, open_house
from support.stores import HandClock

pytestmark = pytest.mark.slow

URL = "https://receiver.example/"
AWAY = Undelivered("The receiver did not answer within 15 s.")
DAY = 86_400.0


class TestSeveralGateways:
    async def test_exactly_one_delivers_and_another_takes_over(self, database: Path) -> None:
        clock, first, second = HandClock(), RecordingSender(), RecordingSender()
        async with (
            open_house(database, first, clock) as one,
            open_house(database, second, clock, estate=None) as two,
        ):
            webhook = await one.register(URL)
            await two.until(lambda: two.dispatcher.webhooks == 1)
            cursors = [await one.report(LAMPS[0], n) for n in range(10)]
            await one.settle()
            await two.until(lambda: len(first.got) + len(second.got) == 10)
            await one.dispatcher.stop()
            cursors.append(await two.report(LAMPS[0], 50))
            clock.at += 10
            await two.until(lambda: len(first.got) + len(second.got) == 11)
            assert sorted(first.cursors() + second.cursors()) == cursors
            await two.settle()
            assert (await two.find(webhook)).position == cursors[-1]

    async def test_one_that_died_is_replaced_once_its_time_is_up(self, database: Path) -> None:
        clock, first, second = HandClock(), RecordingSender(), RecordingSender()
        first.answer = lambda *_: asyncio.sleep(3600, 200)
        async with open_house(database, first, clock) as one:
            webhook = await one.register(URL)
            cursor = await one.report()
            await one.until(lambda: len(first.got) == 1)
            assert one.dispatcher._background is not None
            one.dispatcher._background.cancel()
            async with open_house(database, second, clock, estate=None) as two:
                await two.until(lambda: webhook.id in two.dispatcher._workers)
                await two.settle()
                assert second.got == []
                clock.at += 61
                await two.until(lambda: len(second.got) == 1)
                assert second.cursors() == [cursor]
                await two.settle()
            for task in one.dispatcher._running.values():
                task.cancel()

    async def test_one_that_is_found_in_the_store_while_it_is_registered_is_known_once(self, house: DeliverySetup) -> None:
        """Its worker knows about running deliveries, so it must not be replaced."""
        webhook = await house.register(URL)
        worker = house.dispatcher._workers[webhook.id]
        house.dispatcher.add(webhook)
        assert house.dispatcher._workers[webhook.id] is worker

    async def test_what_a_command_replays_or_removes_is_noticed(self, house: DeliverySetup, sender: RecordingSender) -> None:
        sender.answer = AWAY
        webhook = await house.register(URL)
        cursor = await house.report()
        await house.settle()
        await house.pass_time(GIVEN_UP)
        await house.pass_time(3600)
        sender.got.clear()
        sender.answer = 200
        await house.store.replay_dead(webhook.id, None, house.clock.now())
        await house.until(lambda: sender.cursors() == [cursor])
        await house.store.delete_webhook(webhook.id)
        await house.until(lambda: house.dispatcher.webhooks == 0)


class TestStopping:
    async def test_what_is_under_way_ends_and_counts(
        self, database: Path, sender: RecordingSender, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("domogate.services.webhooks.dispatcher._GRACE", PATIENCE)
        clock, going = HandClock(), asyncio.Event()

        async def take() -> int:
            going.set()
            await one.until(lambda: one.dispatcher._stopping)
            return 200

        sender.answer = lambda *_: take()
        async with open_house(database, sender, clock) as one:
            webhook = await one.register(URL)
            cursors = [await one.report(LAMPS[0], n) for n in range(5)]
            await going.wait()
        assert sender.cursors() == cursors[:1]
        sender.answer = 200
        async with open_house(database, sender, clock, estate=None) as two:
            await two.until(lambda: len(sender.got) >= 5)
            await two.settle()
            assert sender.cursors() == cursors
            assert (await two.find(webhook)).position == cursors[-1]

    async def test_a_receiver_that_hangs_does_not_hold_it_up(
        self, database: Path, sender: RecordingSender, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("domogate.services.webhooks.dispatcher._GRACE", 0.05)
        clock = HandClock()
        sender.answer = lambda *_: asyncio.sleep(3600, 200)
        async with open_house(database, sender, clock) as one:
            await one.register(URL)
            cursor = await one.report()
            await one.until(lambda: len(sender.got) == 1)
        sender.answer = 200
        async with open_house(database, sender, clock, estate=None) as two:
            await two.until(lambda: sender.cursors() == [cursor, cursor])


class TestTrouble:
    async def test_a_failure_of_our_own_is_tried_again(
        self, house: DeliverySetup, sender: RecordingSender, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        calls = 0
        real = house.store.list_changes_of

        async def failing(*arguments: Any) -> Any:
            nonlocal calls
            calls += 1
            if calls == 1:
                raise OSError("disk")
            return await real(*arguments)

        monkeypatch.setattr(house.store, "list_changes_of", failing)
        await house.register(URL)
        cursor = await house.report()
        await house.settle()
        await house.pass_time(5)
        assert sender.cursors() == [cursor]

    async def test_a_store_that_fails_while_a_receiver_takes_its_time_does_not_end_the_watch(
        self, house: DeliverySetup, sender: RecordingSender, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Otherwise nothing would be tried again, without any error."""
        asked, failed, answered = asyncio.Event(), asyncio.Event(), asyncio.Event()

        async def take() -> Any:
            asked.set()
            await answered.wait()
            return AWAY

        async def fail(*_: Any) -> None:
            failed.set()
            raise OSError("disk")

        sender.answer = lambda *_: take()
        await house.register(URL)
        cursor = await house.report()
        await asked.wait()
        with monkeypatch.context() as patched:
            patched.setattr(house.store, "claim_webhook", fail)
            house.clock.at += 6.0  # more than half of the time for which it is held
            await failed.wait()
        answered.set()
        await house.settle()
        sender.answer = 200
        await house.pass_time(10)
        assert sender.cursors()[-1] == cursor
        assert len(sender.got) == 2

    async def test_dead_letters_past_keeping_go(self, house: DeliverySetup, sender: RecordingSender) -> None:
        sender.answer = AWAY
        webhook = await house.register(URL)
        await house.report()
        await house.settle()
        await house.pass_time(GIVEN_UP)
        await house.pass_time(3600)
        assert await house.store.list_pending(webhook.id, dead=True, limit=9)
        await house.pass_time(31 * DAY)
        assert await house.store.list_pending(webhook.id, dead=True, limit=9) == []
