from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domogate.domain.commands import SetThermostat, SwitchPlug
from domogate.domain.devices import DeviceKind
from domogate.domain.states import PlugState, Reading, Report, ThermostatFunction, ThermostatMode, ThermostatState, Unit
from domogate.drivers.simulator.device import TimeScale
from domogate.drivers.simulator.simulator import Simulator
from support.clocks import NOON, ManualClock
from support.devices import make_attached
from support.simulator_setup import PLANT, SimulatorSetup, state_of, value_of


class TestTimeScale:
    @given(st.floats(NOON - 1e8, NOON + 1e8), st.floats(0.01, 10_000))
    def test_leads_to_simulated_time_and_back(self, real: float, speed: float) -> None:
        time_scale = TimeScale(speed, origin=NOON)
        assert time_scale.real(time_scale.simulated(real)) == pytest.approx(real, abs=0.01)

    @given(st.floats(NOON - 1e8, NOON + 1e8), st.floats(0, 1e6), st.floats(0.01, 10_000))
    def test_never_runs_backwards(self, real: float, later: float, speed: float) -> None:
        time_scale = TimeScale(speed, origin=NOON)
        assert time_scale.simulated(real + later) >= time_scale.simulated(real)

    def test_is_real_time_until_its_origin_and_as_fast_as_told_after_it(self) -> None:
        time_scale = TimeScale(60, origin=NOON)
        assert time_scale.simulated(NOON - 5) == NOON - 5
        assert time_scale.simulated(NOON + 60) == NOON + 3600
        assert TimeScale().simulated(NOON + 60) == NOON + 60

    @pytest.mark.parametrize("speed", [0, -1, float("nan")])
    def test_the_speed_must_be_greater_than_0(self, speed: float) -> None:
        with pytest.raises(ValueError, match="greater than 0"):
            TimeScale(speed)


THERMOSTAT = ThermostatState(
    function=ThermostatFunction.HEATING,
    mode=ThermostatMode.AUTOMATIC,
    set_point=18.5,
    program=1,
    temperature=Reading(18.5, Unit.CELSIUS, NOON),
    humidity=Reading(50.0, Unit.PERCENT, NOON),
)


class ManualSharedClock:
    """The clock of a cluster that began at `began_at`."""

    def __init__(self, clock: ManualClock, began_at: float) -> None:
        self.now = clock.now
        self.began_at = began_at


async def ignore(_reports: Sequence[Report]) -> None: ...


class TestSixtyTimesAsFast:
    async def test_a_thermostat_goes_through_its_day_in_24_minutes(self) -> None:
        async with SimulatorSetup(make_attached(DeviceKind.CHRONOTHERMOSTAT, THERMOSTAT), speed=60.0) as setup:
            reports = await setup.advance(24 * 60, every=5)
            states = [state_of(report, ThermostatState) for report in reports if report.state]
            # NOON is on a Saturday: comfort until 23:30, and from 8:00.
            assert {16.5, 20.5} <= {state.set_point for state in states}
            assert len({value_of(state.temperature) for state in states}) > 20

    async def test_everything_is_dated_in_real_time(self) -> None:
        plug = make_attached(DeviceKind.PLUG, options={"watts": 600})
        async with SimulatorSetup(plug, make_attached(DeviceKind.CHRONOTHERMOSTAT, THERMOSTAT), speed=60.0) as setup:
            reports = await setup.advance(600, every=5)
            assert any(report.readings for report in reports)
            for report in reports:
                assert NOON <= report.at <= setup.clock.now()
                assert all(NOON <= reading.at <= setup.clock.now() for _, reading in report.readings)

    async def test_no_device_measures_more_often_than_every_ten_real_seconds(self) -> None:
        plug = make_attached(DeviceKind.PLUG, options={"watts": 600})
        async with SimulatorSetup(plug, speed=60.0) as setup:
            await setup.order(SwitchPlug(on=True))
            assert len(await setup.advance(300, every=0.5)) <= 31

    async def test_an_hour_of_power_is_used_in_a_minute(self) -> None:
        plug = make_attached(DeviceKind.PLUG, options={"watts": 1000})
        async with SimulatorSetup(plug, speed=60.0) as setup:
            on = await setup.order(SwitchPlug(on=True))
            setup.clock.advance(60)
            off = await setup.order(SwitchPlug(on=False))
            used = value_of(state_of(off, PlugState).energy) - value_of(state_of(on, PlugState).energy)
            assert used == pytest.approx(1000, rel=0.05)

    async def test_a_mode_ends_when_real_time_says_so(self) -> None:
        thermostat = make_attached(DeviceKind.CHRONOTHERMOSTAT, THERMOSTAT)
        async with SimulatorSetup(thermostat, speed=60.0) as setup:
            command = SetThermostat(mode=ThermostatMode.MANUAL, set_point=25.0, activation_time=setup.clock.now() + 60)
            await setup.order(command)
            await setup.advance(55, every=5)
            assert (await setup.state(ThermostatState)).mode is ThermostatMode.MANUAL
            await setup.advance(5)
            assert (await setup.state(ThermostatState)).mode is ThermostatMode.AUTOMATIC

    async def test_half_an_hour_of_boost_is_over_in_half_a_minute(self) -> None:
        thermostat = make_attached(DeviceKind.CHRONOTHERMOSTAT, THERMOSTAT)
        async with SimulatorSetup(thermostat, speed=60.0) as setup:
            command = SetThermostat(mode=ThermostatMode.BOOST)
            boost = await setup.order(command)
            assert state_of(boost, ThermostatState).activation_time == pytest.approx(setup.clock.now() + 30)
            await setup.advance(31, every=5)
            assert (await setup.state(ThermostatState)).mode is ThermostatMode.AUTOMATIC


class TestSeveralGateways:
    async def test_a_plant_that_moves_to_a_later_gateway_keeps_its_simulated_time(self) -> None:
        thermostat = make_attached(DeviceKind.CHRONOTHERMOSTAT, THERMOSTAT)
        clock = ManualClock(NOON)

        async def read_set_point(*, shared: bool) -> float:
            used = ManualSharedClock(clock, NOON) if shared else clock
            simulator = Simulator(used, seed=1, tick=3600.0, speed=3600.0)
            await simulator.start(ignore)
            await simulator.attach(PLANT, (thermostat,))
            clock.advance(1)
            await simulator.step()
            report = await simulator.read(PLANT, thermostat.module.id, clock.now() + 5)
            await simulator.stop()
            return state_of(report, ThermostatState).set_point

        clock.advance(12)
        assert await read_set_point(shared=False) == 18.5, "a gateway that is alone begins at noon: no period has begun since"
        # In the cluster, 12 hours of simulated time have passed: it is night, and the program has lowered the set point.
        assert [await read_set_point(shared=True) for _ in range(2)] == [16.5] * 2
