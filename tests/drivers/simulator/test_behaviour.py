"""The option simulate (offline, slow, refusing), and ticks that do not block other tasks."""

import asyncio
from collections.abc import Sequence

import pytest

from domogate.domain.commands import (
    SetLight,
    SetThermostat,
    SwitchPlug,
)
from domogate.domain.devices import DeviceKind
from domogate.domain.faults import DeviceOffline, DeviceRefused, DeviceTimeout
from domogate.domain.reachability import AbsenceReason
from domogate.domain.states import (
    LightState,
    LockState,
    PlugState,
    RemoteState,
    Report,
)
from domogate.drivers.simulator.plant import DEVICES
from domogate.drivers.simulator.simulator import Simulator
from domogate.ports import AttachedModule
from support.clocks import NOON, ManualClock
from support.devices import make_attached, make_id, make_module, make_order
from support.log_lines import capture_logs
from support.simulator_setup import PLANT, SimulatorSetup


class TestBehaviour:
    def option(self, attached: AttachedModule, simulate: object, **others: object) -> AttachedModule:
        options = others if simulate is None else {"simulate": simulate, **others}
        return AttachedModule(make_module(attached.module.kind, attached.module.id, options=options), attached.last)

    async def test_offline_is_reported_at_once_and_refuses_orders_as_offline(self) -> None:
        lamp = make_attached(DeviceKind.LIGHT, LightState(on=True), options={"simulate": "offline"})
        async with SimulatorSetup(lamp) as setup:
            assert [(report.state, report.reachable) for report in setup.reports] == [(None, False)]
            assert not (await setup.read()).reachable
            with pytest.raises(DeviceOffline):
                await setup.order(SetLight(on=False))
            assert await setup.advance(1e6) == []

    async def test_offline_without_a_reported_state_reports_it_once(self) -> None:
        async with SimulatorSetup(make_attached(DeviceKind.REMOTE, options={"simulate": "offline"})) as setup:
            assert [(type(report.state), report.reachable) for report in setup.reports] == [(RemoteState, False)]
            assert (await setup.read()).state is None

    async def test_cleared_brings_the_module_back(self) -> None:
        lamp = make_attached(DeviceKind.LIGHT, LightState(on=True))
        async with SimulatorSetup(lamp) as setup:
            for behaviour in ("offline", "slow"):
                await setup.simulator.attach(PLANT, [self.option(lamp, behaviour)])
                setup.lists.clear()
                await setup.simulator.attach(PLANT, [self.option(lamp, None)])
                assert [(report.state, report.reachable) for report in setup.reports] == [(LightState(on=True), True)]

    async def test_slow_sends_no_reports_and_does_not_answer_in_time(self) -> None:
        thermostat = make_attached(DeviceKind.CHRONOTHERMOSTAT, options={"simulate": "slow"})
        async with SimulatorSetup(thermostat) as setup:
            assert setup.reports == []
            assert await setup.advance(3600) == []
            deadline = setup.clock.now() + 0.003
            with pytest.raises(DeviceTimeout):
                await setup.simulator.read(PLANT, thermostat.module.id, deadline)
            with pytest.raises(DeviceTimeout):
                await setup.simulator.execute(
                    make_order(PLANT, thermostat.module.id, SetThermostat(set_point=20.0), deadline=deadline)
                )

    async def test_slow_can_be_cancelled(self) -> None:
        async with SimulatorSetup(make_attached(DeviceKind.LIGHT, options={"simulate": "slow"})) as setup:
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.003):
                    await setup.read()

    async def test_refusing_can_be_read_and_refuses_all_commands(self) -> None:
        lamp = make_attached(DeviceKind.LIGHT, LightState(on=True), options={"simulate": "refusing"})
        async with SimulatorSetup(lamp) as setup:
            with pytest.raises(DeviceRefused):
                await setup.order(SetLight(on=False))
            assert (await setup.read()).state == LightState(on=True)

    @pytest.mark.parametrize("nonsense", ["asleep", 3, ["offline"], {}])
    async def test_an_unknown_behaviour_makes_the_module_absent_as_misconfigured(self, nonsense: object) -> None:
        lamp = make_attached(DeviceKind.LIGHT, LightState(on=True), options={"simulate": nonsense})
        async with SimulatorSetup(lamp) as setup:
            (report,) = setup.reports
            assert report.absence is not None
            assert report.absence.why is AbsenceReason.MISCONFIGURED
            assert report.absence.evidence == "simulate: must be one of normal, offline, slow, refusing"

    async def test_offline_keeps_the_start_of_its_absence(self) -> None:
        lamp = make_attached(DeviceKind.LIGHT, LightState(on=True))
        async with SimulatorSetup(lamp) as setup:
            await setup.simulator.attach(PLANT, [self.option(lamp, "offline")])
            setup.clock.advance(60)
            await setup.simulator.attach(PLANT, [self.option(lamp, "offline")])
            absence = (await setup.read()).absence
            assert absence is not None
            assert (absence.why, absence.since) == (AbsenceReason.SIMULATED, NOON)

    async def test_offline_keeps_the_start_of_its_absence_if_another_option_changes(self) -> None:
        plug = make_attached(DeviceKind.PLUG, PlugState(on=True))
        async with SimulatorSetup(plug) as setup:
            await setup.simulator.attach(PLANT, [self.option(plug, "offline", watts=40)])
            setup.clock.advance(60)
            await setup.simulator.attach(PLANT, [self.option(plug, "offline", watts=60)])
            absence = (await setup.read()).absence
            assert absence is not None
            assert (absence.why, absence.since) == (AbsenceReason.SIMULATED, NOON)

    async def test_slow_that_is_cleared_brings_the_module_back_if_another_option_changes_too(self) -> None:
        lamp = make_attached(DeviceKind.LIGHT, LightState(on=True))
        async with SimulatorSetup(lamp) as setup:
            for options in ({"simulate": "slow", "room": "hall"}, {"room": "kitchen"}):
                setup.lists.clear()
                module = make_module(DeviceKind.LIGHT, lamp.module.id, options=options)
                await setup.simulator.attach(PLANT, [AttachedModule(module, lamp.last, reported_at=NOON)])
            assert [(report.state, report.reachable) for report in setup.reports] == [(LightState(on=True), True)]


