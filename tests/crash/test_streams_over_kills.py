"""kill -9 with open streams: a client that reconnects misses no stored change, and gets none twice."""

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from support.event_client import EventClient
from support.kill_rounds import KillRounds, open_kill_rounds, read_only
from support.plug_estate import KEY, OWNER

pytestmark = pytest.mark.slow

ROUNDS = 4


@pytest.fixture
def rounds(tmp_path: Path) -> Iterator[KillRounds]:
    with open_kill_rounds(tmp_path, seed=25) as prepared:
        yield prepared


def kept_changes(database: Path, after: int) -> dict[int, Any]:
    with closing(read_only(database)) as connection:
        rows = connection.execute("SELECT cursor, event FROM changes WHERE cursor > ? ORDER BY cursor", (after,))
        return {cursor: event for cursor, text in rows if (event := json.loads(text))["was"] in ("state", "plant")}


class TestAListenerOverKills:
    def test_is_told_of_everything_once_and_in_order(self, rounds: KillRounds) -> None:
        person = rounds.gateway.people[OWNER]
        start = rounds.newest
        with EventClient(rounds.restartable.base_url, KEY, person.access_token, last_id=str(start)) as follower:
            for _ in range(ROUNDS):
                rounds.run_one()
            newest = max(kept_changes(rounds.restartable.database, start))
            follower.wait_for_event(newest)
        kept = kept_changes(rounds.restartable.database, start)
        received = [cursor for cursor in follower.ids if cursor <= newest]
        assert received == [cursor for cursor in kept if cursor <= newest]
        assert follower.connections > ROUNDS / 2, "it was hardly ever cut off"
        assert "reset" not in {event for event, _ in follower.events}
        for event, data in follower.events:
            if event == "state" and int(data["id"]) <= newest:
                assert kept[int(data["id"])]["module_id"] == data["data"]["moduleId"]
                assert kept[int(data["id"])]["state"]["on"] is data["data"]["state"]["on"]
        assert rounds.acknowledged > ROUNDS, "too few orders for the rounds to mean anything"
