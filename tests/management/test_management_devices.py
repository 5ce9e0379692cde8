"""Modules, commands, orders and drivers, over HTTP, with drivers that do as they are told."""

import asyncio
from typing import Any

import pytest

from domogate.domain import commands
from domogate.domain.devices import DeviceKind
from domogate.domain.estate import Estate, EstatePlant, FirstState
from domogate.domain.faults import DeviceOffline, DeviceRefused
from domogate.domain.plants import Member, Module, Plant, PlantStatus, PlantType, Program, ThermostatDetail, Topology
from domogate.domain.reachability import Absence, Why
from domogate.domain.safety import EmergencyTest, EmergencyTestKind, Failure, FailureType
from domogate.domain.states import (
    ActivationState,
    AutomationState,
    Battery,
    CameraState,
    Color,
    EmergencyState,
    EnergyMeterState,
    GatewayState,
    HeaterState,
    LightState,
    LockState,
    MultisocketState,
    PlugState,
    Reading,
    RemoteState,
    Report,
    State,
    ThermostatFunction,
    ThermostatMode,
    ThermostatState,
    Unit,
)
from domogate.shown.states import SHOWN
from support.http import case
from support.management import Office
from support.stores import ANNA, HOUSE, KITCHEN, LAMP, NOW, PLUG, SCENE, an_id

pytestmark = pytest.mark.slow

STATES: dict[DeviceKind, State | None] = {
    DeviceKind.LIGHT: LightState(on=True, level=40, color=Color(10, 20, 30)),
    DeviceKind.AUTOMATION: AutomationState(position=40),
    DeviceKind.PLUG: PlugState(on=True, power=Reading(12.5, Unit.WATT, NOW)),
    DeviceKind.HEATER: HeaterState(on=False),
    DeviceKind.ENERGYMETER: EnergyMeterState(energy=Reading(1200, Unit.WATT_HOUR, NOW)),
    DeviceKind.REMOTE: RemoteState(battery=Battery.LOW, firmware=3),
    DeviceKind.SCENE: None,
    DeviceKind.GATEWAY: GatewayState(firmware=7),
    DeviceKind.LOCK: LockState(locked=True),
    DeviceKind.ACTIVATION: ActivationState(active=False),
    DeviceKind.AUDIOVIDEO_UNIT: CameraState(on=False),
    DeviceKind.CHRONOTHERMOSTAT: ThermostatState(
        function=ThermostatFunction.HEATING,
        mode=ThermostatMode.BOOST,
        set_point=21.5,
        activation_time=NOW + 60,
        temperature=Reading(19.4, Unit.CELSIUS, NOW),
    ),
    DeviceKind.MULTISOCKET: MultisocketState(sockets=(True, False)),
    DeviceKind.EMERGENCY_CONTROLLER: EmergencyState(failures=(Failure(FailureType.REMOTE_OK),), alert=False),
    DeviceKind.EMERGENCY_UNIT: EmergencyState(
        failures=(Failure(FailureType.BLOCK_DLD, "0x8"),),
        charge=80,
        function_test=EmergencyTest(EmergencyTestKind.FUNCTION, NOW - 60, NOW - 30, 30.0),
    ),
}
MODULE_OF = {
    kind: Module(
        an_id(300 + number),
        an_id(400 + number),
        f"The {kind}",
        kind,
        detail=ThermostatDetail((Program(2, "Week"),)) if kind is DeviceKind.CHRONOTHERMOSTAT else None,
    )
    for number, kind in enumerate(DeviceKind)
}
VILLA = Plant(an_id(299), an_id(298), "Villa", PlantType.HOUSE, Member(ANNA.id, ANNA.email))

