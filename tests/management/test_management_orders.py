"""Commands and scenes over HTTP, with drivers that obey, and the orders that they become."""

from typing import Any

import pytest

from domogate.domain import commands
from domogate.domain.devices import DeviceKind
from domogate.domain.faults import DeviceOffline, DeviceRefused
from domogate.domain.plants import Module, PlantStatus
from domogate.domain.states import Color, ThermostatMode
from domogate.ports import StoreTimeout
from support.clocks import NOW
from support.full_plant import FULL_PLANT, MODULE_OF, house_module_path, module_path
from support.http import case
from support.management_setup import ManagementApi
from support.stores import HOUSE, LAMP, PLUG, SCENE, an_id

pytestmark = pytest.mark.slow

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


class TestCommands:
    @pytest.mark.story
    @pytest.mark.parametrize("kind", COMMANDS)
    async def test_every_kind_obeys_its_command(self, villa: ManagementApi, kind: DeviceKind) -> None:
        body, command = COMMANDS[kind]
        order = await villa.ok("POST", module_path(kind, "/commands"), body)
        assert [one.command for one in villa.backend.drivers["simulator"].orders] == [command]
        assert (order["state"], order["problem"]) == ("confirmed", "")
        assert (order["plantId"], order["moduleId"]) == (FULL_PLANT.id, MODULE_OF[kind].id)
        if kind is DeviceKind.CHRONOTHERMOSTAT:
            body = body | {"setPoint": 21.5, "activationTime": "2027-01-15T09:00:00Z"}
        assert order["command"] == body
        assert await villa.ok("GET", f"/orders/{order['id']}") == order

    async def test_no_kind_takes_the_command_of_another(self, villa: ManagementApi) -> None:
        for kind in DeviceKind:
            own = COMMANDS[kind][0] if kind in COMMANDS else None
            expected = "run" if kind is DeviceKind.SCENE else "takes no command" if own is None else own["do"]
            for body, _ in COMMANDS.values():
                if body is not own:
                    assert expected in await villa.refused("POST", module_path(kind, "/commands"), body, status=400)
        assert villa.backend.drivers["simulator"].orders == []
        assert (await villa.ok("GET", "/orders"))["items"] == []

    async def test_a_value_out_of_its_bounds_is_400_and_nothing_is_sent(self, villa: ManagementApi) -> None:
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
                await villa.refused("POST", module_path(kind, "/commands"), body, status=400)
        assert villa.backend.drivers["simulator"].orders == []
        assert (await villa.ok("GET", "/orders"))["items"] == []

    @pytest.mark.parametrize("trouble", [DeviceRefused("the bus said no"), DeviceOffline("nobody is at home")])
    async def test_a_command_that_the_device_refuses_is_200_with_a_record_of_it(
        self, driven: ManagementApi, trouble: Exception
    ) -> None:
        driven.backend.drivers["simulator"].trouble = trouble
        order = await driven.ok("POST", house_module_path(LAMP, "/commands"), {"do": "set light", "on": True})
        assert (order["state"], order["problem"]) == ("failed", str(trouble))
        assert order["endedAt"] is not None

    async def test_a_database_that_does_not_answer_is_503_with_the_time_to_wait(
        self, driven: ManagementApi, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async def hang(*_: object, **__: object) -> None:
            raise StoreTimeout("the database did not answer")

        monkeypatch.setattr(driven.env.store, "add_orders", hang)
        answer = await driven.send("POST", house_module_path(LAMP, "/commands"), {"do": "set light", "on": True})
        assert (answer.status_code, answer.headers.get("retry-after")) == (503, "1")
        assert driven.backend.drivers["simulator"].orders == []

    async def test_a_command_whose_confirmation_cannot_be_written_is_in_the_audit_log(
        self, driven: ManagementApi, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async def hang(*_: object, **__: object) -> None:
            raise StoreTimeout("the database did not answer")

        monkeypatch.setattr(driven.env.store, "end_order", hang)
        answer = await driven.send("POST", house_module_path(LAMP, "/commands"), {"do": "set light", "on": True})
        assert answer.status_code == 503
        assert len(driven.backend.drivers["simulator"].orders) == 1
        entry = (await driven.ok("GET", "/audit?action=command"))["items"][-1]
        assert (entry["what"], entry["result"]) == (f"management set light:{LAMP.id}", "failed")
        assert entry["detail"] == {"state": "unknown"}

    async def test_an_injected_fault_applies_to_operators_too(self, driven: ManagementApi) -> None:
        await driven.ok("POST", f"/plants/{HOUSE.id}/faults", {"fault": "refusing"}, status=201)
        order = await driven.ok("POST", house_module_path(LAMP, "/commands"), {"do": "set light", "on": True})
        assert order["state"] == "failed"
        assert driven.backend.drivers["simulator"].orders == []

    async def test_with_one_key_the_same_command_is_sent_once_and_another_is_409(self, driven: ManagementApi) -> None:
        key: dict[str, Any] = {"headers": {"idempotency-key": "evening/1"}}
        body = {"do": "set light", "on": True}
        first = await driven.ok("POST", house_module_path(LAMP, "/commands"), body, **key)
        assert first["id"] == "evening/1"
        assert await driven.ok("POST", house_module_path(LAMP, "/commands"), body, **key) == first
        assert await driven.ok("GET", "/orders/evening%2F1") == first
        for path, other in (
            (house_module_path(LAMP, "/commands"), {"do": "set light", "on": False}),
            (house_module_path(PLUG, "/commands"), {"do": "switch plug", "on": True}),
        ):
            assert "key" in await driven.refused("POST", path, other, status=409, **key)
        assert len(driven.backend.drivers["simulator"].orders) == 1
        assert driven.backend.drivers["mqtt"].orders == []

    @pytest.mark.parametrize("keys", [[""], ["k" * 129], ["a\tb"], ["one", "two"]])
    async def test_a_malformed_key_is_400(self, driven: ManagementApi, keys: list[str]) -> None:
        headers = [("authorization", f"Bearer {driven.token}"), *(("idempotency-key", key) for key in keys)]
        url = f"/manage/v1{house_module_path(LAMP, '/commands')}"
        answer = await driven.http.post(url, headers=headers, content=b'{"do": "set light", "on": true}')
        assert answer.status_code == 400
        assert "dempotency" in answer.json()["detail"]
        assert driven.backend.drivers["simulator"].orders == []

    async def test_without_a_key_each_command_is_its_own_order(self, driven: ManagementApi) -> None:
        for _ in range(2):
            await driven.ok("POST", house_module_path(LAMP, "/commands"), {"do": "set light", "on": True})
        ids = {one.id for one in driven.backend.drivers["simulator"].orders}
        assert len(ids) == 2

    async def test_a_removed_plant_is_409_and_an_unknown_id_404(self, driven: ManagementApi) -> None:
        body = {"do": "set light", "on": True}
        await driven.refused("POST", f"/plants/{HOUSE.id}/modules/{an_id(999)}/commands", body, status=404)
        await driven.refused("POST", f"/plants/{an_id(999)}/modules/{LAMP.id}/commands", body, status=404)
        await driven.env.store.set_plant_status(HOUSE.id, PlantStatus.REMOVED, NOW)
        assert "Bring the plant back" in await driven.refused("POST", house_module_path(LAMP, "/commands"), body, status=409)
        assert driven.backend.drivers["simulator"].orders == []

    async def test_it_is_in_the_audit_log_with_operator_command_and_result(self, driven: ManagementApi) -> None:
        path = house_module_path(LAMP, "/commands")
        order = await driven.ok("POST", path, {"do": "set light", "on": True})
        driven.backend.drivers["simulator"].trouble = DeviceRefused("no")
        await driven.ok("POST", path, {"do": "set light", "on": True})
        noted = (await driven.ok("GET", "/audit?action=command"))["items"]
        assert [(one["what"], one["result"]) for one in noted] == [
            (f"management set light:{LAMP.id}", "ok"),
            (f"management set light:{LAMP.id}", "failed"),
        ]
        assert noted[0]["detail"] == {"order": order["id"], "state": "confirmed"}
        assert noted[0]["address"] == "192.0.2.9"
        assert noted[0]["who"].startswith("user:")
        assert driven.operator.id not in noted[0]["who"]


class TestScenes:
    async def test_one_is_run_and_its_steps_are_among_the_orders(self, driven: ManagementApi) -> None:
        await driven.ok("POST", house_module_path(SCENE, "/run"), status=204)
        await driven.backend.scenes.finish()
        (order,) = (await driven.ok("GET", "/orders"))["items"]
        assert (order["moduleId"], order["state"]) == (LAMP.id, "confirmed")
        assert order["command"] == {"do": "set light", "on": False}
        assert "command" in await driven.env.noted()

    async def test_only_a_scene_is_run(self, driven: ManagementApi) -> None:
        assert "scene" in await driven.refused("POST", house_module_path(LAMP, "/run"), status=400)
        await driven.env.store.set_plant_status(HOUSE.id, PlantStatus.REMOVED, NOW)
        await driven.refused("POST", house_module_path(SCENE, "/run"), status=409)
        assert (await driven.ok("GET", "/orders"))["items"] == []


class TestOrders:
    async def order(self, api: ManagementApi, module: Module, number: int, at: float) -> None:
        told = commands.SetLight(level=number)
        await api.env.store.add_orders(
            (commands.Order(f"order {number}", HOUSE.id, module.id, told, at + 5),), at, sent=number % 2 == 0
        )

    async def test_the_newest_comes_first_and_pages_lose_none(self, api: ManagementApi) -> None:
        # Three of them at one time, and times that six decimals cannot write exactly.
        for number, at in enumerate([0.1, 0.2, 0.1234567 + 0.2, 0.1234567 + 0.2, 0.1234567 + 0.2, 0.4000002, 0.5999998]):
            await self.order(api, LAMP, number, NOW + at)
        for limit in range(1, 9):
            seen: list[int] = []
            after = ""
            while True:
                page = await api.ok("GET", f"/orders?limit={limit}{after}")
                assert page["items"] or not seen
                seen += [one["command"].get("level") for one in page["items"]]
                if page["next"] is None or not page["items"]:
                    break
                after = f"&after={page['next']}"
            assert seen == [6, 5, 4, 3, 2, 1, 0], limit

    async def test_they_are_filtered_by_plant_module_and_state(self, api: ManagementApi) -> None:
        await self.order(api, LAMP, 1, NOW)
        await self.order(api, PLUG, 2, NOW + 1)
        for query, wanted in (
            (f"plantId={HOUSE.id}", ["order 2", "order 1"]),
            (f"plantId={an_id(999)}", []),
            (f"moduleId={LAMP.id.upper()}", ["order 1"]),
            ("state=sent", ["order 2"]),
            (f"state=queued&moduleId={PLUG.id}", []),
            ("open=true", ["order 2", "order 1"]),
        ):
            listed = (await api.ok("GET", f"/orders?{query}"))["items"]
            assert [one["id"] for one in listed] == wanted
        await api.env.store.end_order(HOUSE.id, commands.OrderEnd("order 2", commands.OrderState.CONFIRMED, NOW + 2))
        assert [one["id"] for one in (await api.ok("GET", "/orders?open=true"))["items"]] == ["order 1"]

    async def test_a_list_has_the_names_of_plants_and_modules_if_it_is_asked_for_them(self, api: ManagementApi) -> None:
        await self.order(api, PLUG, 1, NOW)
        (plain,) = (await api.ok("GET", "/orders"))["items"]
        assert (await api.ok("GET", "/orders?names=true"))["items"] == [
            plain | {"plantName": HOUSE.name, "moduleName": PLUG.name}
        ]
        await api.refused("GET", "/orders?names=x", status=400)
        await api.ok("DELETE", f"/plants/{HOUSE.id}/modules/{PLUG.id}", status=204)
        (left,) = (await api.ok("GET", "/orders?names=true"))["items"]
        assert (left["plantName"], left.get("moduleName")) == (HOUSE.name, None)

    async def test_a_malformed_query_is_400_and_an_unknown_id_404(self, api: ManagementApi) -> None:
        for query in ("plantId=house", "moduleId=", "state=lost", "after=nan", "after=x", "after=", "limit=201"):
            await api.refused("GET", f"/orders?{query}", status=400)
        for order_id in ("nothing", "a%00b", "%F0%9F%92%A1"):
            await api.refused("GET", f"/orders/{order_id}", status=404)

    async def test_one_that_ended_says_how_and_when(self, api: ManagementApi) -> None:
        await self.order(api, LAMP, 2, NOW)
        end = commands.OrderEnd("order 2", commands.OrderState.EXPIRED, NOW + 5, "the device did not confirm in time")
        await api.env.store.end_order(HOUSE.id, end)
        shown = await api.ok("GET", "/orders/order%202")
        assert shown == {
            "id": "order 2",
            "plantId": HOUSE.id,
            "moduleId": LAMP.id,
            "command": {"do": "set light", "level": 2},
            "userId": None,
            "state": "expired",
            "problem": "the device did not confirm in time",
            "deadline": "2027-01-15T08:00:05Z",
            "queuedAt": "2027-01-15T08:00:00Z",
            "sentAt": "2027-01-15T08:00:00Z",
            "endedAt": "2027-01-15T08:00:05Z",
        }
