"""A guest of a hotel over real HTTP: the room and the period of the stay, and nothing else of the plant."""

import json
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest
from httpx_sse import ServerSentEvent

from domogate.domain.ids import new_id
from support.extension_operations import X1, X2, X3, X4, X5, X6
from support.gateway import QUICK, Gateway, eventually, running, serve_estate
from support.http import KEY_HEADER, PATIENCE, client, expect_ok, expect_refusal
from support.receivers import ThreadedReceiver
from support.spec_operations import ALL_SCOPES, E1, E2, E3, E4, E5, E6, E7, E8, E9, E10, E11, E12, E14, E15, E16, E18, Operation
from support.store_access import add_credentials, simulated
from support.stream_reader import StreamReader, data_of, open_stream

pytestmark = pytest.mark.slow

KEY = "key-of-the-hotel-4711"
OWNER, GUEST, OTHER = "owner@example.com", "guest@example.com", "other@example.com"
HOTEL, ROOM, NEXT_ROOM = (str(new_id()) for _ in range(3))
KINDS = ("light", "plug", "lock", "audiovideo unit", "chronothermostat", "remote")
INSIDE = {kind: str(new_id()) for kind in (*KINDS, "scene")}
OUTSIDE = {kind: str(new_id()) for kind in (*KINDS, "scene", "emergency controller", "emergency unit")}
OUT = "elsewhere"
"""Only names of things outside the room contain it."""
OF_A_MODULE = {
    E2: "remote", E4: "plug", E5: "scene", E8: "light", E11: "lock", E12: "chronothermostat", E15: "audiovideo unit",
    X1: "chronothermostat", X2: "light",
}  # fmt: skip
REFUSED = (400, 404)


def room(identity: str, name: str, ids: dict[str, str]) -> dict[str, Any]:
    modules = [{"id": ids[kind], "name": f"{name} {kind}", "kind": kind, "driver": "simulator"} for kind in KINDS]
    return {"id": identity, "name": name, "modules": modules}


def scene(identity: str, name: str, *modules: str) -> dict[str, Any]:
    steps = [{"module": module, "do": "set light", "on": True} for module in modules]
    return {"id": identity, "name": name, "kind": "scene", "steps": steps}


def hotel_estate() -> dict[str, Any]:
    controller = {
        "id": OUTSIDE["emergency controller"],
        "name": f"controller {OUT}",
        "kind": "emergency controller",
        "reference": "c-1",
        "units": [{"id": OUTSIDE["emergency unit"], "reference": "u-1"}],
    }
    plant = {
        "id": HOTEL,
        "name": "Hotel",
        "type": "hotel",
        "owner": OWNER,
        "allowed": [OTHER, GUEST],
        "floors": [
            {"id": new_id(), "name": "Second", "ambients": [room(ROOM, "Room 203", INSIDE)]},
            {"id": new_id(), "name": OUT, "ambients": [room(NEXT_ROOM, f"Room 204 {OUT}", OUTSIDE)]},
        ],
        "modules": [
            scene(INSIDE["scene"], "Good night", INSIDE["light"]),
            scene(OUTSIDE["scene"], f"All lights {OUT}", INSIDE["light"], OUTSIDE["light"]),
            controller,
        ],
    }
    return {
        "users": [{"email": mail, "password": "a good long password"} for mail in (OWNER, GUEST, OTHER)],
        "subscriptions": [{"name": "hotel", "key": KEY}],
        "clients": [{"id": "hotel-app", "name": "Hotel app", "scopes": list(ALL_SCOPES)}],
        "plants": [plant],
    }


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    settings = {**QUICK, "DOMOGATE_SIMULATOR_TICK": "3600", "DOMOGATE_WEBHOOK_NETWORKS": "127.0.0.0/8"}
    with running(serve_estate(hotel_estate(), tmp_path_factory.mktemp("hotel"), settings)) as gateway:
        yield add_credentials(gateway, KEY)


