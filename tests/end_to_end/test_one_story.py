"""One story for every driver: the same commands give the same answers, states, events and refusals.

A gateway process drives five houses with the same devices: simulated, Zigbee2MQTT, Tasmota and generic MQTT devices on a
real mosquitto, and an OpenWebNet bus.
"""

import json
import uuid
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from httpx_sse import connect_sse

from support.extension_operations import X1, X2
from support.gateway import Gateway, eventually, running, serve_estate
from support.http import KEY_HEADER, PATIENCE
from support.mosquitto import mosquitto
from support.openwebnet_gateway import running_bus
from support.spec_operations import ALL_SCOPES, E1, E8, E12, E16, Operation
from support.store_access import add_credentials, issue_token
from support.story_house import DEVICES, BusHouse, GenericHouse, SimulatedHouse, StoryHouse, TasmotaHouse, ZigbeeHouse
from support.stream_load import newest_cursor

pytestmark = pytest.mark.slow

OWNER = "owner@example.com"
KEY = "story-estate-only-0123456789"
HOUSES = ("simulator", "zigbee2mqtt", "tasmota", "generic", "openwebnet")
RED, BLUE = {"H": 0.0, "S": 100.0, "V": 80.0}, {"H": 240.0, "S": 60.0, "V": 30.0}


def identity(house: str, name: str = "") -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"story/{house}/{name}"))


def devices_of(house: str) -> list[str]:
    return [name for name in DEVICES if not (house == "tasmota" and name == "thermostat")]


def story_estate(houses: dict[str, StoryHouse]) -> dict[str, Any]:
    plants = []
    for name, house in houses.items():
        modules = [
            {"id": identity(name, device), "name": device, "kind": DEVICES[device], "driver": house.driver}
            | house.options(device)
            for device in devices_of(name)
        ]
        room = {"id": identity(name, "room"), "name": "Room", "type": "office", "modules": modules}
        plants.append({"id": identity(name), "name": name, "type": "house", "owner": OWNER, "ambients": [room]})
    scopes = sorted({*ALL_SCOPES, "light.write", "comfort.write", "gateway.manage"})
    return {
        "users": [{"email": OWNER, "name": "Owner", "password": "a good long password", "operator": True}],
        "subscriptions": [{"name": "story", "key": KEY}],
        "clients": [{"id": "story-app", "name": "Story", "scopes": scopes, "redirectUris": ["http://localhost/cb"]}],
        "plants": plants,
    }


