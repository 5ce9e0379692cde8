"""Webhooks of all applications, as operators see and manage them."""

from typing import Any

import msgspec
import pytest

from domogate.domain.events import Change, StateChanged
from domogate.domain.ids import Id
from domogate.domain.states import LightState
from domogate.domain.webhooks import PendingDelivery
from domogate.ports import Undelivered
from support.clocks import NOW
from support.management_setup import ManagementApi
from support.stores import APP, BRUNO, HOUSE, LAMP, a_webhook, an_id

pytestmark = pytest.mark.slow


def a_dead_letter(cursor: int, webhook_id: Id) -> PendingDelivery:
    event = StateChanged(plant_id=HOUSE.id, module_id=LAMP.id, state=LightState(on=True), reachable=True, at=NOW)
    return PendingDelivery(
        webhook_id=webhook_id, change=Change(cursor, NOW, event), module_id=LAMP.id, attempts=9, next_at=NOW,
        problem="The receiver answered 500.", dead_at=NOW,
    )  # fmt: skip


@pytest.fixture
async def with_webhooks(api: ManagementApi) -> ManagementApi:
    store = api.env.store
    await store.add_webhook(a_webhook(700))
    await store.add_webhook(a_webhook(701, user_id=BRUNO.id))
    for cursor in (4, 5, 6):
        await store.save_pending(a_webhook(700), a_dead_letter(cursor, an_id(700)))
    return api


class TestReading:
    async def test_all_are_listed_in_pages_without_their_secrets(self, with_webhooks: ManagementApi) -> None:
        first = await with_webhooks.ok("GET", "/webhooks?limit=1")
        rest = await with_webhooks.ok("GET", f"/webhooks?after={first['next']}")
        assert [one["id"] for one in [*first["items"], *rest["items"]]] == [an_id(700), an_id(701)]
        assert "secret" not in msgspec.json.encode([first, rest]).decode()
        assert (await with_webhooks.ok("GET", f"/webhooks?plantId={an_id(999)}"))["items"] == []
        await with_webhooks.refused("GET", "/webhooks?plantId=x", status=400)

    async def test_those_with_dead_letters_are_found_also_after_their_end(self, with_webhooks: ManagementApi) -> None:
        for _ in range(2):
            found = (await with_webhooks.ok("GET", "/webhooks?deadLetters=true"))["items"]
            assert [one["id"] for one in found] == [an_id(700)]
            await with_webhooks.env.store.end_webhook(an_id(700), "It is over.", NOW)
        assert len((await with_webhooks.ok("GET", "/webhooks?deadLetters=false"))["items"]) == 2
        await with_webhooks.refused("GET", "/webhooks?deadLetters=x", status=400)

    async def test_one_is_shown_and_an_unknown_one_is_404(self, with_webhooks: ManagementApi) -> None:
        shown = await with_webhooks.ok("GET", f"/webhooks/{an_id(700)}")
        assert (shown["url"], shown["lastCursor"], shown["clientId"]) == ("https://receiver.example/700", "3", APP.id)
        for nobody in (an_id(999), "x"):
            await with_webhooks.refused("GET", f"/webhooks/{nobody}", status=404)