COMMANDS: dict[DeviceKind, tuple[dict[str, Any], commands.Command]] = {
    DeviceKind.PLUG: ({"do": "switch plug", "on": True}, commands.SwitchPlug(on=True)),
    DeviceKind.MULTISOCKET: ({"do": "switch socket", "socket": 1, "on": True}, commands.SwitchSocket(socket=1, on=True)),
    DeviceKind.HEATER: ({"do": "switch heater", "on": False}, commands.SwitchHeater(on=False)),
    DeviceKind.LIGHT: (
        {"do": "set light", "level": 0, "color": {"hue": 360, "saturation": 100, "value": 0}},
        commands.SetLight(level=0, color=Color(360, 100, 0)),
    ),
    DeviceKind.AUTOMATION: ({"do": "move shutter", "position": 40}, commands.MoveShutter(position=40)),
    DeviceKind.CHRONOTHERMOSTAT: (
        {
            "do": "set thermostat",
            "mode": "boost",
            "setPoint": 21.54,
            "program": 2,
            "activationTime": "2027-01-15T10:00:00+01:00",
        },
        commands.SetThermostat(mode=ThermostatMode.BOOST, set_point=21.5, program=2, activation_time=NOW + 3600),
    ),
    DeviceKind.LOCK: ({"do": "open lock"}, commands.OpenLock()),
    DeviceKind.ACTIVATION: ({"do": "activate"}, commands.Activate()),
    DeviceKind.AUDIOVIDEO_UNIT: ({"do": "switch camera", "on": True}, commands.SwitchCamera(on=True)),
}


@pytest.fixture
async def villa(driven: Office) -> Office:
    """With a plant that has a module of every kind."""
    modules = tuple(MODULE_OF.values())
    states = tuple(FirstState(MODULE_OF[kind].id, state) for kind, state in STATES.items() if state is not None)
    estate = Estate(users=(ANNA,), plants=(EstatePlant(VILLA, Topology(modules=modules), states),))
    await driven.village.store.import_estate(estate, prune=False)
    driver = driven.workshop.drivers["simulator"]
    driver.answers = {MODULE_OF[kind].id: state for kind, state in STATES.items() if state is not None}
    await driven.workshop.driving.settled()
    return driven


def path_of(kind: DeviceKind, after: str = "") -> str:
    return f"/plants/{VILLA.id}/modules/{MODULE_OF[kind].id}{after}"


def of_house(module: Module, after: str = "") -> str:
    return f"/plants/{HOUSE.id}/modules/{module.id}{after}"


