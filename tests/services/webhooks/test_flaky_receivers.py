"""Receivers that fail some of the time: they get every event soon, and nothing piles up in the database."""

import random
from collections.abc import Callable
from typing import Any

import pytest

from domogate.domain.events import Change
from domogate.domain.webhooks import Webhook
from domogate.ports import Delivered, Undelivered
from support.delivery_setup import GIVEN_UP, HOME, LAMPS, DeliverySetup, RecordingSender
from support.examples import is_long

pytestmark = pytest.mark.slow

URL = "https://receiver.example/"
AWAY = Undelivered("The receiver closed the connection.")
_MANY_EVENTS = (2_000, 6, 420.0) if is_long() else (400, 6, 180.0)
"""Events, lamps and the time limit. The events are many times the number of rows that may wait."""
_SOME_EVENTS, _FEW_EVENTS = (400, 200) if is_long() else (200, 80)


class FlakyReceiver:
    """Fails when `fails` says so, and records accepted events."""

    def __init__(self, failure: Any, fails: Callable[[], bool]) -> None:
        self._failure = failure
        self._fails = fails
        self.accepted: list[tuple[str, int]] = []

    def __call__(self, _: str, event: Any) -> Any:
        if self._fails():
            return self._failure
        self.accepted.append((event["data"]["moduleId"], int(event["id"])))
        return 200


def every_second() -> Callable[[], bool]:
    count = 0

    def fails() -> bool:
        nonlocal count
        count += 1
        return count % 2 == 0

    return fails


def half_at_random() -> Callable[[], bool]:
    dice = random.Random(11)
    return lambda: dice.random() < 0.5


async def pass_until(setup: DeliverySetup, holds: Callable[[], bool], *, within: float) -> None:
    """Advance the clock in small steps until `holds`. Fails after `within` simulated seconds."""
    await setup.settle()
    end = setup.clock.now() + within
    while not holds():
        assert setup.clock.now() < end, f"not within {within} s"
        await setup.pass_time(0.25)


async def count_rows(setup: DeliverySetup, webhook: Webhook) -> int:
    return sum([len(await setup.store.list_pending(webhook.id, dead=dead, limit=10_000)) for dead in (False, True)])


