"""kill -9 during deliveries, any number of times: each receiver gets every event, in order for each module; ids show
duplicates.

The tests do a few rounds with a few receivers, the soak many with hundreds; both call `WebhookRounds.check`.
"""

import asyncio
import json
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from domogate.app.parts import SystemClock
from domogate.domain.ids import Id, new_id
from domogate.domain.webhooks import Webhook
from domogate.identity.secret_keys import SecretKeys
from domogate.services.webhooks.signing import new_webhook_secret
from domogate.stores import SqlStore, sqlite_url
from support.estate_view import EstateView
from support.kill_rounds import KillRounds, open_kill_rounds, read_only
from support.plug_estate import OWNER, plug_estate
from support.receivers import ReceivedRequest, ThreadedReceiver

SETTINGS = {"DOMOGATE_WEBHOOK_NETWORKS": "127.0.0.0/8"}
PATIENCE = 60.0


@dataclass
class Subscriber:
    """A webhook and its path at the receiver."""

    id: str
    plant: str
    path: str
    secret: str
    since: int
    """Changes after this cursor must be delivered."""


@dataclass
class WebhookRounds:
    """Kill rounds with one receiver that runs all the time."""

    rounds: KillRounds
    receiver: ThreadedReceiver
    subscribers: list[Subscriber] = field(default_factory=list)
    repeated: int = 0

    def register(self, each: int) -> None:
        """Register `each` webhooks for each plant, over HTTP."""
        gateway = self.rounds.gateway
        person = gateway.people[OWNER]
        headers = {"Ocp-Apim-Subscription-Key": gateway.subscription_key, "Authorization": f"Bearer {person.id_token}"}
        for plant in EstateView(plug_estate()).plants:
            for _ in range(each):
                path = f"/{len(self.subscribers)}"
                body = {"plantId": plant.id, "url": f"{self.receiver.url}{path}"}
                made = gateway.api.http.post("/webhooks", json=body, headers=headers)
                assert made.status_code == 201, made.text
                told = made.json()
                self.subscribers.append(Subscriber(told["id"], plant.id, path, told["secret"], int(told["lastCursor"])))

    def add(self, each: int) -> None:
        """Add `each` webhooks for each plant directly to the store, because one application may not register that many."""
        asyncio.run(self._add(each))

    async def _add(self, each: int) -> None:
        database = self.rounds.restartable.database
        store = SqlStore(sqlite_url(database), clock=SystemClock(), gateway=False, sealer=SecretKeys(database.parent))
        await store.start()
        try:
            user = await store.find_user_by_email(OWNER)
            assert user is not None
            grant = (await store.list_grants(user.id))[0]
            for plant in EstateView(plug_estate()).plants:
                for _ in range(each):
                    path, secret, since = f"/{len(self.subscribers)}", new_webhook_secret(), await store.newest_cursor()
                    webhook = Webhook(
                        id=new_id(), client_id=grant.client_id, user_id=user.id, grant_id=grant.id, plant_id=Id(plant.id),
                        url=f"{self.receiver.url}{path}", secret=secret, created_at=time.time(), position=since,
                        scopes=grant.scopes,
                    )  # fmt: skip
                    assert await store.add_webhook(webhook)
                    self.subscribers.append(Subscriber(webhook.id, plant.id, path, secret, since))
        finally:
            await store.stop()

    def fall_silent(self) -> None:
        """Stop answering, and wait until a request is unanswered."""
        before = self.receiver.unanswered
        self.receiver.answering.clear()
        self.receiver.wait_for(lambda _: self.receiver.unanswered > before)

    def expected(self) -> dict[str, list[tuple[int, str | None]]]:
        """The changes of each plant: cursor and module."""
        found: dict[str, list[tuple[int, str | None]]] = defaultdict(list)
        with closing(read_only(self.rounds.restartable.database)) as connection:
            for cursor, plant, text in connection.execute("SELECT cursor, plant_id, event FROM changes ORDER BY cursor"):
                event = json.loads(text)
                if event["was"] == "state" or (event["was"] == "plant" and event["aspect"] != "faults"):
                    found[plant].append((cursor, event.get("module_id")))
        return found

    def check(self, patience: float = PATIENCE) -> None:
        """Check that every event arrived at every receiver, in order per module, and that repetitions are identical."""
        self.repeated = 0
        wanted = self.expected()
        deadline = time.monotonic() + patience
        for subscriber in self.subscribers:
            due = [(cursor, module) for cursor, module in wanted[subscriber.plant] if cursor > subscriber.since]
            while missing := {cursor for cursor, _ in due} - {_cursor(got) for got in self.receiver.of(subscriber.path)}:
                late = f"{len(missing)} of {len(due)} events never arrived at {subscriber.path}, the first is {min(missing)}"
                assert time.monotonic() < deadline, late
                time.sleep(0.05)
            self._check_order(subscriber, dict(due))

    def _check_order(self, subscriber: Subscriber, module_of: dict[int, str | None]) -> None:
        first: dict[int, ReceivedRequest] = {}
        for got in self.receiver.of(subscriber.path):
            cursor = _cursor(got)
            assert got.id == f"{subscriber.id}_{cursor}"
            assert got.json["id"] == str(cursor)
            if cursor in first:
                self.repeated += 1
                assert got.body == first[cursor].body, "what is repeated says something else"
            first.setdefault(cursor, got)
        by_module: dict[str | None, list[int]] = defaultdict(list)
        for cursor in first:
            if cursor in module_of:
                by_module[module_of[cursor]].append(cursor)
        for module, cursors in by_module.items():
            assert cursors == sorted(cursors), f"out of order at {subscriber.path}, of {module}: {_first_fall(cursors)}"
        for got in list(first.values())[-3:]:
            got.verify(subscriber.secret)

    @property
    def summary(self) -> str:
        told = f"{len(self.receiver.got)} deliveries to {len(self.subscribers)} webhooks, {self.repeated} repeated"
        return f"{told}; {self.rounds.summary}"


def _cursor(got: ReceivedRequest) -> int:
    return int(got.id.rpartition("_")[2])


def _first_fall(cursors: Sequence[int]) -> Any:
    return next((pair for pair in pairwise(cursors) if pair[0] > pair[1]), None)


@contextmanager
def open_webhook_rounds(directory: Path, seed: int) -> Iterator[WebhookRounds]:
    """A gateway with an estate of plugs, and a receiver. No webhook is registered yet."""
    receiver = ThreadedReceiver()
    try:
        with open_kill_rounds(directory, seed, SETTINGS) as rounds:
            yield WebhookRounds(rounds, receiver)
    finally:
        receiver.close()