class TestModules:
    async def test_each_is_shown_with_its_kind_driver_room_and_state(self, office: Office) -> None:
        listed = (await office.good("GET", f"/plants/{HOUSE.id}/modules"))["items"]
        assert [module["id"] for module in listed] == [LAMP.id, PLUG.id, SCENE.id]
        lamp, plug, scene = listed
        assert lamp == {
            "id": LAMP.id,
            "name": "Lamp",
            "kind": "light",
            "driver": "simulator",
            "ambientId": KITCHEN.id,
            "ambient": "Kitchen",
            "state": {"of": "light", "on": True, "level": 40, "color": None},
            "reachable": True,
            "absence": None,
            "reportedAt": None,
        }
        assert (plug["driver"], plug["state"]) == ("mqtt", None)
        assert (scene["ambientId"], scene["ambient"]) == (None, None)
        assert await office.good("GET", of_house(LAMP)) == lamp

    async def test_one_that_is_away_says_why_since_when_and_by_what(self, office: Office) -> None:
        absence = Absence(Why.SAID_SO, NOW - 30, "zigbee2mqtt/plug/availability: offline")
        report = Report(HOUSE.id, PLUG.id, NOW, PlugState(on=False), reachable=False, absence=absence)
        await office.village.store.record((report,))
        shown = await office.good("GET", of_house(PLUG))
        assert shown["reachable"] is False
        assert shown["absence"] == {"why": "said so", "since": "2027-01-15T07:59:30Z", "evidence": absence.evidence}
        assert shown["reportedAt"] == "2027-01-15T08:00:00Z"

    @pytest.mark.parametrize(
        ("query", "wanted"),
        [("kind=light", [LAMP]), ("reachable=false", [PLUG]), ("reachable=true", [LAMP, SCENE]), ("kind=lock", [])],
    )
    async def test_they_are_chosen_by_kind_and_reachability(self, office: Office, query: str, wanted: list[Module]) -> None:
        await office.village.store.record((Report(HOUSE.id, PLUG.id, NOW, reachable=False),))
        listed = (await office.good("GET", f"/plants/{HOUSE.id}/modules?{query}"))["items"]
        assert [module["id"] for module in listed] == [module.id for module in wanted]

    async def test_they_come_in_pages(self, office: Office) -> None:
        first = await office.good("GET", f"/plants/{HOUSE.id}/modules?limit=2")
        second = await office.good("GET", f"/plants/{HOUSE.id}/modules?limit=2&after={first['next']}")
        assert [module["id"] for page in (first, second) for module in page["items"]] == [LAMP.id, PLUG.id, SCENE.id]
        assert second["next"] is None

    async def test_what_is_not_there_is_404_and_what_cannot_be_read_400(self, office: Office) -> None:
        for path in (
            f"/plants/{an_id(999)}/modules",
            "/plants/house/modules",
            f"/plants/{HOUSE.id}/modules/{an_id(999)}",
            f"/plants/{HOUSE.id}/modules/{KITCHEN.id}",
            f"/plants/{an_id(999)}/modules/{LAMP.id}",
        ):
            await office.refused("GET", path, status=404)
        for query in ("kind=lamp", "reachable=maybe", "limit=0", "colour=red"):
            await office.refused("GET", f"/plants/{HOUSE.id}/modules?{query}", status=400)

    async def test_a_state_of_every_kind_is_shown_in_json_with_readable_times(self, villa: Office) -> None:
        listed = {one["kind"]: one["state"] for one in (await villa.good("GET", f"/plants/{VILLA.id}/modules"))["items"]}
        assert listed.keys() == set(DeviceKind)
        assert {type(state) for state in STATES.values() if state is not None} == SHOWN.keys()
        thermostat = listed["chronothermostat"]
        assert (thermostat["of"], thermostat["setPoint"]) == ("chronothermostat", 21.5)
        assert thermostat["activationTime"] == "2027-01-15T08:01:00Z"
        assert thermostat["temperature"] == {"value": 19.4, "unit": "C", "at": "2027-01-15T08:00:00Z"}
        assert listed["multisocket"] == {"of": "multisocket", "sockets": [True, False]}
        assert listed["emergency unit"]["failures"] == [{"type": "BLOCK.DLD", "flag": "0x8"}]
        test = listed["emergency unit"]["functionTest"]
        assert (test["kind"], test["passed"], test["beganAt"]) == ("function", True, "2027-01-15T07:59:00Z")
        assert listed["scene"] is None


