"""`domogate webhook …`, and the addresses that the demo allows."""

import asyncio
from pathlib import Path

from domogate.app.parts import SystemClock
from domogate.cli.demo import _allow_own_receivers
from domogate.domain.events import Change, StateChanged
from domogate.domain.states import LightState
from domogate.domain.webhooks import PendingDelivery
from domogate.settings import Settings
from domogate.stores import SqlStore, sqlite_url
from support.clocks import NOW
from support.command_line import CommandLine
from support.stores import HOUSE, LAMP, SMALL, a_webhook, an_id


async def _prepare(data: Path) -> None:
    data.mkdir(mode=0o700)
    store = SqlStore(sqlite_url(data / "domogate.sqlite3"), clock=SystemClock(), gateway=False)
    await store.start()
    try:
        await store.import_estate(SMALL, prune=False)
        webhook = a_webhook()
        await store.add_webhook(webhook)
        event = StateChanged(plant_id=HOUSE.id, module_id=LAMP.id, state=LightState(on=True), reachable=True, at=NOW)
        for cursor in (4, 5):
            await store.save_pending(
                webhook,
                PendingDelivery(
                    webhook_id=webhook.id, change=Change(cursor, NOW, event), module_id=LAMP.id, attempts=9, next_at=NOW,
                    problem="The receiver answered 500.", dead_at=NOW,
                )
            )  # fmt: skip
    finally:
        await store.stop()


class TestTheCommands:
    def test_they_list_show_replay_and_remove(self, domogate: CommandLine) -> None:
        asyncio.run(_prepare(domogate.data))

        def webhook(*arguments: str, ends_with: int = 0) -> str:
            done = domogate.run("webhook", *arguments)
            assert done.exit_code == ends_with, done.output
            return done.output

        assert "https://receiver.example/" in webhook("list")
        assert webhook("list", "--plant", HOUSE.name) == webhook("list")
        assert "healthy" in webhook("show", an_id(700))
        assert "whsec" not in webhook("show", an_id(700), "--json")
        assert "The receiver answered 500." in webhook("dead", an_id(700))
        assert [one["id"] for one in domogate.read("webhook", "dead", an_id(700), "--after", "4")] == ["5"]
        assert "1 dead letter is delivered again" in webhook("replay", an_id(700), "4", "77")
        assert "1 dead letter is delivered again" in webhook("replay", an_id(700))
        assert "no such dead letters" in webhook("replay", an_id(700), ends_with=1)
        assert "whole number" in webhook("replay", an_id(700), "x", ends_with=1)
        assert "There is no webhook" in webhook("show", an_id(701), ends_with=1)
        assert "is not the id" in webhook("show", "x", ends_with=1)
        webhook("remove", an_id(700))
        assert "receiver.example" not in webhook("list")


class TestTheDemo:
    def test_it_allows_this_machine_unless_something_is_set(self) -> None:
        assert _allow_own_receivers(Settings(), frozenset()).webhook_networks == ("127.0.0.0/8", "::1")
        other = Settings(webhook_networks=("10.0.0.0/8",))
        assert _allow_own_receivers(other, frozenset({"webhook_networks"})) is other
        assert _allow_own_receivers(Settings(), frozenset({"webhook_networks"})).webhook_networks == ()
