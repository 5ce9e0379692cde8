"""Devices are found on a real broker and placed into rooms, over the management API; modules of all plants are searched."""

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest

from domogate.domain.reachability import Absence, AbsenceReason
from domogate.domain.states import Report
from domogate.drivers.mqtt import MqttBroker, MqttSettings
from support.clocks import NOW
from support.management_setup import ManagementApi
from support.mosquitto import DeviceClient, Mosquitto, mosquitto
from support.ports import free_port
from support.stores import ANNA, HALL, HOUSE, KITCHEN, LAMP, PLUG, SCENE, an_id

pytestmark = pytest.mark.slow

BULB = {"model": "M", "vendor": "V", "description": "bulb", "exposes": [{"type": "light", "features": []}]}
NAMES = ("kitchen_lamp", "kitchen_reading_lamp", "hall_lamp", "garage_lamp", "lobby")
OF_HOUSE = f"/plants/{HOUSE.id}"
SEARCH = {"driver": "mqtt", "seconds": 2}


def spot(number: int, name: str, **more: Any) -> dict[str, Any]:
    return {"id": an_id(number), "name": name, "kind": "light", "driver": "simulator", **more}


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mosquitto]:
    devices: list[dict[str, Any]] = [
        {"ieee_address": f"0x{number}", "type": "Router", "friendly_name": name, "supported": True, "definition": BULB}
        for number, name in enumerate(NAMES)
    ]
    devices.append({"ieee_address": "0x99", "type": "EndDevice", "friendly_name": "odd", "definition": None})
    with mosquitto(tmp_path_factory.mktemp("mosquitto")) as one:
        client = DeviceClient(one.port)
        client.publish("zigbee2mqtt/bridge/devices", json.dumps(devices), retain=True)
        client.close()
        yield one


def use_broker(api: ManagementApi, url: str) -> None:
    api.drivers.settings["mqtt"] = MqttSettings(brokers=(MqttBroker(url=url),))


class TestDiscovery:
    async def test_devices_are_found_placed_by_name_and_taken_away_again(self, api: ManagementApi, broker: Mosquitto) -> None:
        use_broker(api, broker.url)
        result = await api.ok("POST", "/discoveries", SEARCH)
        assert sorted(one["name"] for one in result["found"]) == sorted(NAMES)
        assert (result["total"], [one["name"] for one in result["skipped"]]) == (5, ["odd"])
        assert all(one["place"] is None and one["options"]["dialect"] == "zigbee2mqtt" for one in result["found"])
        modules = [
            {key: one[key] for key in ("id", "name", "kind", "driver", "options", "hardware")} for one in result["found"]
        ]
        placement = await api.ok("POST", f"{OF_HOUSE}/placements", {"modules": modules, "pattern": "{room}_*"})
        assert sorted((one["name"], one["ambientId"]) for one in placement["placed"]) == sorted(
            [("Lamp 2", KITCHEN.id), ("Reading lamp", KITCHEN.id), ("Lamp", HALL.id)]
        )
        left = {one["name"]: one["why"] for one in placement["left"]}
        assert left == {"garage_lamp": "no room is named garage", "lobby": "its name does not match the pattern"}
        again = await api.ok("POST", "/discoveries", SEARCH)
        places = {one["name"]: one["place"] for one in again["found"]}
        assert places["hall_lamp"] == {"plantId": HOUSE.id, "plant": HOUSE.name, "ambientId": HALL.id, "ambient": "Hall"}
        assert places["lobby"] is None
        repeated = await api.ok("POST", f"{OF_HOUSE}/placements", {"modules": modules, "pattern": "{room}_*"})
        assert (repeated["placed"], len(repeated["known"])) == ([], 3)
        await api.ok("POST", f"{OF_HOUSE}/module-deletions", {"ids": repeated["known"]}, status=204)
        assert {one["id"] for one in (await api.ok("GET", f"{OF_HOUSE}/modules"))["items"]} == {LAMP.id, PLUG.id, SCENE.id}

    async def test_the_simulator_finds_devices_that_do_not_exist(self, api: ManagementApi) -> None:
        found = (await api.ok("POST", "/discoveries", {"driver": "simulator"}))["found"]
        modules = [{"id": one["id"], "name": one["name"], "kind": one["kind"], "driver": "simulator"} for one in found]
        placement = await api.ok("POST", f"{OF_HOUSE}/placements", {"modules": modules, "pattern": "{room}_*"})
        assert {one["name"] for one in placement["placed"]} == {"Lamp 2", "Plug 2", "Door"}

    async def test_one_search_at_a_time(self, api: ManagementApi, broker: Mosquitto) -> None:
        use_broker(api, broker.url)
        answers = await asyncio.gather(*(api.send("POST", "/discoveries", SEARCH) for _ in range(2)))
        assert sorted(answer.status_code for answer in answers) == [200, 409]

    async def test_what_cannot_be_searched_is_refused_with_the_reason(self, api: ManagementApi) -> None:
        refusal = await api.refused("POST", "/discoveries", {}, status=502)
        assert "No MQTT broker is set" in refusal
        assert "[[mqtt_brokers]]" in refusal
        use_broker(api, f"mqtt://127.0.0.1:{free_port()}")
        assert "cannot be used: Connection refused" in await api.refused("POST", "/discoveries", {}, status=502)
        assert "no MQTT broker 'x'" in await api.refused("POST", "/discoveries", {"connection": "x"}, status=502)
        await api.refused("POST", "/discoveries", {"driver": "openwebnet"}, status=422)
        for wrong in ({"seconds": 31}, {"seconds": 0}, {"url": "mqtt://127.0.0.1"}):
            await api.refused("POST", "/discoveries", wrong, status=400)


