"""`domogate webhook …` on a store, and what the demo allows by itself."""

import asyncio
import json
import time
from pathlib import Path

from domogate.cli.demo import _allow_own_receivers
from domogate.domain.events import Change, StateChanged
from domogate.domain.states import LightState
from domogate.domain.webhooks import Parked, Webhook
from domogate.settings import Settings
from domogate.stores import SqlStore, sqlite_url
from support.gateway import run_command
from support.restarting import clean_environment
from support.stores import ANNA, APP, HOUSE, LAMP, NOW, SMALL, an_id


class _Clock:
    def now(self) -> float:
        return time.time()


async def _prepare(data: Path) -> None:
    data.mkdir(mode=0o700)
    store = SqlStore(sqlite_url(data / "domogate.sqlite3"), clock=_Clock(), gateway=False)
    await store.start()
    try:
        await store.import_estate(SMALL, prune=False)
        webhook = Webhook(
            id=an_id(700), client_id=APP.id, user_id=ANNA.id, grant_id=an_id(5), plant_id=HOUSE.id,
            url="https://receiver.example/", secret="whsec_c2VjcmV0", created_at=NOW, position=3,
        )  # fmt: skip
        await store.add_webhook(webhook)
        event = StateChanged(plant_id=HOUSE.id, module_id=LAMP.id, state=LightState(on=True), reachable=True, at=NOW)
        for cursor in (4, 5):
            await store.park(
                Parked(
                    webhook_id=webhook.id, change=Change(cursor, NOW, event), module_id=LAMP.id, attempts=9, next_at=NOW,
                    problem="The receiver answered 500.", dead_at=NOW,
                )
            )  # fmt: skip
    finally:
        await store.stop()


class TestTheCommands:
    def test_they_list_show_replay_and_remove(self, tmp_path: Path) -> None:
        data = tmp_path / "data"
        asyncio.run(_prepare(data))

        def domogate(*arguments: str, ends_with: int = 0) -> str:
            done = run_command(["webhook", *arguments, "--data", str(data)], clean_environment({}))
            assert done.returncode == ends_with, done.stdout + done.stderr
            return done.stdout + done.stderr

        assert "https://receiver.example/" in domogate("list")
        assert domogate("list", "--plant", HOUSE.name) == domogate("list")
        assert "well" in domogate("show", an_id(700))
        assert "whsec" not in domogate("show", an_id(700), "--json")
        assert "The receiver answered 500." in domogate("dead", an_id(700))
        assert [one["id"] for one in json.loads(domogate("dead", an_id(700), "--json", "--after", "4"))] == ["5"]
        assert "1 is tried again" in domogate("replay", an_id(700), "4", "77")
        assert "1 is tried again" in domogate("replay", an_id(700))
        assert "no such dead letters" in domogate("replay", an_id(700), ends_with=1)
        assert "whole number" in domogate("replay", an_id(700), "x", ends_with=1)
        assert "There is no webhook" in domogate("show", an_id(701), ends_with=1)
        assert "is no id" in domogate("show", "x", ends_with=1)
        domogate("remove", an_id(700))
        assert "receiver.example" not in domogate("list")


class TestTheDemo:
    def test_it_allows_this_machine_unless_something_is_set(self) -> None:
        assert _allow_own_receivers(Settings(), frozenset()).webhook_networks == ("127.0.0.0/8", "::1")
        other = Settings(webhook_networks=("10.0.0.0/8",))
        assert _allow_own_receivers(other, frozenset({"webhook_networks"})) is other
        assert _allow_own_receivers(Settings(), frozenset({"webhook_networks"})).webhook_networks == ()