class Narrator:
    """Calls the gateway for one house."""

    def __init__(self, gateway: Gateway, house: str) -> None:
        self.gateway = gateway
        self.house = house

    def call(self, operation: Operation, device: str, body: dict[str, Any] | None = None) -> httpx.Response:
        target = {
            "plant": identity(self.house),
            "module": identity(self.house, device),
            "ambient": identity(self.house, "room"),
        }
        content = None if body is None else json.dumps(body).encode()
        return self.gateway.send(operation, target, who=OWNER, body=content)

    def light(self, device: str) -> dict[str, Any]:
        answer = self.call(E8, device)
        assert answer.status_code == 200, f"{self.house}: {answer.text}"
        shown: dict[str, Any] = answer.json()["lights"][0]
        del shown["sender"]
        return shown

    def wait_for(self, device: str) -> None:
        """Until the device has reported."""
        operation = E12 if device == "thermostat" else E8
        eventually(lambda: self.call(operation, device).status_code == 200, f"the {device} of {self.house} never reports")

    def manage(self, device: str, command: dict[str, Any]) -> tuple[int, str]:
        """The status, and the state of the order if there is one."""
        token = issue_token(self.gateway, OWNER, "access", ("gateway.manage",))
        url = f"{self.gateway.base_url}/manage/v1/plants/{identity(self.house)}/modules/{identity(self.house, device)}/commands"
        headers = {"Authorization": f"Bearer {token}"}
        answer = httpx.post(url, json=command, headers=headers, timeout=PATIENCE)
        return answer.status_code, str(answer.json().get("state", ""))

    def states_since(self, cursor: int, device: str, last: dict[str, Any]) -> list[dict[str, Any]]:
        """The different states in the events of the device after this cursor, until the last one is as expected."""
        person = self.gateway.people[OWNER]
        headers = {KEY_HEADER: KEY, "Authorization": f"Bearer {person.access_token}", "Last-Event-ID": str(cursor)}
        states: list[dict[str, Any]] = []
        with (
            httpx.Client(base_url=self.gateway.base_url, trust_env=False, timeout=PATIENCE) as client,
            connect_sse(client, "GET", f"/events?plant={identity(self.house)}&kind=state", headers=headers) as source,
        ):
            for event in source.iter_sse():
                data = json.loads(event.data).get("data", {}) if event.data else {}
                if data.get("moduleId") != identity(self.house, device):
                    continue
                if not states or states[-1] != data["state"]:
                    states.append(data["state"])
                if states[-1] == last:
                    return states
        raise AssertionError("the stream ended")


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    folder = tmp_path_factory.mktemp("story")
    bus = BusHouse()
    with mosquitto(folder) as broker:
        houses: dict[str, StoryHouse] = {
            "simulator": SimulatedHouse(),
            "zigbee2mqtt": ZigbeeHouse(broker.port),
            "tasmota": TasmotaHouse(broker.port),
            "generic": GenericHouse(broker.port),
            "openwebnet": bus,
        }
        with running_bus(*bus.devices) as bus_gateway:
            table = {"name": "home", "host": "127.0.0.1", "port": bus_gateway.port}
            settings = {
                "DOMOGATE_OPENWEBNET_GATEWAYS": json.dumps([table]),
                "DOMOGATE_MQTT_BROKERS": json.dumps([{"url": broker.url}]),
                "DOMOGATE_DEVICE_DEADLINE": "20",
            }
            with running(serve_estate(story_estate(houses), folder / "gateway", settings)) as one:
                yield add_credentials(one, KEY)
            for house in houses.values():
                house.close()


def shown(on: bool, level: int | None = None, color: dict[str, float] | None = None) -> dict[str, Any]:
    fields: dict[str, Any] = {"status": "on" if on else "off"}
    if level is not None:
        fields["level"] = level
    if color is not None:
        fields["colorHSV"] = color
    return fields


Chapter = list[tuple[dict[str, Any], int, dict[str, Any]]]
"""The body of X2, its status, and what E8 shows afterwards."""

DIMMER: Chapter = [
    ({"status": "on", "level": 50}, 200, shown(True, 50)),
    ({"status": "off"}, 200, shown(False, 50)),
    ({"level": 30}, 200, shown(False, 30)),
    ({"status": "on"}, 200, shown(True, 30)),
    ({"level": 70}, 200, shown(True, 70)),
    ({"status": "on", "level": 0}, 400, shown(True, 70)),
    ({"level": 101}, 400, shown(True, 70)),
    ({"colorHSV": RED}, 400, shown(True, 70)),
    ({"status": "on", "colorHSV": RED}, 400, shown(True, 70)),
    ({"level": 0}, 200, shown(False, 70)),
    ({"status": "off", "level": 40}, 200, shown(False, 40)),
    ({"status": "on"}, 200, shown(True, 40)),
    ({"status": "off"}, 200, shown(False, 40)),
]
SWITCH: Chapter = [
    ({"status": "on"}, 200, shown(True)),
    ({"status": "on"}, 200, shown(True)),
    ({"level": 50}, 400, shown(True)),
    ({"status": "on", "level": 50}, 400, shown(True)),
    ({"level": 0}, 400, shown(True)),
    ({"colorHSV": RED}, 400, shown(True)),
    ({"status": "off", "level": 50}, 400, shown(True)),
    ({"status": "off"}, 200, shown(False)),
    ({"level": 50}, 400, shown(False)),
]
COLOR: Chapter = [
    ({"status": "on", "level": 50, "colorHSV": RED}, 200, shown(True, 50, {**RED, "V": 50.0})),
    ({"level": 20}, 200, shown(True, 20, {**RED, "V": 20.0})),
    ({"colorHSV": BLUE}, 200, shown(True, 30, BLUE)),
    ({"status": "on", "colorHSV": {**RED, "V": 0}}, 400, shown(True, 30, BLUE)),
    ({"status": "off"}, 200, shown(False, 30, BLUE)),
    ({"colorHSV": RED}, 200, shown(False, 80, RED)),
    ({"status": "on"}, 200, shown(True, 80, RED)),
    ({"colorHSV": {**RED, "V": 0}}, 200, shown(False, 80, RED)),
]


