"""Receivers that do not answer for days: what the gateway shows about them while their events wait or are given up."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from domogate.domain.estate import Estate
from domogate.domain.notices import NoticeKind
from domogate.ports import Undelivered
from domogate.services.webhooks.feed_reader import PAGE
from domogate.stores import SqlStore, sqlite_url
from support.clocks import ManualClock
from support.delivery_setup import (
    APP,
    GIVEN_UP,
    GUEST,
    LAMPS,
    OTHER,
    OWNER,
    DeliverySetup,
    RecordingSender,
    a_plant,
    open_delivery_setup,
)

pytestmark = pytest.mark.slow

URL = "https://receiver.example/"
AWAY = Undelivered("The receiver did not answer within 15 s.")
HOUR = 3_600.0


class TestTheWaitOfTheEvents:
    async def test_it_is_counted_although_the_events_are_still_in_the_feed(
        self, setup: DeliverySetup, sender: RecordingSender
    ) -> None:
        sender.answer = AWAY
        webhook = await setup.register(URL)
        began = setup.clock.now()
        await setup.report()
        await setup.settle()
        await setup.pass_time(2 * HOUR)
        assert await setup.store.list_pending(webhook.id, dead=False, limit=9) == []
        figures = await setup.store.count_figures(0.0)
        assert (figures.failing_webhooks, figures.oldest_pending) == (1, began)
        sender.answer = 200
        await setup.pass_time(HOUR)
        assert (await setup.store.count_figures(0.0)).oldest_pending is None

    async def test_a_webhook_that_has_ended_is_not_counted(self, setup: DeliverySetup, sender: RecordingSender) -> None:
        sender.answer = AWAY
        webhook = await setup.register(URL)
        await setup.report()
        await setup.settle()
        await setup.store.end_webhook(webhook.id, "gone", setup.clock.now())
        assert (await setup.store.count_figures(0.0)).oldest_pending is None


class TestTheBeginningOfTheFailure:
    async def test_it_is_kept_when_the_gateway_stops_before_it_tries_again(
        self, database: Path, sender: RecordingSender, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        clock, reading, stopping = ManualClock(), asyncio.Event(), asyncio.Event()
        sender.answer = AWAY
        async with open_delivery_setup(database, sender, clock) as one:
            webhook = await one.register(URL)
            began = clock.now()
            await one.report()
            await one.settle()
            read = one.store.list_changes_of

            async def read_slowly(*arguments: Any) -> Any:
                found = await read(*arguments)
                reading.set()
                await stopping.wait()
                return found

            monkeypatch.setattr(one.store, "list_changes_of", read_slowly)
            clock.advance(HOUR)
            await reading.wait()
            stopping.set()  # the attempt goes on at the next turn of the loop, when the dispatcher is stopping
        store = SqlStore(sqlite_url(database), clock=clock, temporary=True)
        await store.start()
        found = await store.find_webhook(webhook.id)
        await store.stop()
        assert found is not None
        assert (found.failing_since, found.failures, found.problem) == (began, 1, str(AWAY))

    async def test_it_is_kept_when_only_changes_for_others_follow(self, setup: DeliverySetup, sender: RecordingSender) -> None:
        sender.answer = AWAY
        webhook = await setup.register(URL, kinds=[NoticeKind.STATE])
        began = setup.clock.now()
        await setup.report()
        await setup.settle()
        await setup.pass_time(GIVEN_UP)
        await setup.pass_time(HOUR)
        renamed = Estate(users=(OWNER, GUEST), clients=(APP, OTHER), plants=(a_plant(name="House"),))
        await setup.store.import_estate(renamed, prune=False)
        await setup.settle()
        waiting = await setup.find(webhook)
        assert (waiting.position, waiting.failing_since) == (setup.changes[-1].cursor, began)
        sender.answer = 200
        await setup.report()
        await setup.settle()
        assert (await setup.find(webhook)).failing_since is None


class TestTheCountOfFailures:
    async def test_it_grows_while_old_events_become_dead_letters(self, setup: DeliverySetup, sender: RecordingSender) -> None:
        sender.answer = AWAY
        webhook = await setup.register(URL)
        await setup.report(LAMPS[0], 1)
        await setup.settle()
        await setup.pass_time(GIVEN_UP / 2)
        newer = await setup.report(LAMPS[1], 1)
        before = await setup.find(webhook)
        await setup.pass_time(GIVEN_UP / 2)
        dead = await setup.store.list_pending(webhook.id, dead=True, limit=9)
        after = await setup.find(webhook)
        assert ([item.change.cursor for item in dead], after.position) == ([newer - 1], newer - 1)
        assert (after.failures, after.failing_since) == (before.failures + 1, before.failing_since)
        assert after.next_at > setup.clock.now()
        assert after.problem == str(AWAY)


class TestEventsThatAreGivenUp:
    async def test_one_attempt_gives_up_all_that_are_too_old(self, setup: DeliverySetup, sender: RecordingSender) -> None:
        """A busy plant has more events in the time between two attempts than one page has."""
        sender.answer = AWAY
        webhook = await setup.register(URL)
        old = [await setup.report(LAMPS[0], n % 100) for n in range(2 * PAGE + 50)]
        await setup.settle()
        await setup.pass_time(GIVEN_UP / 2)
        newer = [await setup.report(LAMPS[1], n % 100) for n in range(PAGE)]
        await setup.pass_time(GIVEN_UP / 2)
        dead = await setup.store.list_pending(webhook.id, dead=True, limit=999)
        assert [item.change.cursor for item in dead] == old
        sender.answer = 200
        sender.got.clear()
        await setup.pass_time(HOUR)
        assert sender.cursors() == newer

    async def test_an_event_before_them_is_kept_if_the_clock_was_wrong_after_it(
        self, setup: DeliverySetup, sender: RecordingSender
    ) -> None:
        sender.answer = AWAY
        webhook = await setup.register(URL)
        kept = await setup.report(LAMPS[0], 1)
        await setup.settle()
        setup.clock.advance(-2 * GIVEN_UP)
        await setup.report(LAMPS[1], 1)
        await setup.settle()
        await setup.pass_time(2 * GIVEN_UP)
        await setup.pass_time(HOUR)
        assert (await setup.find(webhook)).position < kept
        sender.answer = 200
        sender.got.clear()
        await setup.pass_time(HOUR)
        assert kept in sender.cursors()