class TestTicking:
    async def test_reports_one_list_a_plant(self) -> None:
        async with SimulatorSetup(*(make_attached(DeviceKind.PLUG, PlugState(on=True)) for _ in range(30))) as setup:
            setup.lists.clear()
            await setup.advance(600)
            assert len(setup.lists) == 1

    async def test_goes_on_by_itself(self) -> None:
        clock = ManualClock(NOON)
        simulator = Simulator(clock, seed=1, tick=0.001)
        ticked = asyncio.Event()

        async def take(reports: Sequence[Report]) -> None:
            ticked.set()

        await simulator.start(take)
        lock = make_attached(DeviceKind.LOCK, LockState(locked=False))
        await simulator.attach(PLANT, [lock])
        clock.advance(60)
        await asyncio.wait_for(ticked.wait(), 30)
        await simulator.stop()

    async def test_of_a_plant_that_breaks_does_not_disturb_another(self, monkeypatch: pytest.MonkeyPatch) -> None:
        async with SimulatorSetup(make_attached(DeviceKind.HEATER)) as setup:
            lock = make_attached(DeviceKind.LOCK, LockState(locked=False))
            await setup.simulator.attach(make_id(2), [lock])
            monkeypatch.setattr(DEVICES[DeviceKind.HEATER], "evolve", lambda self, now: 1 / 0)
            with capture_logs() as logs:
                reports = await setup.advance(60)
            assert [report.state for report in reports] == [LockState(locked=True)]
            assert [entry["plant_id"] for entry in logs] == [PLANT]

    async def test_of_a_large_plant_lets_others_have_their_turn(self) -> None:
        async with SimulatorSetup(*(make_attached(DeviceKind.LIGHT, LightState(on=True)) for _ in range(1000))) as setup:
            turns = 0

            async def others() -> None:
                nonlocal turns
                while True:
                    turns += 1
                    await asyncio.sleep(0)

            task = asyncio.create_task(others())
            await setup.advance(5)
            task.cancel()
            assert turns >= 10

    async def test_never_overwrites_an_order_carried_out_in_the_middle_of_it(self) -> None:
        plugs = [make_attached(DeviceKind.PLUG, PlugState(on=True)) for _ in range(300)]
        async with SimulatorSetup(*plugs) as setup:
            setup.lists.clear()
            setup.clock.advance(600)
            step = asyncio.create_task(setup.simulator.step())
            await asyncio.sleep(0)
            await setup.order(SwitchPlug(on=False), plugs[0])
            await step
            assert not [report for report in setup.reports if report.module_id == plugs[0].module.id]