@pytest.mark.parametrize("house", HOUSES)
class TestEveryDriver:
    @pytest.mark.parametrize(("device", "chapter"), [("dimmer", DIMMER), ("switch", SWITCH), ("color", COLOR)])
    def test_a_light_does_what_x2_says_and_nothing_else(
        self, gateway: Gateway, house: str, device: str, chapter: Chapter
    ) -> None:
        narrator = Narrator(gateway, house)
        narrator.wait_for(device)
        told = []
        for body, _, _ in chapter:
            answer = narrator.call(X2, device, body)
            told.append((body, answer.status_code, narrator.light(device)))
        assert told == chapter

    def test_its_events_show_each_state_in_order(self, gateway: Gateway, house: str) -> None:
        narrator = Narrator(gateway, house)
        narrator.wait_for("dimmer")
        narrator.call(X2, "dimmer", {"status": "off", "level": 10})
        cursor = newest_cursor(gateway)
        for body in ({"status": "on", "level": 60}, {"level": 25}, {"status": "off"}, {"level": 35}, {"status": "on"}):
            assert narrator.call(X2, "dimmer", body).status_code == 200
        expected = [
            {"of": "light", "on": on, "level": level, "color": None}
            for on, level in ((True, 60), (True, 25), (False, 25), (False, 35), (True, 35))
        ]
        states = narrator.states_since(cursor, "dimmer", expected[-1])
        if house == "generic":  # it gets `on` and the level in two messages, and may report between them
            rest = iter(states)
            states = [state for state in expected if state in rest]
        assert states == expected

    def test_a_plug_is_switched_with_its_room(self, gateway: Gateway, house: str) -> None:
        narrator = Narrator(gateway, house)
        for status, on in (("on", True), ("on", True), ("off", False)):
            assert narrator.call(E1, "plug", {"status": status}).status_code == 200
            plugs = narrator.call(E16, "plug").json()["plugs"]
            assert [plug["status"] for plug in plugs] == [[on]]

    def test_a_thermostat_takes_a_set_point(self, gateway: Gateway, house: str) -> None:
        if "thermostat" not in devices_of(house):
            return
        narrator = Narrator(gateway, house)
        narrator.wait_for("thermostat")
        for body, status, set_point in (
            ({"mode": "manual", "setPoint": {"value": "21.5", "unit": "C"}}, 200, 21.5),
            ({"setPoint": {"value": "41", "unit": "C"}}, 400, 21.5),
            ({"setPoint": {"value": "19", "unit": "C"}}, 200, 19.0),
        ):
            assert narrator.call(X1, "thermostat", body).status_code == status
            thermostat = narrator.call(E12, "thermostat").json()["chronothermostats"][0]
            assert (thermostat["mode"], float(thermostat["setPoint"]["value"])) == ("manual", set_point)

    def test_what_a_thermostat_can_never_do_is_400(self, gateway: Gateway, house: str) -> None:
        if house in ("simulator", "tasmota"):
            return  # the simulated thermostat has all modes
        narrator = Narrator(gateway, house)
        narrator.wait_for("thermostat")
        # A generic thermostat has the modes of its options, and these options have no function.
        missing = {"function": "cooling"} if house == "generic" else {"mode": "boost"}
        for body in ({"activationTime": "2999-01-01T00:00:00"}, missing, {"programs": [{"number": 7}]}):
            assert narrator.call(X1, "thermostat", body).status_code == 400, body

    def test_operators_get_the_same_answers(self, gateway: Gateway, house: str) -> None:
        narrator = Narrator(gateway, house)
        narrator.wait_for("dimmer")
        command = {"do": "set light"}
        assert narrator.manage("dimmer", {**command, "on": True, "level": 45}) == (200, "confirmed")
        assert narrator.manage("dimmer", {**command, "on": True, "level": 0}) == (400, "")
        assert narrator.manage("switch", {**command, "level": 45}) == (200, "failed")
        assert narrator.light("dimmer") == shown(True, 45)