class TestPlacement:
    async def test_into_given_ambients_and_into_none(self, api: ManagementApi) -> None:
        body = {"modules": [spot(901, "Spot", ambientId=HALL.id), spot(902, "Mast")]}
        placement = await api.ok("POST", f"{OF_HOUSE}/placements", body)
        assert placement == {
            "placed": [
                {"id": an_id(901), "name": "Spot", "ambientId": HALL.id},
                {"id": an_id(902), "name": "Mast", "ambientId": None},
            ],
            "known": [],
            "left": [],
        }
        (record,) = (await api.ok("GET", "/audit?action=plant%20changed"))["items"]
        assert record["detail"] == {"change": "modules placed", "count": "2"}

    async def test_only_modules_that_were_deleted_are_in_the_audit_log(self, api: ManagementApi) -> None:
        await api.ok("POST", f"{OF_HOUSE}/placements", {"modules": [spot(901, "Spot")]})
        for _ in range(2):
            await api.ok("POST", f"{OF_HOUSE}/module-deletions", {"ids": [an_id(901), an_id(902), an_id(901)]}, status=204)
        _, *records = (await api.ok("GET", "/audit?action=plant%20changed"))["items"]
        assert [record["detail"] for record in records] == [{"change": "modules deleted", "count": "1"}]

    async def test_all_or_nothing(self, api: ManagementApi) -> None:
        wrong = [spot(901, "Spot"), spot(902, "Mast", options={"travel": 3})]
        await api.refused("POST", f"{OF_HOUSE}/placements", {"modules": wrong}, status=422)
        unknown = [spot(901, "Spot"), spot(902, "Mast", ambientId=an_id(404))]
        await api.refused("POST", f"{OF_HOUSE}/placements", {"modules": unknown}, status=404)
        assert len((await api.ok("GET", f"{OF_HOUSE}/modules"))["items"]) == 3

    async def test_a_module_of_another_plant_is_not_taken(self, api: ManagementApi) -> None:
        villa = await api.ok("POST", "/plants", {"name": "Villa", "type": "house", "owner": ANNA.email}, status=201)
        taken = {"modules": [spot(0, "Lamp") | {"id": LAMP.id}]}
        await api.refused("POST", f"/plants/{villa['id']}/placements", taken, status=409)

    @pytest.mark.parametrize("pattern", ["", "room", "{room}{room}", "{room}***", "x" * 201])
    async def test_a_wrong_pattern_is_400(self, api: ManagementApi, pattern: str) -> None:
        await api.refused("POST", f"{OF_HOUSE}/placements", {"modules": [spot(901, "x")], "pattern": pattern}, status=400)

    async def test_a_pattern_cannot_block_the_gateway(self, api: ManagementApi) -> None:
        """Long names that match almost."""
        almost = [spot(1000 + number, "a" * 59 + "b") for number in range(300)] + [spot(901, "a" * 200)]
        placement = await api.ok("POST", f"{OF_HOUSE}/placements", {"modules": almost, "pattern": "*a{room}a*a"})
        assert len(placement["left"]) == 301

    async def test_the_number_of_modules_is_bounded(self, api: ManagementApi) -> None:
        many = [spot(1000 + number, f"Spot {number}") for number in range(1001)]
        await api.refused("POST", f"{OF_HOUSE}/placements", {"modules": many}, status=400)
        placed = await api.ok("POST", f"{OF_HOUSE}/placements", {"modules": many[:-1]})
        assert len(placed["placed"]) == 1000


