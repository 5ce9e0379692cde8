"""Lamps that fade and shutters that move: slow changes, reported meanwhile."""

import asyncio

import pytest

from domogate.domain.commands import MoveShutter, SetLight
from domogate.domain.devices import DeviceKind
from domogate.domain.estate import FirstState
from domogate.domain.states import AutomationState, Color, LightState, LightTarget, Report, State
from domogate.drivers.simulator import simulator
from domogate.ports import AttachedModule
from support.devices import make_attached
from support.simulator_setup import SimulatorSetup, state_of


def lamp(state: LightState, transition: float = 10) -> AttachedModule:
    return make_attached(DeviceKind.LIGHT, state, options={"transition": transition})


def level_of(report: Report) -> int | None:
    return state_of(report, LightState).level


def restarted(setup: SimulatorSetup, last: State) -> AttachedModule:
    """The first module of the house, as the next process gets it from the store."""
    module = setup.attached[0].module
    return AttachedModule(module, FirstState(module.id, last), reported_at=setup.clock.now())


class TestALampThatFades:
    async def test_is_on_at_once_and_reports_its_level_on_the_way(self) -> None:
        async with SimulatorSetup(lamp(LightState(on=False, level=80))) as setup:
            target = LightTarget(80, None, ends_at=setup.clock.now() + 10)
            assert (await setup.order(SetLight(on=True))).state == LightState(on=True, level=1, target=target)
            assert await setup.move(2.5) == [LightState(on=True, level=20, target=target)]
            assert await setup.move(2.5) == [LightState(on=True, level=40, target=target)]
            assert await setup.move(60) == [LightState(on=True, level=80)]
            assert await setup.move(1) == []

    async def test_is_off_at_once_and_remembers_its_level(self) -> None:
        async with SimulatorSetup(lamp(LightState(on=True, level=80))) as setup:
            assert (await setup.order(SetLight(on=False))).state == LightState(on=False, level=80)
            assert await setup.move(60) == []

    async def test_told_something_else_on_the_way_goes_there_from_where_it_is(self) -> None:
        async with SimulatorSetup(lamp(LightState(on=True, level=0))) as setup:
            await setup.order(SetLight(level=100))
            await setup.move(5)
            assert level_of(await setup.order(SetLight(level=10))) == 50
            await setup.move(5)
            assert level_of(await setup.read()) == 30

    async def test_told_its_colour_on_the_way_still_gets_to_its_level(self) -> None:
        async with SimulatorSetup(lamp(LightState(on=True, level=0, color=Color(0, 0, 0)))) as setup:
            await setup.order(SetLight(level=100))
            await setup.move(5)
            await setup.order(SetLight(color=Color(10, 20, 30)))
            assert await setup.move(60) == [LightState(on=True, level=30, color=Color(10, 20, 30))]

    async def test_keeps_its_target_over_a_restart(self) -> None:
        async with SimulatorSetup(lamp(LightState(on=False, level=80))) as setup:
            await setup.order(SetLight(on=True))
            await setup.move(5)
            last = await setup.state(LightState)
        after = SimulatorSetup(restarted(setup, last))
        after.clock.advance(5)
        async with after:
            assert level_of(await after.read()) == 40
            assert await after.move(2.5) == [LightState(on=True, level=60, target=last.target)]
            assert await after.move(2.5) == [LightState(on=True, level=80)]

    async def test_is_at_its_target_if_the_restart_took_longer_than_the_transition(self) -> None:
        async with SimulatorSetup(lamp(LightState(on=False, level=80))) as setup:
            await setup.order(SetLight(on=True))
            last = await setup.state(LightState)
        late = SimulatorSetup(restarted(setup, last))
        late.clock.advance(3600)
        async with late:
            assert (await late.read()).state == LightState(on=True, level=80)

    async def test_takes_the_short_way_round_the_circle_of_hues(self) -> None:
        async with SimulatorSetup(lamp(LightState(on=True, level=50, color=Color(350, 100, 100)))) as setup:
            await setup.order(SetLight(color=Color(10, 100, 50)))
            await setup.move(5)
            assert (await setup.state(LightState)).color == Color(0, 100, 75)

    async def test_survives_a_clock_that_is_set_back(self) -> None:
        async with SimulatorSetup(lamp(LightState(on=True, level=0))) as setup:
            await setup.order(SetLight(level=100))
            await setup.move(-3600)
            assert await setup.move(10) == [LightState(on=True, level=100)]


class TestAShutter:
    async def test_takes_its_time_and_reports_where_it_is(self) -> None:
        shutter = make_attached(DeviceKind.AUTOMATION, AutomationState(position=0), options={"travel": 40})
        async with SimulatorSetup(shutter) as setup:
            assert (await setup.order(MoveShutter(position=50))).state == AutomationState(position=0, target=50)
            assert await setup.move(10) == [AutomationState(position=25, target=50)]
            assert await setup.move(10) == [AutomationState(position=50)]
            assert await setup.move(10) == []

    async def test_turned_round_on_the_way_needs_only_the_way_it_came(self) -> None:
        shutter = make_attached(DeviceKind.AUTOMATION, AutomationState(position=0), options={"travel": 40})
        async with SimulatorSetup(shutter) as setup:
            await setup.order(MoveShutter(position=100))
            await setup.move(10)
            await setup.order(MoveShutter(position=0))
            assert await setup.move(10) == [AutomationState(position=0)]

    async def test_continues_its_way_after_a_restart(self) -> None:
        shutter = make_attached(DeviceKind.AUTOMATION, AutomationState(position=0), options={"travel": 40})
        async with SimulatorSetup(shutter) as setup:
            await setup.order(MoveShutter(position=100))
            await setup.move(10)
            last = await setup.state(AutomationState)
        async with SimulatorSetup(restarted(setup, last)) as setup:
            assert await setup.move(30) == [AutomationState(position=100)]


class TestTheSimulator:
    async def test_looks_closely_by_itself_while_something_moves(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(simulator, "MOTION_TICK", 0.001)
        async with SimulatorSetup(lamp(LightState(on=False, level=80))) as setup:
            await asyncio.sleep(0)
            await setup.order(SetLight(on=True))
            setup.clock.advance(5)
            async with asyncio.timeout(30):
                while not setup.reports:
                    await asyncio.sleep(0.001)
            assert level_of(setup.reports[0]) == 40

    async def test_continues_by_itself_what_a_restart_interrupted(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(simulator, "MOTION_TICK", 0.001)
        shutter = make_attached(DeviceKind.AUTOMATION, AutomationState(position=40, target=50), options={"travel": 40})
        async with SimulatorSetup(shutter) as setup:
            setup.clock.advance(60)
            async with asyncio.timeout(30):
                while not setup.reports or setup.reports[-1].state != AutomationState(position=50):
                    await asyncio.sleep(0.001)
