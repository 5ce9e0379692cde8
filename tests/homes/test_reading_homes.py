"""Homes, rooms and modules over HTTP, as an owner, a member and a guest see them."""

import time
from collections.abc import Awaitable, Callable, Sequence

import msgspec
import pytest

from domogate.domain.devices import DeviceKind
from domogate.domain.estate import Estate, EstatePlant, FirstState
from domogate.domain.limits import Limits
from domogate.domain.people import HOME_SCOPE, Principal, Standing
from domogate.domain.plants import Ambient, Module, Plant, PlantStatus, Topology
from domogate.domain.reachability import Absence, AbsenceReason
from domogate.domain.states import LightState, PlugState, Report
from domogate.services.homes.homes import Homes
from support.clocks import NOW
from support.full_plant import FULL_PLANT, MODULE_OF
from support.home_setup import HomeApi
from support.stores import ANNA, BRUNO, CARLA, GROUND, HALL, HOUSE, KITCHEN, LAMP, PLUG, SCENE, an_id

pytestmark = pytest.mark.slow


def after_listing(monkeypatch: pytest.MonkeyPatch, act: Callable[[], Awaitable[None]]) -> None:
    """Let something happen after the homes of a person are listed, and before they are opened."""
    list_plants = Homes.list_plants

    async def list_and_act(homes: Homes, principal: Principal) -> Sequence[Plant]:
        listed = await list_plants(homes, principal)
        await act()
        return listed

    monkeypatch.setattr(Homes, "list_plants", list_and_act)


class TestMe:
    async def test_says_who_the_person_is(self, api: HomeApi) -> None:
        assert await api.ok("GET", "/me") == {
            "id": ANNA.id,
            "email": ANNA.email,
            "name": "Anna",
            "language": None,
            "operator": False,
            "standing": "good",
            "mayUseDoors": True,
        }

    async def test_also_answers_a_person_who_must_renew_the_password(self, api: HomeApi) -> None:
        await api.env.people.set_standing(ANNA.id, Standing.BOTH_EXPIRED)
        assert (await api.ok("GET", "/me"))["standing"] == "password and terms expired"
        await api.refused("GET", "/homes", status=469)


