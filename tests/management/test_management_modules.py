"""Modules and drivers over HTTP: their place, state and health."""

import asyncio
from typing import Any, get_args

import pytest

from domogate.domain.devices import DeviceKind
from domogate.domain.plants import Module
from domogate.domain.reachability import Absence, AbsenceReason, Evidence
from domogate.domain.states import PlugState, Report, State
from support.clocks import NOW
from support.full_plant import FULL_PLANT, STATES, house_module_path
from support.management_setup import ManagementApi
from support.stores import HOUSE, KITCHEN, LAMP, PLUG, SCENE, an_id

pytestmark = pytest.mark.slow


class TestModules:
    async def test_each_is_shown_with_its_kind_driver_room_and_state(self, api: ManagementApi) -> None:
        listed = (await api.ok("GET", f"/plants/{HOUSE.id}/modules"))["items"]
        assert [module["id"] for module in listed] == [LAMP.id, PLUG.id, SCENE.id]
        lamp, plug, scene = listed
        assert lamp == {
            "id": LAMP.id,
            "name": "Lamp",
            "kind": "light",
            "driver": "simulator",
            "options": {},
            "simulated": True,
            "ambientId": KITCHEN.id,
            "ambient": "Kitchen",
            "state": {"of": "light", "on": True, "level": 40, "color": None},
            "reachable": True,
            "absence": None,
            "reportedAt": None,
        }
        assert (plug["driver"], plug["state"]) == ("mqtt", None)
        assert (scene["ambientId"], scene["ambient"]) == (None, None)
        assert await api.ok("GET", house_module_path(LAMP)) == lamp

    async def test_an_unreachable_module_has_reason_time_and_evidence(self, api: ManagementApi) -> None:
        absence = Absence(AbsenceReason.ANNOUNCED, NOW - 30, "zigbee2mqtt/plug/availability: offline")
        report = Report(HOUSE.id, PLUG.id, NOW, PlugState(on=False), reachable=False, absence=absence)
        await api.env.store.record((report,))
        shown = await api.ok("GET", house_module_path(PLUG))
        assert shown["reachable"] is False
        assert shown["absence"] == {
            "why": "said so",
            "since": "2027-01-15T07:59:30Z",
            "evidence": absence.evidence,
            "code": "",
            "values": {},
        }
        assert shown["reportedAt"] == "2027-01-15T08:00:00Z"

    async def test_a_sentence_of_the_gateway_has_a_code_and_its_values(self, api: ManagementApi) -> None:
        absence = Absence.of(AbsenceReason.SILENT, NOW - 30, Evidence.TOPIC_SILENT, topic="home/{plug}", seconds="30")
        report = Report(HOUSE.id, PLUG.id, NOW, PlugState(on=False), reachable=False, absence=absence)
        await api.env.store.record((report,))
        shown = (await api.ok("GET", house_module_path(PLUG)))["absence"]
        assert shown["evidence"] == "no message on home/{plug} for 30 seconds"
        assert (shown["code"], shown["values"]) == ("topic_silent", {"topic": "home/{plug}", "seconds": "30"})

    @pytest.mark.parametrize(
        ("query", "wanted"),
        [("kind=light", [LAMP]), ("reachable=false", [PLUG]), ("reachable=true", [LAMP, SCENE]), ("kind=lock", [])],
    )
    async def test_they_are_filtered_by_kind_and_reachability(
        self, api: ManagementApi, query: str, wanted: list[Module]
    ) -> None:
        await api.env.store.record((Report(HOUSE.id, PLUG.id, NOW, reachable=False),))
        listed = (await api.ok("GET", f"/plants/{HOUSE.id}/modules?{query}"))["items"]
        assert [module["id"] for module in listed] == [module.id for module in wanted]

    async def test_they_come_in_pages(self, api: ManagementApi) -> None:
        first = await api.ok("GET", f"/plants/{HOUSE.id}/modules?limit=2")
        second = await api.ok("GET", f"/plants/{HOUSE.id}/modules?limit=2&after={first['next']}")
        assert [module["id"] for page in (first, second) for module in page["items"]] == [LAMP.id, PLUG.id, SCENE.id]
        assert second["next"] is None

    async def test_an_unknown_id_is_404_and_a_malformed_query_400(self, api: ManagementApi) -> None:
        for path in (
            f"/plants/{an_id(999)}/modules",
            "/plants/house/modules",
            f"/plants/{HOUSE.id}/modules/{an_id(999)}",
            f"/plants/{HOUSE.id}/modules/{KITCHEN.id}",
            f"/plants/{an_id(999)}/modules/{LAMP.id}",
        ):
            await api.refused("GET", path, status=404)
        for query in ("kind=lamp", "reachable=maybe", "limit=0", "colour=red"):
            await api.refused("GET", f"/plants/{HOUSE.id}/modules?{query}", status=400)

    async def test_a_state_of_every_kind_is_shown_in_json_with_readable_times(self, villa: ManagementApi) -> None:
        listed = {one["kind"]: one["state"] for one in (await villa.ok("GET", f"/plants/{FULL_PLANT.id}/modules"))["items"]}
        assert listed.keys() == set(DeviceKind)
        assert {type(state) for state in STATES.values() if state is not None} == set(get_args(State))
        thermostat = listed["chronothermostat"]
        assert (thermostat["of"], thermostat["setPoint"]) == ("chronothermostat", 21.5)
        assert thermostat["activationTime"] == "2027-01-15T08:01:00Z"
        assert thermostat["temperature"] == {"value": 19.4, "unit": "C", "at": "2027-01-15T08:00:00Z"}
        assert listed["multisocket"] == {"of": "multisocket", "sockets": [True, False]}
        assert listed["emergency unit"]["failures"] == [{"type": "BLOCK.DLD", "flag": "0x8"}]
        test = listed["emergency unit"]["functionTest"]
        assert (test["kind"], test["passed"], test["beganAt"]) == ("function", True, "2027-01-15T07:59:00Z")
        assert listed["scene"] is None


class TestDrivers:
    async def test_each_has_its_health(self, driven: ManagementApi) -> None:
        listed = {one["name"]: one for one in (await driven.ok("GET", "/drivers"))["items"]}
        assert listed.keys() == {"simulator", "mqtt"}
        mqtt = listed["mqtt"]
        assert (mqtt["condition"], mqtt["plants"], mqtt["restarts"], mqtt["lastError"]) == ("running", 1, 0, "")
        assert mqtt["lastErrorAt"] is None

    async def test_a_failed_driver_has_the_error_and_its_next_start(self, driven: ManagementApi) -> None:
        failing = driven.backend.drivers["mqtt"]
        assert failing.failure is not None
        failing.failure.set_result(OSError("broker gone"))
        mqtt = await self.health(driven, "mqtt")
        while not mqtt["lastError"]:
            await asyncio.sleep(0.01)
            mqtt = await self.health(driven, "mqtt")
        assert "broker gone" in mqtt["lastError"]
        assert mqtt["lastErrorAt"] == "2027-01-15T08:00:00Z"
        assert (await self.health(driven, "simulator"))["condition"] == "running"

    async def health(self, api: ManagementApi, name: str) -> dict[str, Any]:
        return next(one for one in (await api.ok("GET", "/drivers"))["items"] if one["name"] == name)
