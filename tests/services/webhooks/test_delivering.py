"""Deliveries: every event once without failures, in order per module, and no event lost with failures."""

import asyncio
from typing import Any

import msgspec
import pytest
from cloudevents.core.bindings.http import HTTPMessage, from_http_event
from cloudevents.core.formats.json import JSONFormat

from domogate.domain.notices import NoticeKind
from domogate.domain.people import Scope
from domogate.domain.webhooks import WebhookFormat
from domogate.ports import Delivered, Undelivered
from domogate.services.webhooks import feed_reader, worker
from support.delivery_setup import GIVEN_UP, HOME, LAMPS, PLUG, SOURCE, THERMOSTAT, DeliverySetup, RecordingSender

pytestmark = pytest.mark.slow

URL = "https://receiver.example/"
AWAY = Undelivered("The receiver did not answer within 15 s.")


class TestAllGoesWell:
    @pytest.mark.story
    async def test_what_happens_from_the_registration_on_is_told(self, setup: DeliverySetup, sender: RecordingSender) -> None:
        await setup.report(LAMPS[0], 1)
        webhook = await setup.register(URL)
        cursors = [await setup.report(LAMPS[n % 3], 10 + n) for n in range(7)]
        await setup.settle()
        assert sorted(sender.cursors()) == cursors
        assert (await setup.find(webhook)).position == cursors[-1]

    @pytest.mark.story
    async def test_the_body_is_a_cloud_event_by_the_standard_s_own_package(
        self, setup: DeliverySetup, sender: RecordingSender
    ) -> None:
        await setup.register(URL)
        cursor = await setup.report(LAMPS[0], 42)
        await setup.settle()
        ((_, body, headers),) = sender.got
        assert headers["content-type"] == "application/cloudevents+json"
        event = from_http_event(_message(headers, body), JSONFormat())
        assert (event.get_id(), event.get_source(), event.get_type()) == (str(cursor), SOURCE, "domogate.state")
        assert event.get_subject() == f"plants/{HOME}/modules/{LAMPS[0].id}"
        data: Any = event.get_data()
        assert data["state"]["level"] == 42

    async def test_nothing_is_sent_twice_and_nothing_runs_when_nothing_happens(
        self, setup: DeliverySetup, sender: RecordingSender
    ) -> None:
        await setup.register(URL)
        await setup.report()
        await setup.settle()
        await setup.pass_time(7200)
        assert len(sender.got) == 1
        assert setup.dispatcher.running == 0

    async def test_more_than_a_page_arrives_whole_and_in_order(
        self, setup: DeliverySetup, sender: RecordingSender, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for module in (feed_reader, worker):
            monkeypatch.setattr(module, "PAGE", 5)
        sender.answer = AWAY
        await setup.register(URL)
        cursors = [await setup.report(LAMPS[0], n) for n in range(23)]
        await setup.settle()
        sender.got.clear()
        sender.answer = 200
        await setup.pass_time(10)
        assert sender.cursors() == cursors

    async def test_each_module_s_are_in_order_while_several_are_under_way(
        self, setup: DeliverySetup, sender: RecordingSender
    ) -> None:
        under_way = most = 0
        all_reported = asyncio.Event()

        async def take() -> int:
            nonlocal under_way, most
            under_way += 1
            most = max(most, under_way)
            await all_reported.wait()
            await asyncio.sleep(0)
            under_way -= 1
            return 200

        sender.answer = lambda *_: take()
        await setup.register(URL)
        for n in range(60):
            await setup.report(LAMPS[n % 6], n)
        all_reported.set()
        await setup.settle()
        assert most == 4
        for lamp in LAMPS:
            mine = [int(event["id"]) for event in sender.events() if event["data"]["moduleId"] == lamp.id]
            assert mine == sorted(mine)
            assert len(mine) == 10

    async def test_only_the_kinds_that_were_asked_for(self, setup: DeliverySetup, sender: RecordingSender) -> None:
        await setup.register(URL, kinds=[NoticeKind.REACHABILITY])
        await setup.report(LAMPS[0], 1)
        gone = await setup.report(LAMPS[0], 1, reachable=False)
        back = await setup.report(LAMPS[0], 2)
        await setup.settle()
        assert sender.cursors() == [gone, back]
        assert {event["type"] for event in sender.events()} == {"domogate.reachability"}

    async def test_only_what_the_application_was_let_in_for(self, setup: DeliverySetup, sender: RecordingSender) -> None:
        await setup.register(URL, await setup.grant_access(scopes=(Scope.PLUG_READ,)))
        await setup.report(LAMPS[0], 1)
        of_plug = await setup.report(PLUG, 1)
        await setup.report(LAMPS[0], 2)
        await setup.settle()
        assert sender.cursors() == [of_plug]

    async def test_two_webhooks_have_ids_of_their_own_for_the_same_event(
        self, setup: DeliverySetup, sender: RecordingSender
    ) -> None:
        who = await setup.grant_access()
        for path in ("a", "b"):
            await setup.register(URL + path, who)
        await setup.report()
        await setup.settle()
        ids = [headers["webhook-id"] for _, _, headers in sender.got]
        assert len(set(ids)) == 2
        assert len({event["id"] for event in sender.events()}) == 1

    async def test_thermostats_are_told_in_their_own_form_and_nothing_else(
        self, setup: DeliverySetup, sender: RecordingSender
    ) -> None:
        await setup.register(URL, form=WebhookFormat.THERMOSTAT)
        await setup.report(LAMPS[0], 1)
        cursor = await setup.report(THERMOSTAT, 105)
        await setup.report(THERMOSTAT, 105, reachable=False)
        await setup.settle()
        (((_, body, headers)),) = sender.got
        (told,) = msgspec.json.decode(body)
        assert headers["content-type"] == "application/json"
        assert (told["id"], told["eventType"]) == (str(cursor), "DeviceToCloud")
        (shown,) = told["data"]["chronothermostats"]
        assert shown["setPoint"] == {"value": "20.5", "unit": "C"}
        assert shown["sender"]["plant"] == {"id": HOME, "module": {"id": THERMOSTAT.id}}


def _message(headers: Any, body: bytes) -> Any:
    return HTTPMessage(headers=dict(headers), body=body)


class TestAReceiverThatIsAway:
    async def test_a_day_later_it_gets_everything_in_order(self, setup: DeliverySetup, sender: RecordingSender) -> None:
        sender.answer = AWAY
        webhook = await setup.register(URL)
        cursors = []
        for hour in range(24):
            cursors += [await setup.report(LAMPS[n], hour) for n in range(3)]
            await setup.pass_time(3600)
        failing = await setup.find(webhook)
        assert failing.failing_since is not None
        assert failing.next_at > setup.clock.now()
        assert "did not answer" in failing.problem
        assert 20 < failing.failures < 60
        sender.got.clear()
        sender.answer = 200
        await setup.pass_time(3600)
        assert sorted(sender.cursors()) == cursors
        well = await setup.find(webhook)
        assert (well.position, well.failing_since, well.failures, well.problem) == (cursors[-1], None, 0, "")
        assert await setup.store.list_pending(webhook.id, dead=True, limit=9) == []

    async def test_nothing_is_copied_meanwhile_and_it_is_tried_more_and_more_seldom(
        self, setup: DeliverySetup, sender: RecordingSender
    ) -> None:
        sender.answer = AWAY
        webhook = await setup.register(URL)
        await setup.report()
        await setup.settle()
        pauses = []
        for _ in range(14):
            now = setup.clock.now()
            next_at = (await setup.find(webhook)).next_at
            pauses.append(next_at - now)
            await setup.report(LAMPS[1])
            await setup.pass_time(next_at - now)
        assert len(sender.got) <= 15 * 4
        assert all(0.8 * 5 * 2**n <= retry_delay <= 5 * 2**n for n, retry_delay in enumerate(pauses[:9]))
        assert all(0.8 * 3600 <= retry_delay <= 3600 for retry_delay in pauses[11:])
        assert await setup.store.list_pending(webhook.id, dead=False, limit=9) == []

    async def test_what_is_too_old_dies_and_the_rest_goes_on(self, setup: DeliverySetup, sender: RecordingSender) -> None:
        sender.answer = AWAY
        webhook = await setup.register(URL)
        old = [await setup.report(LAMPS[n], 1) for n in range(2)]
        await setup.settle()
        for _ in range(5):
            await setup.pass_time(GIVEN_UP / 5)
        newer = await setup.report(LAMPS[0], 2)
        await setup.pass_time(3600)
        dead = await setup.store.list_pending(webhook.id, dead=True, limit=9)
        assert [delivery.change.cursor for delivery in dead] == old
        still = await setup.find(webhook)
        assert still.position == old[-1]
        assert still.failing_since is not None
        assert still.failing_since < setup.clock.now() - GIVEN_UP
        sender.got.clear()
        sender.answer = 200
        await setup.pass_time(3600)
        assert sender.cursors() == [newer]

    async def test_dead_letters_are_replayed_and_taken(self, setup: DeliverySetup, sender: RecordingSender) -> None:
        sender.answer = AWAY
        who = await setup.grant_access()
        webhook = await setup.register(URL, who)
        old = [await setup.report(LAMPS[n % 2], n) for n in range(4)]
        await setup.settle()
        await setup.pass_time(GIVEN_UP)
        await setup.pass_time(3600)
        assert [one.change.cursor for one in await setup.webhooks.list_dead(who, webhook.id, after=0, limit=9)] == old
        sender.got.clear()
        sender.answer = 200
        assert await setup.webhooks.replay(who, webhook.id, [old[1]]) == 1
        await setup.pass_time(3600)
        assert sender.cursors() == [old[1]]
        assert await setup.webhooks.replay(who, webhook.id, None) == 3
        await setup.settle()
        await setup.until(lambda: len(sender.got) == 4)
        assert sorted(sender.cursors()) == old
        assert await setup.store.list_pending(webhook.id, dead=True, limit=9) == []

    @pytest.mark.parametrize("status", [429, 502, 503, 504])
    async def test_one_that_is_busy_is_left_alone_for_as_long_as_it_asks(
        self, setup: DeliverySetup, sender: RecordingSender, status: int
    ) -> None:
        sender.answer = Delivered(status, 600.0)
        webhook = await setup.register(URL)
        cursors = [await setup.report(LAMPS[n], 1) for n in range(3)]
        await setup.settle()
        assert (await setup.find(webhook)).next_at == setup.clock.now() + 600
        tried = len(sender.got)
        sender.answer = 200
        await setup.pass_time(599)
        assert len(sender.got) == tried
        await setup.pass_time(1)
        assert sorted(set(sender.cursors()[tried:])) == cursors

    async def test_one_event_that_hangs_does_not_keep_the_others(self, setup: DeliverySetup, sender: RecordingSender) -> None:
        poison = LAMPS[2].id
        sender.answer = lambda _, event: AWAY if event["data"]["moduleId"] == poison else 200
        webhook = await setup.register(URL)
        bad = await setup.report(LAMPS[2], 1)
        await setup.settle()
        good = [await setup.report(LAMPS[0], n) for n in range(3)]
        behind = await setup.report(LAMPS[2], 2)
        await setup.pass_time(10)
        assert set(good) <= set(sender.cursors())
        assert behind not in sender.cursors()
        sender.answer = 200
        await setup.pass_time(3600)
        assert sender.cursors()[-2:] == [bad, behind]
        assert (await setup.find(webhook)).next_at == 0


class TestAnEventThatIsNotTaken:
    async def test_it_is_parked_and_its_module_waits_while_the_others_go_on(
        self, setup: DeliverySetup, sender: RecordingSender
    ) -> None:
        sender.answer = lambda _, event: 400 if event["data"]["moduleId"] == LAMPS[0].id else 200
        webhook = await setup.register(URL)
        first = await setup.report(LAMPS[0], 1)
        others = [await setup.report(LAMPS[1], n) for n in range(3)]
        second, third = await setup.report(LAMPS[0], 2), await setup.report(LAMPS[0], 3)
        await setup.settle()
        assert sorted(sender.cursors()) == sorted([first, *others])
        waiting = await setup.store.list_pending(webhook.id, dead=False, limit=9)
        assert [item.change.cursor for item in waiting] == [first, second, third]
        assert waiting[0].problem == "The receiver answered 400."
        found = await setup.find(webhook)
        assert (found.position, found.failing_since) == (third, None)
        assert (found.next_at, found.problem) == (waiting[0].next_at, "The receiver answered 400.")
        sender.answer = 200
        sender.got.clear()
        await setup.pass_time(5)
        assert sender.cursors() == [first, second, third]
        assert await setup.store.list_pending(webhook.id, dead=False, limit=9) == []
        assert (await setup.find(webhook)).next_at == 0

    async def test_it_is_tried_again_later_and_later_and_dies_in_the_end(
        self, setup: DeliverySetup, sender: RecordingSender
    ) -> None:
        sender.answer = 500
        who = await setup.grant_access()
        webhook = await setup.register(URL, who)
        bad = await setup.report(LAMPS[0], 1)
        await setup.settle()
        for _ in range(100):
            (item,) = await setup.store.list_pending(webhook.id, dead=False, limit=9)
            await setup.pass_time(item.next_at - setup.clock.now())
            if await setup.store.list_pending(webhook.id, dead=True, limit=9):
                break
        (dead,) = await setup.webhooks.list_dead(who, webhook.id, after=0, limit=9)
        assert dead.change.cursor == bad
        assert GIVEN_UP <= setup.clock.now() - dead.change.at < GIVEN_UP + 3600
        assert 70 < len(sender.got) < 100
        assert dead.attempts == len(sender.got)
        sender.answer = 200
        later = await setup.report(LAMPS[0], 2)
        await setup.settle()
        assert sender.cursors()[-1] == later

    async def test_what_waits_behind_a_letter_that_dies_is_tried(self, setup: DeliverySetup, sender: RecordingSender) -> None:
        sender.answer = 400
        webhook = await setup.register(URL)
        bad = await setup.report(LAMPS[0], 1)
        await setup.settle()
        await setup.pass_time(GIVEN_UP - 60)
        good = await setup.report(LAMPS[0], 2)
        await setup.settle()
        sender.answer = lambda _, event: 400 if event["id"] == str(bad) else 200
        await setup.pass_time(3600)
        assert sender.cursors()[-1] == good
        assert [one.change.cursor for one in await setup.store.list_pending(webhook.id, dead=True, limit=9)] == [bad]

    async def test_a_redirect_is_not_taken_and_says_so(self, setup: DeliverySetup, sender: RecordingSender) -> None:
        sender.answer = 302
        webhook = await setup.register(URL)
        await setup.report()
        await setup.settle()
        (item,) = await setup.store.list_pending(webhook.id, dead=False, limit=9)
        assert "Redirects are not followed" in item.problem

    async def test_410_ends_it(self, setup: DeliverySetup, sender: RecordingSender) -> None:
        sender.answer = 410
        webhook = await setup.register(URL)
        await setup.report()
        await setup.settle()
        found = await setup.find(webhook)
        assert found.ended_at is not None
        assert "410" in found.ended_why
        await setup.report()
        await setup.settle()
        assert len(sender.got) == 1
        assert setup.dispatcher.webhooks == 0
