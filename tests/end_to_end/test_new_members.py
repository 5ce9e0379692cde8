"""A person who joins a plant over real HTTP: no event, reading or history from before the membership (Decision 0056)."""

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from httpx_sse import ServerSentEvent

from support.extension_operations import X2
from support.gateway import QUICK, Gateway, running, serve_estate
from support.http import KEY_HEADER
from support.receivers import ThreadedReceiver
from support.spec_operations import ALL_SCOPES, E8
from support.store_access import add_credentials
from support.stream_reader import StreamReader, data_of

pytestmark = pytest.mark.slow

KEY = "key-of-the-house-4711"
OWNER, FRIEND = "owner@example.com", "friend@example.com"
HOUSE, LAMP = "5b729328-9304-4868-8d76-5e6094e06642", "8f1f6a53-66c4-4b0c-9f1e-0a4f5ad7c6b1"
"""The simulator chooses the first level of a lamp by its id. With a random id, it could be the level that a test sets."""


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    lamp = {"id": LAMP, "name": "Lamp", "kind": "light", "driver": "simulator"}
    document = {
        "users": [{"email": mail, "password": "a good long password"} for mail in (OWNER, FRIEND)],
        "subscriptions": [{"name": "house", "key": KEY}],
        "clients": [{"id": "house-app", "name": "House app", "scopes": list(ALL_SCOPES)}],
        "plants": [{"id": HOUSE, "name": "House", "type": "house", "owner": OWNER, "modules": [lamp]}],
    }
    settings = {**QUICK, "DOMOGATE_SIMULATOR_TICK": "3600", "DOMOGATE_WEBHOOK_NETWORKS": "127.0.0.0/8"}
    with running(serve_estate(document, tmp_path_factory.mktemp("joining"), settings)) as gateway:
        yield add_credentials(gateway, KEY)


@pytest.fixture
def house(served: Gateway) -> Iterator[Gateway]:
    """The lamp was dimmed to 11, then the friend joined."""
    dim(served, 11)
    served.domogate("plant", "allow", HOUSE, FRIEND)
    yield served
    served.domogate("plant", "withdraw", HOUSE, FRIEND)


def dim(gateway: Gateway, level: int) -> None:
    body = json.dumps({"status": "on", "level": level}).encode()
    answer = gateway.send(X2, {"plant": HOUSE, "module": LAMP}, who=OWNER, body=body)
    assert answer.status_code == 200, answer.text


def call(gateway: Gateway, method: str, path: str, body: Any = None) -> httpx.Response:
    headers = {KEY_HEADER: KEY, "Authorization": f"Bearer {gateway.people[FRIEND].id_token}"}
    return gateway.api.http.request(method, path, headers=headers, json=body)


def levels_from(gateway: Gateway, who: str, last: int, query: str = "", first: str | None = "0") -> list[int]:
    """The levels of the lamp that a stream after this Last-Event-ID shows, up to the level `last`."""
    levels: list[int] = []

    def read(event: ServerSentEvent) -> bool:
        if event.event in ("state", "present", "reachability"):
            levels.append((data_of(event)["state"] or {"level": 0})["level"])
        return levels[-1:] == [last]

    reader = StreamReader(gateway, gateway.people[who].access_token, query=query, last=first)
    reader.wait_for(read)
    reader.close()
    return levels


class TestANewMember:
    @pytest.mark.parametrize(
        "query", ["", f"?plant={HOUSE}", f"?plant={HOUSE}&kind=state"], ids=["all plants", "one plant", "one plant and kind"]
    )
    def test_gets_no_earlier_event_by_last_event_id(self, house: Gateway, query: str) -> None:
        dim(house, 12)
        assert 11 in levels_from(house, OWNER, 12, query), "the owner gets them all"
        assert levels_from(house, FRIEND, 12, query) == [12]

    def test_a_member_who_comes_back_does_not_get_events_of_the_time_between(self, house: Gateway) -> None:
        dim(house, 13)
        house.domogate("plant", "withdraw", HOUSE, FRIEND)
        dim(house, 14)
        house.domogate("plant", "allow", HOUSE, FRIEND)
        dim(house, 15)
        assert levels_from(house, FRIEND, 15) == [15]

    def test_sees_how_the_home_is_now(self, house: Gateway) -> None:
        assert levels_from(house, FRIEND, 11, f"?plant={HOUSE}&present=true", first=None) == [11]
        light = house.send(E8, {"plant": HOUSE, "module": LAMP}, who=FRIEND).json()["lights"][0]
        assert light["status"] == "on"

    def test_gets_no_earlier_event_by_a_webhook(self, house: Gateway) -> None:
        receiver = ThreadedReceiver()
        made = call(house, "POST", "/webhooks", {"plantId": HOUSE, "url": receiver.url, "kinds": ["state"]})
        assert made.status_code == 201, made.text
        try:
            dim(house, 16)
            receiver.wait_for(lambda got: any(one.json["data"]["state"]["level"] == 16 for one in got))
            assert [one.json["data"]["state"]["level"] for one in receiver.got] == [16]
        finally:
            call(house, "DELETE", f"/webhooks/{made.json()['id']}")
            receiver.close()

    @pytest.mark.parametrize(
        "path",
        [f"/plants/{HOUSE}/modules/{LAMP}/readings", "/orders", f"/plants/{HOUSE}/logbook"],
        ids=["readings", "orders", "logbook"],
    )
    def test_reads_no_history_because_it_is_for_operators(self, house: Gateway, path: str) -> None:
        headers = {"Authorization": f"Bearer {house.people[FRIEND].access_token}"}
        assert house.api.http.get(f"/manage/v1{path}", headers=headers).status_code == 403
