"""A gateway with many event streams, and lamps behind an MQTT broker that change all the time.

The tests run it for two seconds with a few clients, the soak for long with many.
"""

import http.client
import json
import random
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from support.gateway import Gateway, eventually
from support.http import KEY_HEADER
from support.kill_rounds import read_only
from support.listener_pool import allow_files, listener_pool
from support.mqtt_flood import KEY, OWNER, FloodedGateway, behind_broker, lamp_id, messages_for, mqtt_estate, percentile
from support.spec_operations import E8

RECONNECTS = 5.0
"""Clients per second that lose their connection and reconnect."""
LEAST_IDLE = 0.0005
"""Seconds. A shorter time tells nothing."""


class StreamLoad(FloodedGateway):
    """One lamp per plant, and a client that reads them."""

    def read(self, connection: http.client.HTTPConnection, number: int) -> dict[str, Any]:
        headers = {KEY_HEADER: KEY, "Authorization": f"Bearer {self.gateway.people[OWNER].token_for(E8)}"}
        connection.request("GET", E8.url({"plant": plant_id(number), "module": lamp_id(number)}), headers=headers)
        answer = connection.getresponse()
        body = answer.read()
        assert answer.status == 200, f"{answer.status} {body[:300]!r}"
        light: dict[str, Any] = json.loads(body)["lights"][0]
        return light


def plant_id(number: int) -> str:
    return f"57ea0000-0000-4000-8000-{number:012x}"


def streaming_estate(plants: int) -> dict[str, Any]:
    """One lamp in each of many plants."""
    estate = mqtt_estate(plants)
    lamps = estate["plants"][0].pop("modules")
    estate["plants"] = [
        {**estate["plants"][0], "id": plant_id(number), "name": f"Plant {number}", "modules": [lamp]}
        for number, lamp in enumerate(lamps)
    ]
    return estate


def run_streams(
    directory: Path,
    seconds: float,
    seed: int,
    say: Callable[[str], None],
    *,
    plants: int,
    listeners: int,
    rate: int,
    idle_for: float,
    times_idle: float | None,
) -> str:
    """`times_idle` None: the speed of reads is not checked."""
    chance = random.Random(seed)
    allow_files(listeners)
    with streaming_gateway(directory, plants) as streaming:
        streaming.warm_up(chance)
        idle = percentile(streaming.read_for(idle_for, chance), 0.99)
        say(f"E8 alone: p99 {idle * 1000:.2f} ms")
        person, start = streaming.gateway.people[OWNER], newest_cursor(streaming.gateway)
        headers = {KEY_HEADER: KEY, "Authorization": f"Bearer {person.access_token}"}
        port = urlsplit(streaming.gateway.base_url).port
        assert port is not None
        names = [plant_id(number) for number in range(plants)]
        with listener_pool(port, headers, names, listeners, seed=seed, reconnects=RECONNECTS) as received:
            say(f"{listeners} listen")
            messages = messages_for(plants, int(rate * seconds), chance)
            with streaming.flooded(messages, rate):
                time.sleep(min(2.0, seconds / 10))  # the start of the sender is not measured
                took = streaming.read_for(seconds * 0.8, chance)
            eventually(lambda: not streaming.find_stale(messages), "every lamp shows what was said of it last")
            kept = kept_changes(streaming.gateway, start)
            received.finish({name: kept[name][-1] if kept[name] else 0 for name in names})
        p99, notices = percentile(took, 0.99), sum(len(ids) for _, ids, _, _ in received.received)
        for plant, ids, _, odd in received.received:
            assert not odd, f"a listener was told {odd[0]}"
            since = [cursor for cursor in kept[plant] if not ids or cursor >= ids[0]]
            assert ids == since, f"{len(since)} changes of {plant}, and a listener heard {len(ids)}"
            assert len(kept[plant]) - len(since) <= 1, "it began to listen too late to mean anything"
            assert ids, f"nothing happened in {plant}"
        changes = sum(map(len, kept.values()))
        again = sum(connections - 1 for _, _, connections, _ in received.received)
        summary = (
            f"{changes} changes told {notices} times, {again} reconnects; from commit to listener p50 "
            f"{percentile(received.ages, 0.5) * 1000:.1f} ms, p99 {percentile(received.ages, 0.99) * 1000:.1f} ms; "
            f"E8 p99 idle {idle * 1000:.2f} ms, streaming {p99 * 1000:.2f} ms"
        )
        say(summary)
        if times_idle is not None:
            # After a pause of the machine two messages may arrive together. Then only the second may be reported.
            assert changes >= 0.9 * rate * seconds, f"too few changes: {summary}"
            assert p99 <= times_idle * max(idle, LEAST_IDLE), f"reads are slow: {summary}"
        return summary


def newest_cursor(gateway: Gateway) -> int:
    with closing(read_only(gateway.data / "domogate.sqlite3")) as connection:
        return int(connection.execute("SELECT max(cursor) FROM changes").fetchone()[0])


def kept_changes(gateway: Gateway, after: int) -> dict[str, list[int]]:
    """The cursors of each plant's changes in the database."""
    kept: dict[str, list[int]] = defaultdict(list)
    with closing(read_only(gateway.data / "domogate.sqlite3")) as connection:
        for cursor, text in connection.execute("SELECT cursor, event FROM changes WHERE cursor > ? ORDER BY cursor", (after,)):
            event = json.loads(text)
            if event["was"] == "state":
                kept[event["plant_id"]].append(cursor)
    return kept


@contextmanager
def streaming_gateway(directory: Path, plants: int) -> Iterator[StreamLoad]:
    with behind_broker(directory, streaming_estate(plants)) as (gateway, broker):
        yield StreamLoad(gateway, broker, plants)
