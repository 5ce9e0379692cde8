"""Plants, floors, ambients and modules are created, changed and deleted over the management API."""

import asyncio
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from domogate.domain.devices import DeviceKind
from domogate.domain.estate import Estate, EstatePlant
from domogate.drivers import DRIVERS
from domogate.estate import read_estate
from domogate.services.plants.editing import PlantEditor
from domogate.services.refusals import Invalid
from domogate.stores import SqlStore
from support.management_setup import ManagementApi
from support.stores import ANNA, BRUNO, CARLA, GROUND, HALL, HOUSE, HOUSE_TOPOLOGY, KITCHEN, LAMP, PLUG, SCENE, an_id

pytestmark = pytest.mark.slow

OF_HOUSE = f"/plants/{HOUSE.id}"
MODULES = f"{OF_HOUSE}/modules"
SPOT = {"name": "Spot", "kind": "light", "driver": "simulator", "options": {"transition": 2}, "ambientId": HALL.id}


async def content(api: ManagementApi) -> dict[str, Any]:
    found: dict[str, Any] = await api.ok("GET", f"{OF_HOUSE}/content")
    return found


class TestPlants:
    async def test_a_new_plant_belongs_to_its_owner(self, api: ManagementApi) -> None:
        body = {"name": "Villa", "type": "house", "owner": "BRUNO@example.com", "country": "Italia", "timeZone": "Europe/Rome"}
        created = await api.ok("POST", "/plants", body, status=201)
        assert (created["name"], created["owner"]["userId"], created["country"]) == ("Villa", BRUNO.id, "Italia")
        assert created["timeZone"] == "Europe/Rome"
        told = await api.refused("PATCH", f"/plants/{created['id']}", {"timeZone": "Rome"}, status=422)
        assert "there is no time zone" in told
        assert await api.ok("GET", f"/plants/{created['id']}") == created
        assert created["id"] in {plant["id"] for plant in (await api.ok("GET", f"/users/{BRUNO.id}/plants"))["items"]}

    async def test_facts_are_changed_and_people_stay(self, api: ManagementApi) -> None:
        before = await api.ok("GET", OF_HOUSE)
        changed = await api.ok("PATCH", OF_HOUSE, {"name": "Casa Rossi", "zipCode": None})
        assert changed == {**before, "name": "Casa Rossi", "zipCode": None}
        (record,) = (await api.ok("GET", "/audit?action=plant%20changed"))["items"]
        assert record["detail"] == {"change": "changed", "fields": "name, zip_code"}

    async def test_another_owner(self, api: ManagementApi) -> None:
        changed = await api.ok("PATCH", OF_HOUSE, {"owner": BRUNO.email})
        assert changed["owner"]["userId"] == BRUNO.id
        assert ANNA.id not in {one["userId"] for one in changed["allowed"]}

    async def test_an_owner_who_was_invited_has_no_invitation_any_more(self, api: ManagementApi) -> None:
        assert (await api.ok("GET", OF_HOUSE))["invited"] == ["Carla@Example.com"]
        changed = await api.ok("PATCH", OF_HOUSE, {"owner": CARLA.email})
        assert (changed["owner"]["userId"], changed["invited"]) == (CARLA.id, [])

    @pytest.mark.parametrize("wrong", [{"owner": "nobody@example.com"}, {"name": "x" * 51}, {"zipCode": "1" * 21}])
    async def test_wrong_values_are_422_and_change_nothing(self, api: ManagementApi, wrong: dict[str, str]) -> None:
        before = await api.ok("GET", "/plants")
        await api.refused("PATCH", OF_HOUSE, wrong, status=422)
        await api.refused("POST", "/plants", {"name": "V", "type": "house", "owner": ANNA.email} | wrong, status=422)
        assert await api.ok("GET", "/plants") == before

    @pytest.mark.parametrize("name", ["", "a\nb", "a\n", "\n", "a\0b"])
    async def test_a_name_is_one_line(self, api: ManagementApi, name: str) -> None:
        for path in ("", f"/floors/{GROUND.id}", f"/ambients/{HALL.id}", f"/modules/{LAMP.id}"):
            await api.refused("PATCH", f"{OF_HOUSE}{path}", {"name": name}, status=400)


