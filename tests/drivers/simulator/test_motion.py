"""Lamps that fade and shutters that travel: what takes its time, and is told on the way."""

import asyncio

import pytest

from domogate.domain.commands import MoveShutter, SetLight
from domogate.domain.devices import DeviceKind
from domogate.domain.states import AutomationState, Color, LightState, Report, State
from domogate.drivers.simulator import Simulator, simulator
from domogate.ports import AttachedModule
from support.devices import StillClock, make_id, make_order, make_placed

PLANT = make_id(1)


class Moving:
    """A simulator with one module whose time is looked at closely."""

    def __init__(self, placed: AttachedModule) -> None:
        self.clock = StillClock()
        self.simulator = Simulator(self.clock, seed=1, tick=3600.0)
        self.reports: list[Report] = []
        self.placed = placed

    async def __aenter__(self) -> "Moving":
        async def take(reports):
            self.reports += reports

        await self.simulator.start(take)
        await self.simulator.attach(PLANT, (self.placed,))
        self.reports.clear()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.simulator.stop()

    async def tell(self, command) -> State:
        order = make_order(PLANT, self.placed.module.id, command)
        return (await self.simulator.execute(order)).state

    async def after(self, seconds: float) -> list[State]:
        before = len(self.reports)
        self.clock.pass_by(seconds)
        await self.simulator.step_in_motion()
        return [report.state for report in self.reports[before:]]


def lamp(state: LightState, transition: float = 10) -> AttachedModule:
    return make_placed(DeviceKind.LIGHT, state, options={"transition": transition})


class TestALampThatFades:
    async def test_is_on_at_once_and_reports_its_level_on_the_way(self) -> None:
        async with Moving(lamp(LightState(on=False, level=80))) as moving:
            assert await moving.tell(SetLight(on=True)) == LightState(on=True, level=0)
            assert await moving.after(2.5) == [LightState(on=True, level=20)]
            assert await moving.after(2.5) == [LightState(on=True, level=40)]
            assert await moving.after(60) == [LightState(on=True, level=80)]
            assert await moving.after(1) == []

    async def test_is_off_at_once_and_remembers_its_level(self) -> None:
        async with Moving(lamp(LightState(on=True, level=80))) as moving:
            assert await moving.tell(SetLight(on=False)) == LightState(on=False, level=80)
            assert await moving.after(60) == []

    async def test_told_something_else_on_the_way_goes_there_from_where_it_is(self) -> None:
        async with Moving(lamp(LightState(on=True, level=0))) as moving:
            await moving.tell(SetLight(level=100))
            await moving.after(5)
            assert await moving.tell(SetLight(level=0)) == LightState(on=True, level=50)
            assert await moving.after(5) == [LightState(on=True, level=25)]

    async def test_told_its_colour_on_the_way_still_gets_to_its_level(self) -> None:
        async with Moving(lamp(LightState(on=True, level=0, color=Color(0, 0, 0)))) as moving:
            await moving.tell(SetLight(level=100))
            await moving.after(5)
            await moving.tell(SetLight(color=Color(10, 20, 30)))
            assert await moving.after(60) == [LightState(on=True, level=100, color=Color(10, 20, 30))]

    async def test_takes_the_short_way_round_the_circle_of_hues(self) -> None:
        async with Moving(lamp(LightState(on=True, level=50, color=Color(350, 100, 100)))) as moving:
            await moving.tell(SetLight(color=Color(10, 100, 100)))
            ((state),) = await moving.after(5)
            assert state.color.hue == 0

    async def test_survives_a_clock_that_is_set_back(self) -> None:
        async with Moving(lamp(LightState(on=True, level=0))) as moving:
            await moving.tell(SetLight(level=100))
            await moving.after(-3600)
            assert await moving.after(10) == [LightState(on=True, level=100)]


class TestAShutter:
    async def test_takes_its_time_and_reports_where_it_is(self) -> None:
        shutter = make_placed(DeviceKind.AUTOMATION, AutomationState(position=0), options={"travel": 40})
        async with Moving(shutter) as moving:
            assert await moving.tell(MoveShutter(position=50)) == AutomationState(position=0)
            assert await moving.after(10) == [AutomationState(position=25)]
            assert await moving.after(10) == [AutomationState(position=50)]
            assert await moving.after(10) == []

    async def test_turned_round_on_the_way_needs_only_the_way_it_came(self) -> None:
        shutter = make_placed(DeviceKind.AUTOMATION, AutomationState(position=0), options={"travel": 40})
        async with Moving(shutter) as moving:
            await moving.tell(MoveShutter(position=100))
            await moving.after(10)
            await moving.tell(MoveShutter(position=0))
            assert await moving.after(10) == [AutomationState(position=0)]


class TestTheSimulator:
    async def test_looks_closely_by_itself_while_something_moves(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(simulator, "MOTION_TICK", 0.001)
        async with Moving(lamp(LightState(on=False, level=80))) as moving:
            await asyncio.sleep(0)
            await moving.tell(SetLight(on=True))
            moving.clock.pass_by(5)
            async with asyncio.timeout(30):
                while not moving.reports:
                    await asyncio.sleep(0.001)
            assert moving.reports[0].state == LightState(on=True, level=40)
