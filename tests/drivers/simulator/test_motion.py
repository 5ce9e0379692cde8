"""Lamps that fade and shutters that move: slow changes, reported meanwhile."""

import asyncio

import pytest

from domogate.domain.commands import MoveShutter, SetLight
from domogate.domain.devices import DeviceKind
from domogate.domain.states import AutomationState, Color, LightState
from domogate.drivers.simulator import simulator
from domogate.ports import AttachedModule
from support.devices import make_placed
from support.simulated_house import House


def lamp(state: LightState, transition: float = 10) -> AttachedModule:
    return make_placed(DeviceKind.LIGHT, state, options={"transition": transition})


class TestALampThatFades:
    async def test_is_on_at_once_and_reports_its_level_on_the_way(self) -> None:
        async with House(lamp(LightState(on=False, level=80))) as house:
            assert (await house.order(SetLight(on=True))).state == LightState(on=True, level=0)
            assert await house.move(2.5) == [LightState(on=True, level=20)]
            assert await house.move(2.5) == [LightState(on=True, level=40)]
            assert await house.move(60) == [LightState(on=True, level=80)]
            assert await house.move(1) == []

    async def test_is_off_at_once_and_remembers_its_level(self) -> None:
        async with House(lamp(LightState(on=True, level=80))) as house:
            assert (await house.order(SetLight(on=False))).state == LightState(on=False, level=80)
            assert await house.move(60) == []

    async def test_told_something_else_on_the_way_goes_there_from_where_it_is(self) -> None:
        async with House(lamp(LightState(on=True, level=0))) as house:
            await house.order(SetLight(level=100))
            await house.move(5)
            assert (await house.order(SetLight(level=0))).state == LightState(on=True, level=50)
            assert await house.move(5) == [LightState(on=True, level=25)]

    async def test_told_its_colour_on_the_way_still_gets_to_its_level(self) -> None:
        async with House(lamp(LightState(on=True, level=0, color=Color(0, 0, 0)))) as house:
            await house.order(SetLight(level=100))
            await house.move(5)
            await house.order(SetLight(color=Color(10, 20, 30)))
            assert await house.move(60) == [LightState(on=True, level=100, color=Color(10, 20, 30))]

    async def test_takes_the_short_way_round_the_circle_of_hues(self) -> None:
        async with House(lamp(LightState(on=True, level=50, color=Color(350, 100, 100)))) as house:
            await house.order(SetLight(color=Color(10, 100, 100)))
            assert await house.move(5) == [LightState(on=True, level=50, color=Color(0, 100, 100))]

    async def test_survives_a_clock_that_is_set_back(self) -> None:
        async with House(lamp(LightState(on=True, level=0))) as house:
            await house.order(SetLight(level=100))
            await house.move(-3600)
            assert await house.move(10) == [LightState(on=True, level=100)]


class TestAShutter:
    async def test_takes_its_time_and_reports_where_it_is(self) -> None:
        shutter = make_placed(DeviceKind.AUTOMATION, AutomationState(position=0), options={"travel": 40})
        async with House(shutter) as house:
            assert (await house.order(MoveShutter(position=50))).state == AutomationState(position=0)
            assert await house.move(10) == [AutomationState(position=25)]
            assert await house.move(10) == [AutomationState(position=50)]
            assert await house.move(10) == []

    async def test_turned_round_on_the_way_needs_only_the_way_it_came(self) -> None:
        shutter = make_placed(DeviceKind.AUTOMATION, AutomationState(position=0), options={"travel": 40})
        async with House(shutter) as house:
            await house.order(MoveShutter(position=100))
            await house.move(10)
            await house.order(MoveShutter(position=0))
            assert await house.move(10) == [AutomationState(position=0)]


class TestTheSimulator:
    async def test_looks_closely_by_itself_while_something_moves(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(simulator, "MOTION_TICK", 0.001)
        async with House(lamp(LightState(on=False, level=80))) as house:
            await asyncio.sleep(0)
            await house.order(SetLight(on=True))
            house.clock.pass_by(5)
            async with asyncio.timeout(30):
                while not house.reports:
                    await asyncio.sleep(0.001)
            assert house.reports[0].state == LightState(on=True, level=40)
