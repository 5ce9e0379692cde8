"""The last events of a home over HTTP: who did what, and what changed by itself."""

from typing import Any

import pytest

from domogate.domain.commands import Order, SwitchPlug
from domogate.domain.faults import DeviceOffline, DeviceRefused
from domogate.domain.ids import Id
from domogate.domain.limits import Limits
from domogate.domain.people import User
from domogate.domain.reachability import Absence, AbsenceReason
from domogate.domain.states import LightState, PlugState, Reading, Report, Unit
from support.clocks import NOW
from support.home_setup import HomeApi
from support.stores import BRUNO, CARLA, HOUSE, LAMP, PLUG, SCENE

pytestmark = pytest.mark.slow

RECENT = f"/homes/{HOUSE.id}/events/recent"
LAMP_COMMANDS = f"/homes/{HOUSE.id}/modules/{LAMP.id}/commands"


async def recent(api: HomeApi, user: User | None = None) -> list[dict[str, Any]]:
    token = None if user is None else await api.mint(user)
    items: list[dict[str, Any]] = (await api.ok("GET", RECENT, token=token))["items"]
    return [item for item in items if item["kind"] not in ("people", "home")]


def an_order(order_id: str, module_id: Id) -> Order:
    return Order(order_id, HOUSE.id, module_id, SwitchPlug(True), NOW + 100, user_id=BRUNO.id)


class TestCommands:
    async def test_they_name_the_person_the_module_and_the_outcome(self, api: HomeApi) -> None:
        await api.ok("POST", LAMP_COMMANDS, {"do": "set light", "on": True}, token=await api.mint(BRUNO))
        (event,) = await recent(api)
        assert (event["kind"], event["module"], event["outcome"]) == ("command", "Lamp", "confirmed")
        assert event["by"] == {"name": "Bruno", "isMe": False}
        assert event["command"] == {"do": "set light", "on": True}
        (own,) = await recent(api, BRUNO)
        assert own["by"] == {"name": "Bruno", "isMe": True}

    async def test_their_outcome_is_the_outcome_that_the_answer_had(self, api: HomeApi) -> None:
        async def send(trouble: Exception | None) -> str:
            api.env.clock.at += 1
            api.backend.drivers["simulator"].trouble = trouble
            result = await api.ok("POST", LAMP_COMMANDS, {"do": "set light", "on": True})
            return str(result["outcome"])

        async def report(*, reachable: bool) -> None:
            api.env.clock.at += 1
            await api.env.store.record((Report(HOUSE.id, LAMP.id, api.env.clock.at, reachable=reachable),))

        answered = [await send(DeviceRefused("the lamp is too hot"))]
        await report(reachable=False)
        answered.append(await send(DeviceOffline("the device is offline")))
        await report(reachable=True)
        answered.append(await send(DeviceRefused("the lamp is too hot")))
        answered.append(await send(None))
        assert answered == ["refused", "unreachable", "refused", "confirmed"]
        events = [event for event in await recent(api) if event["kind"] == "command"]
        assert [event["outcome"] for event in events] == answered[::-1]

    async def test_each_step_of_a_scene_is_an_event(self, api: HomeApi) -> None:
        await api.ok("POST", f"/homes/{HOUSE.id}/scenes/{SCENE.id}/run", status=204)
        await api.backend.scenes.finish()
        (event,) = await recent(api)
        assert (event["module"], event["by"]["name"]) == ("Lamp", "Anna")

    async def test_a_guest_does_not_see_other_people_and_nothing_before_they_came(self, api: HomeApi) -> None:
        await api.ok("POST", LAMP_COMMANDS, {"do": "set light", "on": True})
        api.env.clock.at += 10
        await api.env.people.invite(HOUSE.id, CARLA.email, limits=Limits(modules=(LAMP.id,)))
        api.env.clock.at += 10
        assert await recent(api, CARLA) == []
        await api.ok("POST", LAMP_COMMANDS, {"do": "set light", "on": False})
        (event,) = await recent(api, CARLA)
        assert (event["module"], event["by"]) == ("Lamp", None)

    async def test_a_guest_sees_only_modules_within_the_limits(self, api: HomeApi) -> None:
        await api.env.people.set_limits(HOUSE.id, BRUNO.id, Limits(modules=(PLUG.id,)))
        api.env.clock.at += 10
        await api.ok("POST", LAMP_COMMANDS, {"do": "set light", "on": True})
        assert await recent(api, BRUNO) == []

    async def test_many_commands_to_other_rooms_do_not_hide_those_of_a_guest(self, api: HomeApi) -> None:
        await api.env.people.set_limits(HOUSE.id, BRUNO.id, Limits(modules=(PLUG.id,)))
        api.env.clock.at += 10
        own, others = an_order("own", PLUG.id), [an_order(f"other-{number}", LAMP.id) for number in range(200)]
        await api.env.store.add_orders([own], api.env.clock.at, sent=False)
        await api.env.store.add_orders(others, api.env.clock.at + 1, sent=False)
        (event,) = await recent(api, BRUNO)
        assert (event["module"], event["by"]) == ("Plug", {"name": "Bruno", "isMe": True})