class TestListHomes:
    async def test_a_person_sees_their_own_homes_with_role_and_numbers(self, api: HomeApi) -> None:
        house, villa = (await api.ok("GET", "/homes"))["items"]
        assert house == {
            "id": HOUSE.id,
            "name": "Casa Bianchi",
            "type": "house",
            "role": "owner",
            "site": False,
            "floors": 1,
            "rooms": 2,
            "modules": 3,
            "unreachable": 0,
        }
        assert (villa["name"], villa["modules"]) == ("Villa", len(DeviceKind))

    async def test_an_application_sees_only_the_homes_that_the_person_chose(self, api: HomeApi) -> None:
        token = await api.mint(ANNA, plants=frozenset({HOUSE.id}))
        (house,) = (await api.ok("GET", "/homes", token=token))["items"]
        assert house["id"] == HOUSE.id
        await api.ok("GET", f"/homes/{HOUSE.id}", token=token)
        await api.refused("GET", f"/homes/{FULL_PLANT.id}", token=token, status=403)

    async def test_another_person_sees_others(self, api: HomeApi) -> None:
        (house,) = (await api.ok("GET", "/homes", token=await api.mint(BRUNO)))["items"]
        assert (house["id"], house["role"]) == (HOUSE.id, "member")
        assert (await api.ok("GET", "/homes", token=await api.mint(CARLA)))["items"] == []

    async def test_they_come_in_pages(self, api: HomeApi) -> None:
        first = await api.ok("GET", "/homes?limit=1")
        second = await api.ok("GET", f"/homes?limit=1&after={first['next']}")
        assert [home["id"] for page in (first, second) for home in page["items"]] == [HOUSE.id, FULL_PLANT.id]
        assert second["next"] is None

    async def test_a_home_that_is_removed_after_the_listing_is_left_out(
        self, api: HomeApi, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async def remove() -> None:
            await api.env.store.set_plant_status(HOUSE.id, PlantStatus.REMOVED, NOW)

        after_listing(monkeypatch, remove)
        (villa,) = (await api.ok("GET", "/homes"))["items"]
        assert villa["id"] == FULL_PLANT.id

    async def test_a_home_whose_period_ends_after_the_listing_is_left_out(
        self, api: HomeApi, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        now = api.env.clock.at
        await api.env.people.invite(HOUSE.id, CARLA.email, limits=Limits(valid_until=now + 60))
        await api.env.people.invite(FULL_PLANT.id, CARLA.email)
        token = await api.mint(CARLA)
        assert len((await api.ok("GET", "/homes", token=token))["items"]) == 2

        async def wait() -> None:
            api.env.clock.at = now + 61

        after_listing(monkeypatch, wait)
        (villa,) = (await api.ok("GET", "/homes", token=token))["items"]
        assert villa["id"] == FULL_PLANT.id


class TestGetHome:
    async def test_it_has_floors_rooms_and_modules(self, api: HomeApi) -> None:
        home = await api.ok("GET", f"/homes/{HOUSE.id}")
        assert (home["role"], home["until"], home["site"]) == ("owner", None, False)
        kitchen = {"id": KITCHEN.id, "name": "Kitchen", "type": "kitchen"}
        assert home["floors"] == [{"id": GROUND.id, "name": "Ground floor", "rooms": [kitchen]}]
        assert home["rooms"] == [{"id": HALL.id, "name": "Hall", "type": "other"}]
        modules = {module["id"]: module for module in home["modules"]}
        assert modules[LAMP.id] == {
            "id": LAMP.id,
            "name": "Lamp",
            "kind": "light",
            "roomId": KITCHEN.id,
            "command": "set light",
            "state": {"of": "light", "on": True, "level": 40, "color": None},
            "reachable": True,
            "unreachable": None,
            "lastHeardAt": None,
            "simulated": True,
            "programs": [],
        }
        assert (modules[SCENE.id]["roomId"], modules[SCENE.id]["command"]) == (None, "run scene")
        assert await api.ok("GET", f"/homes/{HOUSE.id}/modules/{LAMP.id}") == modules[LAMP.id]

    async def test_every_kind_says_what_may_be_commanded(self, api: HomeApi) -> None:
        modules = {one["kind"]: one for one in (await api.ok("GET", f"/homes/{FULL_PLANT.id}"))["modules"]}
        assert {kind: one["command"] for kind, one in modules.items()} == {
            "light": "set light",
            "automation": "move shutter",
            "plug": "switch plug",
            "heater": "switch heater",
            "energymeter": None,
            "remote": None,
            "scene": "run scene",
            "gateway": None,
            "lock": "open lock",
            "activation": "activate",
            "audiovideo unit": "switch camera",
            "chronothermostat": "set thermostat",
            "multisocket": "switch socket",
            "emergency controller": None,
            "emergency unit": None,
        }
        assert modules["chronothermostat"]["programs"] == [{"number": 2, "name": "Week"}]
        no_doors = await api.mint(ANNA, scopes=(HOME_SCOPE,))
        shown = (await api.ok("GET", f"/homes/{FULL_PLANT.id}", token=no_doors))["modules"]
        assert {one["kind"] for one in shown if one["command"] is None and modules[one["kind"]]["command"] is not None} == {
            "lock",
            "activation",
            "audiovideo unit",
        }

    async def test_an_unreachable_module_has_reason_and_time_but_no_evidence(self, api: HomeApi) -> None:
        absence = Absence(AbsenceReason.SILENT, NOW - 30, "broker 10.0.0.7: no answer")
        report = Report(HOUSE.id, PLUG.id, NOW, PlugState(on=False), reachable=False, absence=absence)
        await api.env.store.record((report,))
        answer = await api.send("GET", f"/homes/{HOUSE.id}/modules/{PLUG.id}")
        shown = answer.json()
        assert (shown["reachable"], shown["unreachable"]) == (False, {"why": "silent", "since": "2027-01-15T07:59:30Z"})
        assert shown["lastHeardAt"] == "2027-01-15T08:00:00Z"
        assert "10.0.0.7" not in answer.text

    async def test_the_etag_changes_with_a_state(self, api: HomeApi) -> None:
        path = f"/homes/{HOUSE.id}"
        first = await api.send("GET", path)
        known = {"if-none-match": f'"other", W/{first.headers["etag"]}'}
        again = await api.send("GET", path, headers=known)
        assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", first.headers["etag"])
        await api.env.store.record((Report(HOUSE.id, LAMP.id, NOW, LightState(on=False)),))
        changed = await api.send("GET", path, headers=known)
        assert changed.status_code == 200
        assert changed.headers["etag"] != first.headers["etag"]

    async def test_a_home_of_a_thousand_modules_is_fast(self, api: HomeApi) -> None:
        modules = tuple(Module(an_id(5000 + n), an_id(9000 + n), f"Lamp {n}", DeviceKind.LIGHT) for n in range(980))
        hall = Ambient(an_id(4999), an_id(4998), "Hall", modules=modules)
        plant = msgspec.structs.replace(FULL_PLANT, id=an_id(4997), internal_id=an_id(4996))
        states = tuple(FirstState(module.id, LightState(on=True, level=3)) for module in modules)
        estate = Estate(users=(ANNA,), plants=(EstatePlant(plant, Topology(ambients=(hall,)), states),))
        await api.env.store.import_estate(estate, prune=False)
        path = f"/homes/{plant.id}"
        assert len((await api.ok("GET", path))["modules"]) == 980
        times = []
        for _ in range(5):
            began = time.perf_counter()
            await api.send("GET", path)
            times.append(time.perf_counter() - began)
        assert min(times) < 0.1


class TestGuests:
    async def test_a_guest_sees_only_the_places_within_the_limits(self, api: HomeApi) -> None:
        await api.env.people.set_limits(HOUSE.id, BRUNO.id, Limits(modules=(LAMP.id,), valid_until=NOW + 100))
        token = await api.mint(BRUNO)
        home = await api.ok("GET", f"/homes/{HOUSE.id}", token=token)
        assert (home["role"], home["until"]) == ("guest", "2027-01-15T08:01:40Z")
        assert {module["id"] for module in home["modules"]} == {LAMP.id, SCENE.id}
        for module in (PLUG, MODULE_OF[DeviceKind.LIGHT]):
            await api.refused("GET", f"/homes/{HOUSE.id}/modules/{module.id}", token=token, status=404)

    async def test_after_the_period_the_home_is_not_there(self, api: HomeApi) -> None:
        await api.env.people.set_limits(HOUSE.id, BRUNO.id, Limits(valid_until=NOW + 100))
        token = await api.mint(BRUNO)
        assert len((await api.ok("GET", "/homes", token=token))["items"]) == 1
        api.env.clock.at += 200
        assert (await api.ok("GET", "/homes", token=token))["items"] == []
        await api.refused("GET", f"/homes/{HOUSE.id}", token=token, status=403)

    async def test_a_removed_home_is_404_and_not_listed(self, api: HomeApi) -> None:
        await api.env.store.set_plant_status(HOUSE.id, PlantStatus.REMOVED, NOW)
        assert [home["id"] for home in (await api.ok("GET", "/homes"))["items"]] == [FULL_PLANT.id]
        await api.refused("GET", f"/homes/{HOUSE.id}", status=404)