class TestRooms:
    async def test_floors_and_ambients_are_added_renamed_moved_and_deleted(self, api: ManagementApi) -> None:
        floor = await api.ok("POST", f"{OF_HOUSE}/floors", {"name": "First floor"}, status=201)
        ambient = await api.ok(
            "POST", f"{OF_HOUSE}/ambients", {"name": "Bedroom", "type": "bedroom", "floorId": floor["id"]}, status=201
        )
        shown = await content(api)
        assert [one["name"] for one in shown["floors"]] == ["Ground floor", "First floor"]
        assert shown["floors"][1]["ambients"] == [ambient]
        assert (shown["floors"][0]["ambients"][0]["modules"], shown["modules"]) == (2, 1)
        path = f"{OF_HOUSE}/ambients/{ambient['id']}"
        changed = await api.ok("PATCH", path, {"name": "Studio", "floorId": None})
        assert changed["ambient"] == {**ambient, "name": "Studio", "floorId": None}
        assert changed["former"] == {"name": "Bedroom", "type": "bedroom", "floorId": floor["id"]}
        assert (await api.ok("PATCH", path, changed["former"]))["ambient"] == ambient
        renamed = await api.ok("PATCH", f"{OF_HOUSE}/floors/{floor['id']}", {"name": "Upstairs"})
        assert (renamed["floor"]["name"], renamed["former"]) == ("Upstairs", {"name": "First floor"})
        await api.refused("DELETE", f"{OF_HOUSE}/floors/{floor['id']}", status=409)
        await api.ok("DELETE", path, status=204)
        await api.ok("DELETE", f"{OF_HOUSE}/floors/{floor['id']}", status=204)
        assert [one["id"] for one in (await content(api))["floors"]] == [GROUND.id]

    async def test_an_ambient_with_modules_is_not_deleted(self, api: ManagementApi) -> None:
        assert "Kitchen" in await api.refused("DELETE", f"{OF_HOUSE}/ambients/{KITCHEN.id}", status=409)

    async def test_unknown_places_are_404(self, api: ManagementApi) -> None:
        for path in (f"floors/{an_id(404)}", f"ambients/{GROUND.id}", f"modules/{HALL.id}"):
            await api.refused("DELETE", f"{OF_HOUSE}/{path}", status=404)
            await api.refused("PATCH", f"{OF_HOUSE}/{path}", {"name": "x"}, status=404)
        await api.refused("POST", f"{OF_HOUSE}/ambients", {"name": "x", "floorId": an_id(404)}, status=404)
        await api.refused("POST", f"/plants/{an_id(404)}/floors", {"name": "x"}, status=404)

    async def test_changes_at_the_same_time_are_all_kept(self, api: ManagementApi) -> None:
        names = [f"Room {number}" for number in range(8)]
        await asyncio.gather(*(api.ok("POST", f"{OF_HOUSE}/ambients", {"name": name}, status=201) for name in names))
        assert {one["name"] for one in (await content(api))["ambients"]} == {"Hall", *names}