class TestCommands:
    @pytest.mark.parametrize("kind", COMMANDS)
    async def test_every_kind_obeys_its_command(self, villa: Office, kind: DeviceKind) -> None:
        body, command = COMMANDS[kind]
        order = await villa.good("POST", path_of(kind, "/commands"), body)
        assert [one.command for one in villa.workshop.drivers["simulator"].orders] == [command]
        assert (order["state"], order["problem"]) == ("confirmed", "")
        assert (order["plantId"], order["moduleId"]) == (VILLA.id, MODULE_OF[kind].id)
        if kind is DeviceKind.CHRONOTHERMOSTAT:
            body = body | {"setPoint": 21.5, "activationTime": "2027-01-15T09:00:00Z"}
        assert order["command"] == body
        assert await villa.good("GET", f"/orders/{order['id']}") == order

    async def test_no_kind_takes_the_command_of_another(self, villa: Office) -> None:
        for kind in DeviceKind:
            own = COMMANDS[kind][0] if kind in COMMANDS else None
            expected = "run" if kind is DeviceKind.SCENE else "takes no command" if own is None else own["do"]
            for body, _ in COMMANDS.values():
                if body is not own:
                    assert expected in await villa.refused("POST", path_of(kind, "/commands"), body, status=400)
        assert villa.workshop.drivers["simulator"].orders == []
        assert (await villa.good("GET", "/orders"))["items"] == []

    async def test_a_value_out_of_its_bounds_is_400_and_nothing_is_sent(self, villa: Office) -> None:
        wrong: list[tuple[DeviceKind, Any]] = [
            (DeviceKind.LIGHT, {"do": "set light"}),
            (DeviceKind.LIGHT, {"do": "set light", "on": "yes"}),
            (DeviceKind.LIGHT, {"do": "set light", "level": 101}),
            (DeviceKind.LIGHT, {"do": "set light", "level": -1}),
            (DeviceKind.LIGHT, {"do": "set light", "level": 5.5}),
            (DeviceKind.LIGHT, {"do": "set light", "color": {"hue": 361, "saturation": 0, "value": 0}}),
            (DeviceKind.LIGHT, {"do": "set light", "color": {"hue": 0, "saturation": 101, "value": 0}}),
            (DeviceKind.LIGHT, {"do": "set light", "color": {"hue": 0, "saturation": 0, "value": 101}}),
            (DeviceKind.LIGHT, {"do": "set light", "color": {"hue": 0}}),
            (DeviceKind.LIGHT, {"do": "set light", "on": True, "brightness": 3}),
            (DeviceKind.LIGHT, {"do": "dance"}),
            (DeviceKind.LIGHT, {"on": True}),
            (DeviceKind.LIGHT, ["set light"]),
            (DeviceKind.AUTOMATION, {"do": "move shutter"}),
            (DeviceKind.AUTOMATION, {"do": "move shutter", "position": 101}),
            (DeviceKind.CHRONOTHERMOSTAT, {"do": "set thermostat"}),
            (DeviceKind.CHRONOTHERMOSTAT, {"do": "set thermostat", "setPoint": 2.9}),
            (DeviceKind.CHRONOTHERMOSTAT, {"do": "set thermostat", "setPoint": 40.1}),
            (DeviceKind.CHRONOTHERMOSTAT, {"do": "set thermostat", "program": 12}),
            (DeviceKind.CHRONOTHERMOSTAT, {"do": "set thermostat", "program": 3}),
            (DeviceKind.CHRONOTHERMOSTAT, {"do": "set thermostat", "mode": "party"}),
            (DeviceKind.CHRONOTHERMOSTAT, {"do": "set thermostat", "activationTime": "2027-01-15T07:59:59Z"}),
            (DeviceKind.CHRONOTHERMOSTAT, {"do": "set thermostat", "activationTime": "2028-01-15T07:59:59"}),
            (DeviceKind.MULTISOCKET, {"do": "switch socket", "socket": 2, "on": True}),
            (DeviceKind.MULTISOCKET, {"do": "switch socket", "socket": -1, "on": True}),
        ]
        for kind, body in wrong:
            with case(body):
                await villa.refused("POST", path_of(kind, "/commands"), body, status=400)
        assert villa.workshop.drivers["simulator"].orders == []
        assert (await villa.good("GET", "/orders"))["items"] == []

    @pytest.mark.parametrize("trouble", [DeviceRefused("the bus said no"), DeviceOffline("nobody is at home")])
    async def test_a_device_that_does_not_obey_is_200_with_a_record_that_says_so(
        self, driven: Office, trouble: Exception
    ) -> None:
        driven.workshop.drivers["simulator"].trouble = trouble
        order = await driven.good("POST", of_house(LAMP, "/commands"), {"do": "set light", "on": True})
        assert (order["state"], order["problem"]) == ("failed", str(trouble))
        assert order["endedAt"] is not None

    async def test_a_fault_that_is_injected_holds_for_operators_too(self, driven: Office) -> None:
        await driven.good("POST", f"/plants/{HOUSE.id}/faults", {"fault": "refusing"}, status=201)
        order = await driven.good("POST", of_house(LAMP, "/commands"), {"do": "set light", "on": True})
        assert order["state"] == "failed"
        assert driven.workshop.drivers["simulator"].orders == []

    async def test_under_one_key_the_same_is_sent_once_and_anything_else_is_409(self, driven: Office) -> None:
        key = {"headers": {"idempotency-key": "evening/1"}}
        body = {"do": "set light", "on": True}
        first = await driven.good("POST", of_house(LAMP, "/commands"), body, **key)
        assert first["id"] == "evening/1"
        assert await driven.good("POST", of_house(LAMP, "/commands"), body, **key) == first
        assert await driven.good("GET", "/orders/evening%2F1") == first
        for path, other in (
            (of_house(LAMP, "/commands"), {"do": "set light", "on": False}),
            (of_house(PLUG, "/commands"), {"do": "switch plug", "on": True}),
        ):
            assert "key" in await driven.refused("POST", path, other, status=409, **key)
        assert len(driven.workshop.drivers["simulator"].orders) == 1
        assert driven.workshop.drivers["mqtt"].orders == []

    @pytest.mark.parametrize("keys", [[""], ["k" * 129], ["a\tb"], ["one", "two"]])
    async def test_what_is_no_key_is_400(self, driven: Office, keys: list[str]) -> None:
        headers = [("authorization", f"Bearer {driven.token}"), *(("idempotency-key", key) for key in keys)]
        url = f"/manage/v1{of_house(LAMP, '/commands')}"
        answer = await driven.http.post(url, headers=headers, content=b'{"do": "set light", "on": true}')
        assert answer.status_code == 400
        assert "dempotency" in answer.json()["detail"]
        assert driven.workshop.drivers["simulator"].orders == []

    async def test_without_a_key_each_is_an_order_of_its_own(self, driven: Office) -> None:
        for _ in range(2):
            await driven.good("POST", of_house(LAMP, "/commands"), {"do": "set light", "on": True})
        ids = {one.id for one in driven.workshop.drivers["simulator"].orders}
        assert len(ids) == 2

    async def test_a_removed_plant_is_409_and_what_is_not_there_404(self, driven: Office) -> None:
        body = {"do": "set light", "on": True}
        await driven.refused("POST", f"/plants/{HOUSE.id}/modules/{an_id(999)}/commands", body, status=404)
        await driven.refused("POST", f"/plants/{an_id(999)}/modules/{LAMP.id}/commands", body, status=404)
        await driven.village.store.set_plant_status(HOUSE.id, PlantStatus.REMOVED, NOW)
        assert "bring it back" in await driven.refused("POST", of_house(LAMP, "/commands"), body, status=409)
        assert driven.workshop.drivers["simulator"].orders == []

    async def test_it_is_in_the_audit_log_with_who_what_and_how_it_ended(self, driven: Office) -> None:
        path = of_house(LAMP, "/commands")
        order = await driven.good("POST", path, {"do": "set light", "on": True})
        driven.workshop.drivers["simulator"].trouble = DeviceRefused("no")
        await driven.good("POST", path, {"do": "set light", "on": True})
        noted = (await driven.good("GET", "/audit?action=command"))["items"]
        assert [(one["what"], one["result"]) for one in noted] == [
            (f"management set light:{LAMP.id}", "ok"),
            (f"management set light:{LAMP.id}", "failed"),
        ]
        assert noted[0]["detail"] == {"order": order["id"], "state": "confirmed"}
        assert noted[0]["address"] == "192.0.2.9"
        assert noted[0]["who"].startswith("user:")
        assert driven.olga.id not in noted[0]["who"]