class TestDeadLetters:
    async def test_they_are_listed_in_pages(self, with_webhooks: ManagementApi) -> None:
        first = await with_webhooks.ok("GET", f"/webhooks/{an_id(700)}/dead-letters?limit=2")
        assert [one["id"] for one in first["items"]] == ["4", "5"]
        assert (first["items"][0]["attempts"], first["items"][0]["what"]) == (9, "module")
        rest = await with_webhooks.ok("GET", f"/webhooks/{an_id(700)}/dead-letters?after={first['next']}")
        assert ([one["id"] for one in rest["items"]], rest["next"]) == (["6"], None)
        named = await with_webhooks.ok("GET", f"/webhooks/{an_id(700)}/dead-letters?names=true&limit=2")
        assert named["items"] == [one | {"moduleName": LAMP.name} for one in first["items"]]
        await with_webhooks.refused("GET", f"/webhooks/{an_id(700)}/dead-letters?after=x", status=400)
        await with_webhooks.refused("GET", f"/webhooks/{an_id(999)}/dead-letters", status=404)

    async def test_they_are_replayed_and_the_replay_is_noted(self, with_webhooks: ManagementApi) -> None:
        at = f"/webhooks/{an_id(700)}/dead-letters/replay"
        assert await with_webhooks.ok("POST", at, {"ids": ["5", "77"]}) == {"replayed": 1}
        assert await with_webhooks.ok("POST", at, {}) == {"replayed": 2}
        assert await with_webhooks.ok("POST", at, {}) == {"replayed": 0}
        assert (await with_webhooks.env.noted()).count("dead letters replayed") == 2
        waiting = await with_webhooks.env.store.list_pending(an_id(700), dead=False, limit=9)
        assert [item.change.cursor for item in waiting] == [4, 5, 6]
        wrong_bodies: list[Any] = [{"ids": ["x"]}, {"ids": 5}, {"more": 1}, []]
        for wrong in wrong_bodies:
            await with_webhooks.refused("POST", at, wrong, status=400)
        await with_webhooks.refused("POST", f"/webhooks/{an_id(999)}/dead-letters/replay", {}, status=404)

    async def test_nothing_is_replayed_for_a_webhook_that_has_ended(self, with_webhooks: ManagementApi) -> None:
        await with_webhooks.env.store.end_webhook(an_id(700), "The plant was removed.", NOW)
        detail = await with_webhooks.refused("POST", f"/webhooks/{an_id(700)}/dead-letters/replay", {}, status=409)
        assert "The plant was removed." in detail


class TestRemoving:
    async def test_it_is_removed_with_its_dead_letters_and_the_removal_is_noted(self, with_webhooks: ManagementApi) -> None:
        await with_webhooks.ok("DELETE", f"/webhooks/{an_id(700)}", status=204)
        await with_webhooks.refused("DELETE", f"/webhooks/{an_id(700)}", status=404)
        await with_webhooks.refused("GET", f"/webhooks/{an_id(700)}/dead-letters", status=404)
        assert "webhook removed" in await with_webhooks.env.noted()


class TestDeliveries:
    async def test_a_test_event_is_signed_sent_and_listed(self, with_webhooks: ManagementApi) -> None:
        api, webhook = with_webhooks, f"/webhooks/{an_id(700)}"
        assert await api.ok("POST", f"{webhook}/test") == {"taken": True, "status": 200, "problem": ""}
        ((url, body, headers),) = api.sender.got
        assert url == "https://receiver.example/700"
        assert msgspec.json.decode(body)["type"] == "domogate.test"
        assert headers["webhook-signature"]
        api.sender.answer = Undelivered("The receiver did not answer.")
        api.env.clock.at += 1
        refused = await api.ok("POST", f"{webhook}/test")
        assert (refused["taken"], refused["status"], refused["problem"]) == (False, None, "The receiver did not answer.")
        listed = await api.ok("GET", f"{webhook}/deliveries")
        assert listed["gateway"] is None  # not in a cluster
        found = listed["items"]
        assert [(one["status"], one["problem"], one["attempt"]) for one in found] == [
            (None, "The receiver did not answer.", 1), (200, "", 1),
        ]  # fmt: skip
        assert found[1]["eventId"] == headers["webhook-id"]
        assert found[1]["milliseconds"] >= 0
        assert (await api.ok("GET", f"/webhooks/{an_id(701)}/deliveries"))["items"] == []

    async def test_test_events_are_limited_and_refused_for_an_ended_webhook(self, with_webhooks: ManagementApi) -> None:
        api, webhook = with_webhooks, f"/webhooks/{an_id(700)}"
        for _ in range(10):
            await api.ok("POST", f"{webhook}/test")
        limited = await api.send("POST", f"{webhook}/test")
        assert (limited.status_code, int(limited.headers["retry-after"])) == (429, 60)
        await api.env.store.end_webhook(an_id(701), "It is over.", NOW)
        assert "It is over." in await api.refused("POST", f"/webhooks/{an_id(701)}/test", status=409)
        for path in ("test", "deliveries"):
            method = "POST" if path == "test" else "GET"
            await api.refused(method, f"/webhooks/{an_id(999)}/{path}", status=404)