class TestModules:
    async def test_a_module_is_added_changed_undone_and_deleted(self, driven: ManagementApi) -> None:
        api = driven
        added = await api.ok("POST", MODULES, SPOT, status=201)
        assert (added["ambient"], added["options"], added["simulated"]) == ("Hall", {"transition": 2}, True)
        path = f"{MODULES}/{added['id']}"
        assert (await api.ok("POST", f"{path}/commands", {"do": "set light", "on": True}))["state"] == "confirmed"
        changed = await api.ok("PATCH", path, {"name": "Reading lamp", "ambientId": KITCHEN.id, "options": {}})
        assert (changed["module"]["name"], changed["module"]["ambient"]) == ("Reading lamp", "Kitchen")
        assert changed["former"] == {"name": "Spot", "ambientId": HALL.id, "driver": "simulator", "options": {"transition": 2}}
        undone = await api.ok("PATCH", path, changed["former"])
        assert {key: undone["module"][key] for key in ("name", "ambientId", "options")} == {
            "name": "Spot",
            "ambientId": HALL.id,
            "options": {"transition": 2},
        }
        await api.ok("DELETE", path, status=204)
        await api.refused("GET", path, status=404)
        details = [one["detail"]["change"] for one in (await api.ok("GET", "/audit?action=plant%20changed"))["items"]]
        assert details == ["module added", "module changed", "module changed", "module deleted"]

    async def test_a_plant_is_a_site_while_it_has_a_controller(self, api: ManagementApi) -> None:
        controller = {"name": "ZB-LG", "kind": "emergency controller", "driver": "simulator"}
        first, second = [(await api.ok("POST", MODULES, controller, status=201))["id"] for _ in range(2)]
        await api.ok("PATCH", OF_HOUSE, {"name": "Casa Rossi"})
        seen = []
        for module_id in (first, second):
            await api.ok("DELETE", f"{MODULES}/{module_id}", status=204)
            seen.append((await api.ok("GET", OF_HOUSE))["emergencyLighting"])
        assert seen == [True, False]

    async def test_a_change_keeps_the_other_modules_and_their_states(self, api: ManagementApi) -> None:
        before = (await api.ok("GET", MODULES))["items"]
        await api.ok("PATCH", f"{MODULES}/{LAMP.id}", {"name": "Ceiling"})
        after = (await api.ok("GET", MODULES))["items"]
        assert after == [one | ({"name": "Ceiling"} if one["id"] == LAMP.id else {}) for one in before]
        assert next(one["state"] for one in after if one["id"] == LAMP.id) is not None

    async def test_options_are_checked_by_the_driver(self, api: ManagementApi) -> None:
        detail = await api.refused("PATCH", f"{MODULES}/{LAMP.id}", {"options": {"travel": 3}}, status=422)
        assert detail.startswith("options.travel: a simulated light has no such option")
        assert "dialect" in await api.refused("PATCH", f"{MODULES}/{LAMP.id}", {"driver": "mqtt"}, status=422)
        assert "driver" in await api.refused("POST", MODULES, SPOT | {"driver": "zwave"}, status=422)
        zigbee = {"dialect": "zigbee2mqtt", "name": "kitchen_lamp"}
        changed = await api.ok("PATCH", f"{MODULES}/{LAMP.id}", {"driver": "mqtt", "options": zigbee})
        assert (changed["module"]["driver"], changed["module"]["state"]) == ("mqtt", None)

    async def test_a_problem_that_was_there_before_does_not_block_other_changes(self, api: ManagementApi) -> None:
        """The options of the plug in the store are not correct."""
        await api.ok("PATCH", f"{MODULES}/{PLUG.id}", {"name": "Kettle"})

    @pytest.mark.parametrize("wrong", [{"name": "x" * 201}, {"options": {"a": [[[[{}]]]]}}, {"kind": "emergency unit"}])
    async def test_wrong_modules_are_422(self, api: ManagementApi, wrong: dict[str, Any]) -> None:
        await api.refused("POST", MODULES, SPOT | wrong, status=422)

    async def test_an_id_that_is_used_is_409(self, api: ManagementApi) -> None:
        villa = await api.ok("POST", "/plants", {"name": "Villa", "type": "house", "owner": ANNA.email}, status=201)
        of_lamp = {"id": LAMP.id, "name": "Lamp", "kind": "light", "driver": "simulator"}
        await api.refused("POST", MODULES, of_lamp, status=409)
        assert "used already" in await api.refused("POST", f"/plants/{villa['id']}/modules", of_lamp, status=409)
        await api.refused("POST", MODULES, of_lamp | {"id": "lamp"}, status=400)
        assert (await api.ok("GET", f"{MODULES}/{LAMP.id}"))["name"] == "Lamp"

    async def test_a_module_of_a_scene_is_not_deleted(self, api: ManagementApi) -> None:
        await api.refused("DELETE", f"{MODULES}/{LAMP.id}", status=422)
        await api.ok("DELETE", f"{MODULES}/{SCENE.id}", status=204)
        await api.ok("DELETE", f"{MODULES}/{LAMP.id}", status=204)

    async def test_what_is_accepted_can_be_exported_and_read(self, api: ManagementApi) -> None:
        hardware = {"hwType": "x", "capabilities": [{"name": "OnOff", "command": True, "request": True, "notification": True}]}
        await api.ok("POST", MODULES, SPOT | {"hardware": hardware}, status=201)
        await api.ok("DELETE", f"{MODULES}/{PLUG.id}", status=204)
        text = (await api.send("GET", "/estate")).text
        assert "name: Spot" in text
        plants = text[text.index("plants:") :]
        people = "users:\n" + "".join(f"  - {{email: {user.email}}}\n" for user in (ANNA, BRUNO))
        assert len(list(read_estate(people + plants, "export").estate.plants[0].topology.every_module())) == 3