class TestScenes:
    async def test_one_is_run_and_its_steps_are_among_the_orders(self, driven: Office) -> None:
        await driven.good("POST", of_house(SCENE, "/run"), status=204)
        await driven.workshop.scenes.finish()
        (order,) = (await driven.good("GET", "/orders"))["items"]
        assert (order["moduleId"], order["state"]) == (LAMP.id, "confirmed")
        assert order["command"] == {"do": "set light", "on": False}
        assert "command" in await driven.village.noted()

    async def test_only_a_scene_is_run(self, driven: Office) -> None:
        assert "scene" in await driven.refused("POST", of_house(LAMP, "/run"), status=400)
        await driven.village.store.set_plant_status(HOUSE.id, PlantStatus.REMOVED, NOW)
        await driven.refused("POST", of_house(SCENE, "/run"), status=409)
        assert (await driven.good("GET", "/orders"))["items"] == []


class TestOrders:
    async def order(self, office: Office, module: Module, number: int, at: float) -> None:
        told = commands.SetLight(level=number)
        await office.village.store.add_orders(
            (commands.Order(f"order {number}", HOUSE.id, module.id, told, at + 5),), at, sent=number % 2 == 0
        )

    async def test_the_newest_comes_first_and_pages_lose_none(self, office: Office) -> None:
        # Three of them at one moment, and moments that no six decimals have.
        for number, at in enumerate([0.1, 0.2, 0.1234567 + 0.2, 0.1234567 + 0.2, 0.1234567 + 0.2, 0.4000002, 0.5999998]):
            await self.order(office, LAMP, number, NOW + at)
        for limit in range(1, 9):
            seen, after = [], ""
            while True:
                page = await office.good("GET", f"/orders?limit={limit}{after}")
                assert page["items"] or not seen
                seen += [one["command"].get("level") for one in page["items"]]
                if page["next"] is None or not page["items"]:
                    break
                after = f"&after={page['next']}"
            assert seen == [6, 5, 4, 3, 2, 1, 0], limit

    async def test_they_are_chosen_by_plant_module_and_state(self, office: Office) -> None:
        await self.order(office, LAMP, 1, NOW)
        await self.order(office, PLUG, 2, NOW + 1)
        for query, wanted in (
            (f"plantId={HOUSE.id}", ["order 2", "order 1"]),
            (f"plantId={an_id(999)}", []),
            (f"moduleId={LAMP.id.upper()}", ["order 1"]),
            ("state=sent", ["order 2"]),
            (f"state=queued&moduleId={PLUG.id}", []),
        ):
            listed = (await office.good("GET", f"/orders?{query}"))["items"]
            assert [one["id"] for one in listed] == wanted

    async def test_what_cannot_be_read_is_400_and_what_is_not_there_404(self, office: Office) -> None:
        for query in ("plantId=house", "moduleId=", "state=lost", "after=nan", "after=x", "after=", "limit=201"):
            await office.refused("GET", f"/orders?{query}", status=400)
        for order_id in ("nothing", "a%00b", "%F0%9F%92%A1"):
            await office.refused("GET", f"/orders/{order_id}", status=404)

    async def test_one_that_ended_says_how_and_when(self, office: Office) -> None:
        await self.order(office, LAMP, 2, NOW)
        end = commands.OrderEnd("order 2", commands.OrderState.EXPIRED, NOW + 5, "the device did not confirm in time")
        await office.village.store.end_order(end)
        shown = await office.good("GET", "/orders/order%202")
        assert shown == {
            "id": "order 2",
            "plantId": HOUSE.id,
            "moduleId": LAMP.id,
            "command": {"do": "set light", "level": 2},
            "state": "expired",
            "problem": "the device did not confirm in time",
            "deadline": "2027-01-15T08:00:05Z",
            "queuedAt": "2027-01-15T08:00:00Z",
            "sentAt": "2027-01-15T08:00:00Z",
            "endedAt": "2027-01-15T08:00:05Z",
        }


