"""Modules and drivers over HTTP: what they are, where, and how they fare."""

import asyncio
from typing import Any, get_args

import pytest

from domogate.domain.devices import DeviceKind
from domogate.domain.plants import Module
from domogate.domain.reachability import Absence, AbsenceReason
from domogate.domain.states import PlugState, Report, State
from support.management import Office
from support.stores import HOUSE, KITCHEN, LAMP, NOW, PLUG, SCENE, an_id
from support.villa import STATES, VILLA, of_house

pytestmark = pytest.mark.slow


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
        absence = Absence(AbsenceReason.SAID_SO, NOW - 30, "zigbee2mqtt/plug/availability: offline")
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