@pytest.fixture
def hotel(served: Gateway) -> Gateway:
    """The guest may use room 203 at any time."""
    served.domogate("plant", "limit", HOTEL, GUEST, "--room", ROOM)
    return served


@pytest.fixture
def receiver() -> Iterator[ThreadedReceiver]:
    one = ThreadedReceiver()
    yield one
    one.close()


def stay_for(gateway: Gateway, seconds: float, since: float = -60.0) -> float:
    """The guest's period begins and ends so many seconds from now. Returns its end."""
    begin, end = time.time() + since, time.time() + seconds
    period = ("--from", iso(begin), "--until", iso(end))
    gateway.domogate("plant", "limit", HOTEL, GUEST, "--room", ROOM, *period)
    return end


def iso(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat()


def call(gateway: Gateway, method: str, path: str, body: Any = None, who: str = GUEST) -> httpx.Response:
    headers = {KEY_HEADER: KEY, "Authorization": f"Bearer {gateway.people[who].id_token}"}
    return gateway.api.http.request(method, path, headers=headers, json=body)


def dim(gateway: Gateway, module: str, level: int) -> None:
    body = json.dumps({"status": "on", "level": level}).encode()
    answer = gateway.send(X2, {"plant": HOTEL, "module": module}, who=OWNER, body=body)
    assert answer.status_code == 200, answer.text


def collect(reader: StreamReader, until: Callable[[ServerSentEvent], bool]) -> list[ServerSentEvent]:
    """All events up to the one that is waited for."""
    received: list[ServerSentEvent] = []

    def keep(event: ServerSentEvent) -> bool:
        received.append(event)
        return until(event)

    reader.wait_for(keep)
    return received


def check_nothing_outside(text: str) -> None:
    assert OUT not in text
    assert OTHER not in text
    for identity in (*OUTSIDE.values(), NEXT_ROOM):
        assert identity not in text
        assert identity.replace("-", "") not in text


class TestPlaces:
    @pytest.mark.parametrize("operation", [E3, E7, E9, X4], ids=str)
    def test_topologies_have_the_room_and_nothing_else(self, hotel: Gateway, operation: Operation) -> None:
        whole = hotel.send(operation, {"plant": HOTEL}, who=OWNER)
        assert OUT in whole.text
        answer = hotel.send(operation, {"plant": HOTEL}, who=GUEST)
        assert answer.status_code == 200, answer.text
        check_nothing_outside(answer.text)
        assert sum(identity in answer.text.replace("-", "") for identity in map(_hex, INSIDE.values())) >= 1

    @pytest.mark.parametrize("operation", [E6, E10, E14, X3, X5], ids=str)
    def test_lists_have_the_plant_without_its_other_people(self, hotel: Gateway, operation: Operation) -> None:
        answer = hotel.send(operation, who=GUEST)
        assert _hex(HOTEL) in answer.text.replace("-", "")
        check_nothing_outside(answer.text)

    @pytest.mark.parametrize("operation", OF_A_MODULE, ids=str)
    def test_modules_of_the_room_answer_and_others_do_not_exist(self, hotel: Gateway, operation: Operation) -> None:
        """States, consumptions and programs are read; lights, thermostats and scenes are commanded; tickets are issued."""
        kind = OF_A_MODULE[operation]
        inside = hotel.send(operation, {"plant": HOTEL, "module": INSIDE[kind]}, who=GUEST)
        assert inside.status_code == 200, inside.text
        outside = {"plant": HOTEL, "module": OUTSIDE[kind]}
        assert hotel.send(operation, outside, who=OWNER).status_code == 200
        expect_refusal(operation, hotel.send(operation, outside, who=GUEST), *REFUSED)

    def test_plugs_of_the_room_are_switched_and_listed(self, hotel: Gateway) -> None:
        assert hotel.send(E1, {"plant": HOTEL, "ambient": ROOM}, who=GUEST).status_code == 200
        expect_refusal(E1, hotel.send(E1, {"plant": HOTEL, "ambient": NEXT_ROOM}, who=GUEST), *REFUSED)
        assert OUTSIDE["plug"] in hotel.send(E16, {"plant": HOTEL}, who=OWNER).text
        listed = hotel.send(E16, {"plant": HOTEL}, who=GUEST).text
        assert INSIDE["plug"] in listed
        check_nothing_outside(listed)

    def test_emergency_lighting_outside_is_not_listed(self, hotel: Gateway) -> None:
        assert OUTSIDE["emergency unit"] in hotel.send(E18, {"plant": HOTEL}, who=OWNER).text
        check_nothing_outside(hotel.send(E18, {"plant": HOTEL}, who=GUEST).text)

    def test_the_alert_of_a_controller_counts_units_outside_too(self, served: Gateway) -> None:
        """The alert and its time are values of the controller. A guest who sees the controller sees both, but not the units."""
        served.domogate("plant", "limit", HOTEL, GUEST, "--module", OUTSIDE["emergency controller"])

        def controller(who: str) -> dict[str, Any]:
            (only,) = expect_ok(E18, served.send(E18, {"plant": HOTEL}, who=who))
            return {name: only.get(name) for name in ("alert", "lastAlertUpdate", "alertLevel", "status")} | {
                "units": len(only["children"])
            }

        with simulated(served, OUTSIDE["emergency unit"], "offline"):
            eventually(lambda: controller(OWNER)["alert"], "the controller is in alert")
            assert controller(GUEST) == {**controller(OWNER), "units": 0}
        eventually(lambda: not controller(OWNER)["alert"], "the controller is not in alert any more")
        assert controller(GUEST) == {**controller(OWNER), "units": 0}

    def test_a_ticket_for_a_door_is_worth_nothing_after_a_change_of_rooms(self, served: Gateway) -> None:
        served.domogate("plant", "limit", HOTEL, GUEST, "--room", ROOM, "--room", NEXT_ROOM)
        tickets = [
            served.send(E11, {"plant": HOTEL, "module": lock["lock"]}, who=GUEST).json()["locks"][0]["ticket"]
            for lock in (INSIDE, OUTSIDE)
        ]
        served.domogate("plant", "limit", HOTEL, GUEST, "--room", ROOM)
        with client(served.base_url) as bare:
            inside, outside = (bare.post("/tickets/redeem", json={"ticket": ticket}) for ticket in tickets)
        assert (inside.status_code, outside.status_code) == (200, 404), outside.text

    @pytest.mark.parametrize(
        "path",
        [
            f"/plants/{HOTEL}/modules/{INSIDE['plug']}/readings",
            f"/plants/{HOTEL}/modules",
            f"/plants/{HOTEL}/logbook",
            "/orders",
        ],
        ids=["readings", "modules", "logbook", "orders"],
    )
    def test_readings_history_and_logbook_are_for_operators(self, hotel: Gateway, path: str) -> None:
        headers = {"Authorization": f"Bearer {hotel.people[GUEST].access_token}"}
        answer = hotel.api.http.get(f"/manage/v1{path}", headers=headers)
        assert answer.status_code == 403, answer.text
        check_nothing_outside(answer.text)


class TestEvents:
    def test_present_states_and_events_are_of_the_room(self, hotel: Gateway) -> None:
        reader = StreamReader(hotel, hotel.people[GUEST].access_token, query=f"?plant={HOTEL}&present=true")
        received = collect(reader, lambda event: event.event == "ready")
        dim(hotel, OUTSIDE["light"], 31)
        hotel.domogate("plant", "invite", HOTEL, f"{new_id()}@example.com")
        dim(hotel, INSIDE["light"], 32)
        received += collect(reader, lambda event: _has_level(event, 32))
        reader.close()
        text = " ".join(event.data for event in received)
        assert f'"moduleId":"{INSIDE["plug"]}"' in text, "present"
        check_nothing_outside(text)
        assert "people" not in [event.event for event in received]

    def test_last_event_id_shows_no_event_of_other_rooms(self, hotel: Gateway) -> None:
        dim(hotel, OUTSIDE["light"], 41)
        dim(hotel, INSIDE["light"], 42)
        reader = StreamReader(hotel, hotel.people[GUEST].access_token, last="0")
        received = collect(reader, lambda event: _has_level(event, 42))
        reader.close()
        check_nothing_outside(" ".join(event.data for event in received))

    def test_webhooks_tell_of_the_room(self, hotel: Gateway, receiver: ThreadedReceiver) -> None:
        made = call(hotel, "POST", "/webhooks", {"plantId": HOTEL, "url": f"{receiver.url}/guest"})
        assert made.status_code == 201, made.text
        try:
            dim(hotel, OUTSIDE["light"], 51)
            dim(hotel, INSIDE["light"], 52)
            receiver.wait_for(lambda got: any(INSIDE["light"] in json.dumps(one.json) for one in got))
            check_nothing_outside(json.dumps([one.json for one in receiver.got]))
        finally:
            call(hotel, "DELETE", f"/webhooks/{made.json()['id']}")


class TestThePeriod:
    def test_before_it_the_guest_has_no_plant(self, served: Gateway) -> None:
        stay_for(served, 7200, since=3600)
        assert served.send(E6, who=GUEST).status_code == 204
        expect_refusal(E7, served.send(E7, {"plant": HOTEL}, who=GUEST), 403)
        expect_refusal(E9, served.send(E9, {"plant": HOTEL}, who=GUEST), 401)
        assert call(served, "GET", f"/events?plant={HOTEL}").status_code == 403

    def test_its_end_comes_by_itself(self, served: Gateway, receiver: ThreadedReceiver) -> None:
        """An open stream ends, a webhook gets nothing more, a ticket opens nothing, and each operation refuses."""
        stay_for(served, 3600)
        made = call(served, "POST", "/webhooks", {"plantId": HOTEL, "url": f"{receiver.url}/stay", "kinds": ["state"]})
        assert made.status_code == 201, made.text
        assert call(served, "POST", f"/webhooks/{made.json()['id']}/test").status_code == 200
        subscription = served.send(X6, {"plant": HOTEL}, who=GUEST, body=json.dumps({"EndPointUrl": receiver.url}).encode())
        assert subscription.status_code == 201, subscription.text
        token = served.people[GUEST].access_token
        ticket = served.send(E11, {"plant": HOTEL, "module": INSIDE["lock"]}, who=GUEST).json()["locks"][0]["ticket"]
        with open_stream(served, token, query=f"?plant={HOTEL}") as named:
            end = stay_for(served, 8.0)
            assert json.loads(named.wait_named("end").data)["code"] == "plant"
            assert time.time() >= end
            named.wait_over()
        assert time.time() < end + PATIENCE, "nothing but time passed"
        assert served.send(E6, who=GUEST).status_code == 204
        expect_refusal(E7, served.send(E7, {"plant": HOTEL}, who=GUEST), 403)
        expect_refusal(E8, served.send(E8, {"plant": HOTEL, "module": INSIDE["light"]}, who=GUEST), 403)
        expect_refusal(X2, served.send(X2, {"plant": HOTEL, "module": INSIDE["light"]}, who=GUEST), 403)
        expect_refusal(E5, served.send(E5, {"plant": HOTEL, "module": INSIDE["scene"]}, who=GUEST), 403)
        with client(served.base_url) as bare:
            assert bare.post("/tickets/redeem", json={"ticket": ticket}).status_code == 403
        dim(served, INSIDE["light"], 61)
        path = f"/webhooks/{made.json()['id']}"
        eventually(lambda: call(served, "GET", path).json()["endedAt"] is not None, "the webhook ends")
        assert not any("level" in json.dumps(one.json) for one in receiver.got)


def _hex(identity: str) -> str:
    return identity.replace("-", "")


def _has_level(event: ServerSentEvent, level: int) -> bool:
    state = data_of(event).get("state") if event.event == "state" else None
    return bool(state and state.get("level") == level)