class TestDrivers:
    async def test_a_driver_lists_its_kinds_and_connections(self, api: ManagementApi) -> None:
        found = await api.ok("GET", "/drivers/openwebnet")
        assert "chronothermostat" in found["kinds"]
        assert "multisocket" not in found["kinds"]
        assert (found["connectionOption"], found["connections"], found["simulated"]) == ("gateway", [], False)
        await api.refused("GET", "/drivers/zwave", status=404)

    async def test_the_schema_of_options(self, api: ManagementApi) -> None:
        answer = await api.send("GET", "/drivers/simulator/options-schema?kind=light")
        assert answer.headers["content-type"] == "application/schema+json"
        assert answer.json()["properties"]["transition"]["maximum"] == 3600
        await api.refused("GET", "/drivers/openwebnet/options-schema?kind=multisocket", status=404)
        await api.refused("GET", "/drivers/simulator/options-schema?kind=lamp", status=400)
        await api.refused("GET", "/drivers/simulator/options-schema", status=400)

    @pytest.mark.parametrize("driver", DRIVERS)
    @pytest.mark.parametrize("kind", DeviceKind)
    def test_every_schema_is_valid(self, driver: str, kind: DeviceKind) -> None:
        schema = DRIVERS[driver].describe_options(kind)
        if schema is not None:
            Draft202012Validator.check_schema(schema)

    @pytest.mark.parametrize(
        ("driver", "kind", "options"),
        [
            ("simulator", DeviceKind.LIGHT, {"transition": 5000}),
            ("simulator", DeviceKind.PLUG, {"load": "rocket"}),
            ("simulator", DeviceKind.MULTISOCKET, {"loads": []}),
            ("openwebnet", DeviceKind.LIGHT, {}),
            ("openwebnet", DeviceKind.LIGHT, {"where": "11", "levels": 3}),
            ("openwebnet", DeviceKind.LIGHT, {"where": "11", "scenario": 3}),
            ("mqtt", DeviceKind.LIGHT, {"dialect": "zwave"}),
            ("mqtt", DeviceKind.LIGHT, {"dialect": "zigbee2mqtt", "name": 3}),
        ],
    )
    def test_a_schema_refuses_what_the_driver_refuses(self, driver: str, kind: DeviceKind, options: dict[str, Any]) -> None:
        declared = DRIVERS[driver]
        schema = declared.describe_options(kind)
        assert schema is not None
        assert list(Draft202012Validator(schema).iter_errors(options))
        assert list(declared.find_option_problems(kind, options))


class TestTwoOperators:
    async def test_a_change_is_checked_again_if_the_plant_changed_after_the_check(self, api: ManagementApi) -> None:
        store: SqlStore = api.env.store
        await api.ok("DELETE", f"{MODULES}/{SCENE.id}", status=204)
        imports = [Estate(plants=(EstatePlant(HOUSE, HOUSE_TOPOLOGY),))]

        async def check(_before: EstatePlant | None, after: EstatePlant) -> list[str]:
            modules = {module.id for module in after.topology.every_module()}
            while imports:  # after the first check, another operator imports the scene again
                await store.import_estate(imports.pop(), prune=False)
            return ["the scene needs the lamp"] if SCENE.id in modules and LAMP.id not in modules else []

        with pytest.raises(Invalid, match="the scene needs the lamp"):
            await PlantEditor(store, check).change_content(HOUSE.id, lambda draft: draft.remove_module(LAMP.id))
        assert (await api.ok("GET", f"{MODULES}/{LAMP.id}"))["name"] == "Lamp"


class TestTheStore:
    async def test_an_edit_of_an_unknown_plant_is_refused(self, api: ManagementApi) -> None:
        store: SqlStore = api.env.store
        with pytest.raises(ValueError, match="there is no plant"):
            await store.edit_plant(an_id(404), lambda plant: plant)