class TestChanges:
    async def report(self, api: HomeApi, *reports: Report) -> None:
        for report in reports:
            await api.env.store.record((report,))

    async def test_a_change_by_hand_is_an_event_and_a_measured_value_is_not(self, api: HomeApi) -> None:
        def plug(at: float, watts: float, *, on: bool) -> Report:
            return Report(HOUSE.id, PLUG.id, at, PlugState(on=on, power=Reading(watts, Unit.WATT, at)))

        await self.report(api, plug(NOW, 1, on=True), plug(NOW + 1, 2, on=True))
        await self.report(api, plug(NOW + 2, 0, on=False), plug(NOW + 3, 0, on=False))
        (event,) = await recent(api)
        assert (event["kind"], event["module"], event["state"]["on"], event["by"]) == ("state", "Plug", False, None)

    async def test_the_effect_of_a_command_is_not_a_second_event(self, api: HomeApi) -> None:
        await self.report(api, Report(HOUSE.id, LAMP.id, NOW - 9, LightState(on=False)))
        await api.ok("POST", LAMP_COMMANDS, {"do": "set light", "on": True})
        assert [event["kind"] for event in await recent(api)] == ["command"]

    async def test_a_module_that_goes_offline_and_comes_back(self, api: HomeApi) -> None:
        gone = Absence(AbsenceReason.SILENT, NOW, "broker 10.0.0.7")
        await self.report(
            api,
            Report(HOUSE.id, PLUG.id, NOW, PlugState(on=True)),
            Report(HOUSE.id, PLUG.id, NOW + 1, reachable=False, absence=gone),
            Report(HOUSE.id, PLUG.id, NOW + 2, PlugState(on=True)),
        )
        events = await recent(api)
        assert [(event["kind"], event["reachable"]) for event in events] == [("reachability", True), ("reachability", False)]
        assert "10.0.0.7" not in str(events)

    async def test_a_new_person_is_an_event(self, api: HomeApi) -> None:
        await api.ok("POST", f"/homes/{HOUSE.id}/invitations", {"email": CARLA.email}, status=201)
        event = (await api.ok("GET", RECENT))["items"][0]
        assert (event["kind"], event["people"]) == ("people", [{"name": "Carla", "isMe": False}])

    async def test_their_number_is_limited(self, api: HomeApi) -> None:
        for number in range(6):
            await self.report(api, Report(HOUSE.id, LAMP.id, NOW + number, LightState(on=number % 2 == 0)))
        assert len((await api.ok("GET", f"{RECENT}?limit=3"))["items"]) == 3
        for limit in (0, 101):
            await api.refused("GET", f"{RECENT}?limit={limit}", status=400)


class TestFavourites:
    PATH = f"/homes/{HOUSE.id}/favourites"

    async def test_each_person_has_their_own_in_their_order(self, api: HomeApi) -> None:
        bruno = await api.mint(BRUNO)
        assert await api.ok("GET", self.PATH) == {"modules": []}
        body = {"modules": [PLUG.id, LAMP.id, PLUG.id]}
        assert await api.ok("PUT", self.PATH, body) == {"modules": [PLUG.id, LAMP.id]}
        assert await api.ok("GET", self.PATH) == {"modules": [PLUG.id, LAMP.id]}
        assert await api.ok("GET", self.PATH, token=bruno) == {"modules": []}
        assert await api.ok("PUT", self.PATH, {"modules": []}) == {"modules": []}
        assert await api.ok("GET", self.PATH) == {"modules": []}

    async def test_a_module_that_a_guest_may_not_see_is_refused_and_not_shown(self, api: HomeApi) -> None:
        token = await api.mint(BRUNO)
        await api.ok("PUT", self.PATH, {"modules": [PLUG.id, LAMP.id]}, token=token)
        await api.env.people.set_limits(HOUSE.id, BRUNO.id, Limits(modules=(LAMP.id,)))
        assert await api.ok("GET", self.PATH, token=token) == {"modules": [LAMP.id]}
        await api.refused("PUT", self.PATH, {"modules": [PLUG.id]}, token=token, status=422)

    async def test_the_list_is_limited(self, api: HomeApi) -> None:
        await api.refused("PUT", self.PATH, {"modules": [LAMP.id] * 101}, status=400)
        await api.refused("PUT", self.PATH, {"modules": ["lamp"]}, status=400)

    async def test_they_are_deleted_with_the_person(self, api: HomeApi) -> None:
        await api.ok("PUT", self.PATH, {"modules": [LAMP.id]}, token=await api.mint(BRUNO))
        await api.env.people.delete_user(BRUNO.id)
        assert await api.env.store.find_favourites(BRUNO.id, HOUSE.id) == ()