class TestAReceiverThatAnswersHalfOfTheTime:
    @pytest.mark.parametrize(
        ("failure", "fails", "events", "lamps", "within"),
        [
            (AWAY, every_second, *_MANY_EVENTS),
            (AWAY, half_at_random, _SOME_EVENTS, 6, 300.0),
            (AWAY, every_second, _FEW_EVENTS, 1, 120.0),
            (Delivered(503), every_second, _FEW_EVENTS, 6, 120.0),
            (Delivered(429, 0.2), half_at_random, _FEW_EVENTS, 6, 120.0),
            (500, half_at_random, _FEW_EVENTS, 6, 120.0),
        ],
        ids=["many events", "at random", "one module", "503", "429", "500"],
    )
    async def test_it_gets_every_event_in_order_within_minutes(
        self, setup: DeliverySetup, sender: RecordingSender, failure: Any, fails: Any, events: int, lamps: int, within: float
    ) -> None:
        receiver = FlakyReceiver(failure, fails())
        webhook = await setup.register(URL)
        await setup.report(LAMPS[0], 100)
        await setup.settle()
        sender.answer = receiver
        most_rows = 0
        reported: list[tuple[str, int]] = []
        for n in range(events):
            lamp = LAMPS[n % lamps]
            reported.append((lamp.id, await setup.report(lamp, n % 100)))
            if n % 100 == 0:
                most_rows = max(most_rows, await count_rows(setup, webhook))
        await pass_until(setup, lambda: len(receiver.accepted) >= events, within=within)
        assert sorted(receiver.accepted) == sorted(reported)
        for lamp in LAMPS:
            cursors = [cursor for module_id, cursor in receiver.accepted if module_id == lamp.id]
            assert cursors == sorted(cursors)
        assert max(most_rows, await count_rows(setup, webhook)) <= 50
        await setup.pass_time(60)
        found = await setup.find(webhook)
        assert (found.position, found.failing_since, found.failures, found.next_at) == (reported[-1][1], None, 0, 0)

    async def test_one_that_goes_away_is_tried_a_few_times_and_then_left_alone(
        self, setup: DeliverySetup, sender: RecordingSender
    ) -> None:
        webhook = await setup.register(URL)
        for lamp in LAMPS:
            await setup.report(lamp, 1)
        await setup.settle()
        sender.got.clear()
        sender.answer = AWAY
        for lamp in LAMPS:
            await setup.report(lamp, 2)
        for _ in range(12):
            await setup.pass_time(0.25)
        assert len(sender.got) <= 16
        assert (await setup.find(webhook)).failing_since is not None
        sender.got.clear()
        for _ in range(240):
            await setup.pass_time(1.0)
        assert len(sender.got) <= 6 * 4

    async def test_one_event_that_fails_always_is_set_aside_soon(self, setup: DeliverySetup, sender: RecordingSender) -> None:
        sender.answer = lambda _, event: 500 if event["data"]["moduleId"] == LAMPS[0].id else 200
        webhook = await setup.register(URL)
        await setup.report(LAMPS[1], 1)
        await setup.settle()
        bad = await setup.report(LAMPS[0], 1)
        for n in range(40):
            await setup.report(LAMPS[1], n)
            await setup.pass_time(0.5)
        (waiting,) = await setup.store.list_pending(webhook.id, dead=False, limit=9)
        assert waiting.change.cursor == bad
        assert sender.cursors().count(bad) <= 12


class TestWaitingEventsAreReferences:
    async def wait_behind_a_refused_event(self, setup: DeliverySetup, sender: RecordingSender) -> tuple[Webhook, list[Change]]:
        sender.answer = 400
        webhook = await setup.register(URL)
        for n in range(5):
            await setup.report(LAMPS[0], n)
        await setup.settle()
        return webhook, [item.change for item in await setup.store.list_pending(webhook.id, dead=False, limit=9)]

    async def test_they_survive_the_pruning_of_the_feed(self, setup: DeliverySetup, sender: RecordingSender) -> None:
        webhook, before = await self.wait_behind_a_refused_event(setup, sender)
        assert len(before) == 5
        await setup.report(LAMPS[1], 1)
        await setup.store.prune_changes(setup.clock.now() + 1)
        assert (await setup.store.feed_span())[0] > before[-1].cursor
        await setup.settle()  # the receiver refuses the event of the other lamp too
        waiting = [item.change for item in await setup.store.list_pending(webhook.id, dead=False, limit=9)]
        assert waiting[:5] == before
        sender.got.clear()
        sender.answer = 200
        await setup.pass_time(3600)
        assert [cursor for cursor in sender.cursors() if cursor <= before[-1].cursor] == [change.cursor for change in before]

    async def test_dead_letters_are_replayed_after_the_feed_was_pruned(
        self, setup: DeliverySetup, sender: RecordingSender
    ) -> None:
        webhook, before = await self.wait_behind_a_refused_event(setup, sender)
        for _ in range(80):
            await setup.pass_time(GIVEN_UP / 70)
        await setup.report(LAMPS[1], 1)
        await setup.store.prune_changes(setup.clock.now() + 1)
        dead = await setup.store.list_pending(webhook.id, dead=True, limit=9)
        assert [item.change for item in dead][:5] == before
        sender.got.clear()
        sender.answer = 200
        await setup.store.replay_dead(webhook.id, None, setup.clock.now())
        setup.dispatcher.wake(webhook.id)
        await setup.settle()
        await setup.until(lambda: {change.cursor for change in before} <= set(sender.cursors()))
        assert {event["data"]["plantId"] for event in sender.events()} == {HOME}