class TestSearch:
    async def found(self, api: ManagementApi, query: str = "") -> list[str]:
        return [one["name"] for one in (await api.ok("GET", f"/modules{query}"))["items"]]

    async def test_by_words_kind_driver_plant_and_ambient(self, api: ManagementApi) -> None:
        villa = await api.ok("POST", "/plants", {"name": "Villa", "type": "house", "owner": ANNA.email}, status=201)
        await api.ok("POST", f"/plants/{villa['id']}/placements", {"modules": [spot(901, "Öl_lamp 100%")]})
        assert len(await self.found(api)) == 4
        for query, names in {
            "?text=LAMP": ["Lamp", "Öl_lamp 100%"],
            "?text=villa%20lamp": ["Öl_lamp 100%"],
            "?text=kitchen": ["Lamp", "Plug"],
            "?text=%C3%96l": ["Öl_lamp 100%"],
            "?text=_lamp%20100%25": ["Öl_lamp 100%"],
            "?text=la%25": [],
            "?text=%00": [],
            "?driver=%00": [],
            "?kind=scene": ["Evening"],
            "?driver=mqtt": ["Plug"],
            f"?plantId={villa['id']}": ["Öl_lamp 100%"],
            f"?ambientId={KITCHEN.id}&kind=plug": ["Plug"],
        }.items():
            assert await self.found(api, query) == names, query
        (lamp,) = (await api.ok("GET", "/modules?text=casa%20kitchen&kind=light"))["items"]
        assert lamp == await api.ok("GET", f"{OF_HOUSE}/modules/{LAMP.id}") | {"plantId": HOUSE.id, "plant": HOUSE.name}

    async def test_by_the_reason_why_a_module_cannot_be_reached(self, api: ManagementApi) -> None:
        absence = Absence(AbsenceReason.SILENT, NOW, '{"why":"refused"')
        await api.env.store.record((Report(HOUSE.id, PLUG.id, NOW, reachable=False, absence=absence),))
        assert await self.found(api, "?reason=silent") == ["Plug"]
        assert await self.found(api, "?reason=refused") == []
        assert await self.found(api, "?reachable=false") == ["Plug"]
        assert await self.found(api, "?reachable=true") == ["Lamp", "Evening"]

    async def test_page_by_page(self, api: ManagementApi) -> None:
        seen: list[str] = []
        after = ""
        while True:
            page = await api.ok("GET", f"/modules?limit=1{after}")
            seen += [one["name"] for one in page["items"]]
            if page["next"] is None:
                break
            after = f"&after={page['next']}"
        assert seen == ["Lamp", "Plug", "Evening"]

    @pytest.mark.parametrize("query", ["?reason=tired", "?after=x", "?plantId=x", "?kind=lamp", f"?text={'x' * 201}", "?x=1"])
    async def test_wrong_filters_are_400(self, api: ManagementApi, query: str) -> None:
        await api.refused("GET", f"/modules{query}", status=400)