class TestDrivers:
    async def test_each_says_how_it_fares(self, driven: Office) -> None:
        listed = {one["name"]: one for one in (await driven.good("GET", "/drivers"))["items"]}
        assert listed.keys() == {"simulator", "mqtt"}
        mqtt = listed["mqtt"]
        assert (mqtt["condition"], mqtt["plants"], mqtt["restarts"], mqtt["lastError"]) == ("running", 1, 0, "")
        assert mqtt["lastErrorAt"] is None

    async def test_one_that_failed_says_why_and_when_it_is_started_again(self, driven: Office) -> None:
        failing = driven.workshop.drivers["mqtt"]
        assert failing.failure is not None
        failing.failure.set_result(OSError("broker gone"))
        mqtt = await self.health(driven, "mqtt")
        while not mqtt["lastError"]:
            await asyncio.sleep(0.01)
            mqtt = await self.health(driven, "mqtt")
        assert "broker gone" in mqtt["lastError"]
        assert mqtt["lastErrorAt"] == "2027-01-15T08:00:00Z"
        assert (await self.health(driven, "simulator"))["condition"] == "running"

    async def health(self, office: Office, name: str) -> dict[str, Any]:
        return next(one for one in (await office.good("GET", "/drivers"))["items"] if one["name"] == name)
