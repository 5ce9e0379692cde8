"""Commands, scenes and pictures of residents: what is sent, and what the answer says."""

import asyncio

import pytest

from domogate.domain import commands
from domogate.domain.commands import SceneStep
from domogate.domain.devices import DeviceKind
from domogate.domain.estate import Estate, EstatePlant
from domogate.domain.faults import DeviceOffline, DeviceRefused, DeviceTimeout
from domogate.domain.ids import Id
from domogate.domain.limits import Limits
from domogate.domain.people import HOME_SCOPE
from domogate.domain.plants import Module, SceneDetail, Topology
from domogate.domain.states import CameraState, LightState, Report
from domogate.ports import Picture, StoreNotWritable
from domogate.services.homes.limits import ACTIONS, MOST_OPEN, REQUESTS
from support.clocks import NOW
from support.full_plant import FULL_PLANT, MODULE_OF
from support.home_setup import HomeApi
from support.stores import ANNA, BRUNO, HOUSE, LAMP, PLUG, SCENE, an_id

pytestmark = pytest.mark.slow

LIGHT_ON = {"do": "set light", "on": True}
CAMERA = MODULE_OF[DeviceKind.AUDIOVIDEO_UNIT]
LOCK = MODULE_OF[DeviceKind.LOCK]
PNG = b"\x89PNG\r\n\x1a\nand a picture"


def path_of(kind: DeviceKind, after: str = "/commands") -> str:
    return f"/homes/{FULL_PLANT.id}/modules/{MODULE_OF[kind].id}{after}"


LAMP_COMMANDS = path_of(DeviceKind.LIGHT)


class TestCommandModule:
    async def test_a_confirmed_command_shows_the_module_afterwards(self, api: HomeApi) -> None:
        result = await api.ok("POST", LAMP_COMMANDS, LIGHT_ON)
        assert (result["outcome"], result["detail"], result["command"]) == ("confirmed", "", LIGHT_ON)
        assert result["module"]["id"] == MODULE_OF[DeviceKind.LIGHT].id
        assert result["module"]["state"]["of"] == "light"
        assert result["endedAt"] is not None
        assert [order.command for order in api.backend.drivers["simulator"].orders] == [commands.SetLight(on=True)]
        assert (await api.env.noted())[-1] == "command"

    async def test_the_module_afterwards_is_right_if_the_home_changes_meanwhile(self, api: HomeApi) -> None:
        driver = api.backend.drivers["simulator"]
        path = f"/homes/{HOUSE.id}/modules/{LAMP.id}"
        driver.pause, driver.answers[LAMP.id] = asyncio.Event(), LightState(on=False)
        assert (await api.ok("GET", path))["state"]["on"]
        command = asyncio.create_task(api.ok("POST", f"{path}/commands", {"do": "set light", "on": False}))
        while not driver.orders:
            await asyncio.sleep(0)
        await api.ok("POST", f"/homes/{HOUSE.id}/invitations", {"email": "dora@example.com"}, status=201)
        assert (await api.ok("GET", path))["state"]["on"]
        driver.pause.set()
        assert not (await command)["module"]["state"]["on"]

    @pytest.mark.parametrize(
        ("fault", "outcome"),
        [
            (DeviceTimeout("the device did not answer in time"), "unanswered"),
            (DeviceRefused("the lamp is too hot"), "refused"),
        ],
    )
    async def test_a_device_that_does_not_obey_is_an_outcome_and_not_a_refusal(
        self, api: HomeApi, fault: Exception, outcome: str
    ) -> None:
        api.backend.drivers["simulator"].trouble = fault
        result = await api.ok("POST", LAMP_COMMANDS, LIGHT_ON)
        assert (result["outcome"], result["detail"]) == (outcome, str(fault))

    async def test_a_module_that_cannot_be_reached_is_told_apart(self, api: HomeApi) -> None:
        module = MODULE_OF[DeviceKind.LIGHT]
        await api.env.store.record((Report(FULL_PLANT.id, module.id, NOW, reachable=False),))
        api.backend.drivers["simulator"].trouble = DeviceOffline("the device is offline")
        result = await api.ok("POST", LAMP_COMMANDS, LIGHT_ON)
        assert (result["outcome"], result["module"]["reachable"]) == ("unreachable", False)

    async def test_an_order_that_cannot_be_written_now_is_503_and_may_be_sent_again(
        self, api: HomeApi, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async def fail(*_: object, **__: object) -> None:
            raise StoreNotWritable("the disk is full")

        with monkeypatch.context() as patched:
            patched.setattr(api.env.store, "add_orders", fail)
            answer = await api.send("POST", LAMP_COMMANDS, LIGHT_ON)
        assert (answer.status_code, answer.headers.get("retry-after")) == (503, "1")
        assert "was not sent" in answer.json()["detail"]
        assert (await api.ok("POST", LAMP_COMMANDS, LIGHT_ON))["outcome"] == "confirmed"

    async def test_a_command_whose_confirmation_cannot_be_written_is_in_the_audit_log(
        self, api: HomeApi, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async def fail(*_: object, **__: object) -> None:
            raise StoreNotWritable("the disk is full")

        monkeypatch.setattr(api.env.store, "end_order", fail)
        assert (await api.send("POST", LAMP_COMMANDS, LIGHT_ON)).status_code == 503
        assert len(api.backend.drivers["simulator"].orders) == 1
        await api.env.audit.flush()
        entry = (await api.env.audit.list(limit=100))[-1].entry
        assert (entry.action, entry.result, entry.detail) == ("command", "failed", {"state": "unknown"})
        assert entry.what.startswith(f"home set light:{MODULE_OF[DeviceKind.LIGHT].id} by client:")

    async def test_the_same_key_is_carried_out_once_and_only_for_the_same_person(self, api: HomeApi) -> None:
        path, headers = f"/homes/{HOUSE.id}/modules/{LAMP.id}/commands", {"idempotency-key": "a key"}
        first = await api.ok("POST", path, LIGHT_ON, headers=headers)
        assert await api.ok("POST", path, LIGHT_ON, headers=headers) == first
        assert len(api.backend.drivers["simulator"].orders) == 1
        await api.refused("POST", path, {"do": "set light", "on": False}, headers=headers, status=409)
        other = await api.ok("POST", path, LIGHT_ON, headers=headers, token=await api.mint(BRUNO))
        assert other["orderId"] != first["orderId"]
        assert len(api.backend.drivers["simulator"].orders) == 2
        await api.refused("POST", path, LIGHT_ON, headers={"idempotency-key": "x" * 65}, status=400)

    async def test_the_same_key_has_the_first_outcome_also_after_the_module_came_back(self, api: HomeApi) -> None:
        module, driver = MODULE_OF[DeviceKind.LIGHT], api.backend.drivers["simulator"]
        await api.env.store.record((Report(FULL_PLANT.id, module.id, NOW, reachable=False),))
        driver.trouble = DeviceOffline("the device is offline")

        async def send(key: str) -> tuple[str, bool]:
            result = await api.ok("POST", LAMP_COMMANDS, LIGHT_ON, headers={"idempotency-key": key})
            return result["outcome"], result["module"]["reachable"]

        assert await send("offline") == ("unreachable", False)
        api.env.clock.advance(10)
        await api.env.store.record((Report(FULL_PLANT.id, module.id, NOW + 10, reachable=True),))
        assert await send("offline") == ("unreachable", True)
        driver.trouble = DeviceRefused("the device is locked")
        assert await send("refused") == ("refused", True)
        api.env.clock.advance(10)
        await api.env.store.record((Report(FULL_PLANT.id, module.id, NOW + 20, reachable=False),))
        assert await send("refused") == ("refused", False)

    async def test_a_wrong_value_or_a_command_for_another_kind_is_400(self, api: HomeApi) -> None:
        for body in ({"do": "set light", "level": 101}, {"do": "switch plug", "on": True}, {"do": "dance"}, {}):
            await api.refused("POST", LAMP_COMMANDS, body, status=400)
        assert api.backend.drivers["simulator"].orders == []

    async def test_a_guest_may_command_only_modules_within_the_limits(self, api: HomeApi) -> None:
        await api.env.people.set_limits(HOUSE.id, BRUNO.id, Limits(modules=(LAMP.id,)))
        token = await api.mint(BRUNO)
        await api.ok("POST", f"/homes/{HOUSE.id}/modules/{LAMP.id}/commands", LIGHT_ON, token=token)
        body = {"do": "switch plug", "on": True}
        await api.refused("POST", f"/homes/{HOUSE.id}/modules/{PLUG.id}/commands", body, token=token, status=404)


class TestDoors:
    @pytest.mark.parametrize(
        ("kind", "body"),
        [
            (DeviceKind.LOCK, {"do": "open lock"}),
            (DeviceKind.ACTIVATION, {"do": "activate"}),
            (DeviceKind.AUDIOVIDEO_UNIT, {"do": "switch camera", "on": True}),
        ],
    )
    async def test_they_need_the_scope_of_tickets_too(self, api: HomeApi, kind: DeviceKind, body: dict[str, object]) -> None:
        token = await api.mint(ANNA, scopes=(HOME_SCOPE,))
        assert "audiovideoterminal.read" in await api.refused("POST", path_of(kind), body, token=token, status=403)
        assert api.backend.drivers["simulator"].orders == []
        assert (await api.ok("POST", path_of(kind), body))["outcome"] == "confirmed"

    async def test_a_scene_that_opens_a_door_needs_it_too(self, api: HomeApi) -> None:
        steps = SceneDetail((SceneStep(LOCK.id, commands.OpenLock()),))
        scene = Module(an_id(700), an_id(701), "Come in", DeviceKind.SCENE, detail=steps)
        estate = Estate(users=(ANNA,), plants=(EstatePlant(FULL_PLANT, Topology(modules=(LOCK, scene)), ()),))
        await api.env.store.import_estate(estate, prune=False)
        await api.backend.driving.settled()
        path, token = f"/homes/{FULL_PLANT.id}/scenes/{scene.id}/run", await api.mint(ANNA, scopes=(HOME_SCOPE,))
        await api.refused("POST", path, token=token, status=403)
        await api.ok("POST", path, status=204)


class TestRunScene:
    async def test_its_steps_are_sent(self, api: HomeApi) -> None:
        await api.ok("POST", f"/homes/{HOUSE.id}/scenes/{SCENE.id}/run", status=204)
        await api.backend.scenes.finish()
        assert [order.command for order in api.backend.drivers["simulator"].orders] == [commands.SetLight(on=False)]
        assert (await api.env.noted())[-1] == "command"

    async def test_another_module_cannot_be_run(self, api: HomeApi) -> None:
        await api.refused("POST", f"/homes/{HOUSE.id}/scenes/{LAMP.id}/run", status=400)


class TestGetPicture:
    async def give_pictures(self, api: HomeApi, monkeypatch: pytest.MonkeyPatch) -> None:
        async def take(plant_id: Id, module_id: Id, deadline: float) -> Picture:
            return Picture("image/png", PNG)

        monkeypatch.setattr(api.backend.drivers["simulator"], "take_picture", take)
        await api.env.store.record((Report(FULL_PLANT.id, CAMERA.id, NOW, CameraState(on=True)),))

    async def test_it_is_there_while_the_camera_is_on_and_is_not_stored(
        self, api: HomeApi, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        await self.give_pictures(api, monkeypatch)
        path = path_of(DeviceKind.AUDIOVIDEO_UNIT, "/picture")
        for _ in range(2):
            answer = await api.send("GET", path)
            assert (answer.status_code, answer.content) == (200, PNG)
            assert answer.headers["content-type"] == "image/png"
            assert answer.headers["cache-control"] == "no-store"
        assert (await api.env.noted()).count("picture taken") == 1
        await api.env.store.record((Report(FULL_PLANT.id, CAMERA.id, NOW + 1, CameraState(on=False)),))
        assert "off" in await api.refused("GET", path, status=409)

    async def test_the_first_picture_of_each_minute_is_in_the_audit_log_also_after_the_clock_was_set_back(
        self, api: HomeApi, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        await self.give_pictures(api, monkeypatch)
        for seconds, noted in ((0, 1), (59, 1), (1, 2), (-7200, 3), (30, 3), (30, 4)):
            api.env.clock.advance(seconds)
            await api.send("GET", path_of(DeviceKind.AUDIOVIDEO_UNIT, "/picture"), token=await api.mint(ANNA))
            assert (await api.env.noted()).count("picture taken") == noted

    async def test_it_needs_the_scope_for_doors(self, api: HomeApi, monkeypatch: pytest.MonkeyPatch) -> None:
        await self.give_pictures(api, monkeypatch)
        token = await api.mint(ANNA, scopes=(HOME_SCOPE,))
        await api.refused("GET", path_of(DeviceKind.AUDIOVIDEO_UNIT, "/picture"), token=token, status=403)

    async def test_another_module_has_none_and_a_camera_that_refuses_is_502(self, api: HomeApi) -> None:
        await api.refused("GET", path_of(DeviceKind.LIGHT, "/picture"), status=400)
        await api.env.store.record((Report(FULL_PLANT.id, CAMERA.id, NOW, CameraState(on=True)),))
        await api.refused("GET", path_of(DeviceKind.AUDIOVIDEO_UNIT, "/picture"), status=502)


class TestLimits:
    async def test_a_person_has_a_limited_number_of_open_commands(self, api: HomeApi) -> None:
        driver = api.backend.drivers["simulator"]
        driver.pause = asyncio.Event()
        sent = [asyncio.ensure_future(api.send("POST", LAMP_COMMANDS, LIGHT_ON)) for _ in range(MOST_OPEN + 1)]
        refused, waiting = await asyncio.wait(sent, return_when=asyncio.FIRST_COMPLETED)
        assert [(one.result().status_code, one.result().headers["retry-after"]) for one in refused] == [(429, "1")]
        body, token = {"do": "set light", "on": True}, await api.mint(BRUNO)
        other = asyncio.ensure_future(api.ok("POST", f"/homes/{HOUSE.id}/modules/{LAMP.id}/commands", body, token=token))
        await asyncio.sleep(0.05)
        driver.pause.set()
        await other
        assert {answer.status_code for answer in await asyncio.gather(*waiting)} == {200}
        await api.ok("POST", LAMP_COMMANDS, LIGHT_ON)

    async def test_a_person_sends_a_limited_number_of_commands_a_minute(self, api: HomeApi) -> None:
        path = f"/homes/{HOUSE.id}/scenes/{SCENE.id}/run"
        for _ in range(ACTIONS):
            await api.ok("POST", path, status=204)
        assert int((await api.send("POST", path)).headers["retry-after"]) == 60
        api.env.clock.at += 60
        await api.ok("POST", path, status=204)

    async def test_a_person_sends_a_limited_number_of_requests_a_minute(self, api: HomeApi) -> None:
        for _ in range(REQUESTS):
            await api.send("GET", "/me")
        answer = await api.send("GET", "/me")
        assert (answer.status_code, answer.headers["retry-after"]) == (429, "60")
        await api.ok("GET", "/me", token=await api.mint(BRUNO))
