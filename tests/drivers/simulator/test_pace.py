import pytest
from hypothesis import given
from hypothesis import strategies as st

from domogate.domain.commands import SetThermostat, SwitchPlug
from domogate.domain.devices import DeviceKind
from domogate.domain.states import Reading, Report, ThermostatMode, ThermostatState, Unit
from domogate.drivers.simulator import Simulator
from domogate.drivers.simulator.pace import Pace
from support.devices import NOON, StillClock, make_id, make_order, make_placed

PLANT = make_id(1)


class TestPace:
    @given(st.floats(NOON - 1e8, NOON + 1e8), st.floats(0.01, 10_000))
    def test_leads_to_simulated_time_and_back(self, real: float, speed: float) -> None:
        pace = Pace(speed, origin=NOON)
        assert pace.real(pace.simulated(real)) == pytest.approx(real, abs=0.01)

    @given(st.floats(NOON - 1e8, NOON + 1e8), st.floats(0, 1e6), st.floats(0.01, 10_000))
    def test_never_runs_backwards(self, real: float, later: float, speed: float) -> None:
        pace = Pace(speed, origin=NOON)
        assert pace.simulated(real + later) >= pace.simulated(real)

    def test_is_real_time_until_its_origin_and_as_fast_as_told_after_it(self) -> None:
        pace = Pace(60, origin=NOON)
        assert pace.simulated(NOON - 5) == NOON - 5
        assert pace.simulated(NOON + 60) == NOON + 3600
        assert Pace().simulated(NOON + 60) == NOON + 60

    @pytest.mark.parametrize("speed", [0, -1, float("nan")])
    def test_must_move_on(self, speed: float) -> None:
        with pytest.raises(ValueError, match="above 0"):
            Pace(speed)


class FastHouse:
    """A simulator at speed 60, looked at every five seconds."""

    def __init__(self, *placed) -> None:
        self.clock = StillClock()
        self.simulator = Simulator(self.clock, seed=1, tick=3600.0, speed=60.0)
        self.reports: list[Report] = []
        self.placed = placed

    async def __aenter__(self) -> "FastHouse":
        async def take(reports):
            self.reports += reports

        await self.simulator.start(take)
        await self.simulator.attach(PLANT, self.placed)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.simulator.stop()

    async def pass_by(self, seconds: float, every: float = 5.0) -> list[Report]:
        before = len(self.reports)
        for _ in range(int(seconds / every)):
            self.clock.pass_by(every)
            await self.simulator.step()
        return self.reports[before:]


THERMOSTAT = ThermostatState(
    function="heating",
    mode=ThermostatMode.AUTOMATIC,
    set_point=18.5,
    program=1,
    temperature=Reading(18.5, Unit.CELSIUS, NOON),
    humidity=Reading(50.0, Unit.PERCENT, NOON),
)


class TestSixtyTimesAsFast:
    async def test_a_thermostat_goes_through_its_day_in_24_minutes(self) -> None:
        async with FastHouse(make_placed(DeviceKind.CHRONOTHERMOSTAT, THERMOSTAT)) as house:
            reports = await house.pass_by(24 * 60)
            set_points = [report.state.set_point for report in reports if report.state]
            # NOON is a Saturday's: comfort until half past eleven at night, and from eight in the morning.
            assert {16.5, 20.5} <= set(set_points)
            assert len({report.state.temperature.value for report in reports}) > 20

    async def test_everything_is_dated_in_real_time(self) -> None:
        plug = make_placed(DeviceKind.PLUG, options={"watts": 600})
        async with FastHouse(plug, make_placed(DeviceKind.CHRONOTHERMOSTAT, THERMOSTAT)) as house:
            for report in await house.pass_by(600):
                assert NOON <= report.at <= house.clock.now()
                assert all(NOON <= reading.at <= house.clock.now() for _, reading in report.readings)

    async def test_no_device_measures_more_often_than_every_ten_real_seconds(self) -> None:
        plug = make_placed(DeviceKind.PLUG, options={"watts": 600})
        async with FastHouse(plug) as house:
            await house.simulator.execute(make_order(PLANT, plug.module.id, SwitchPlug(on=True)))
            assert len(await house.pass_by(300, every=0.5)) <= 31

    async def test_an_hour_of_power_is_used_in_a_minute(self) -> None:
        plug = make_placed(DeviceKind.PLUG, options={"watts": 1000})
        async with FastHouse(plug) as house:
            on = await house.simulator.execute(make_order(PLANT, plug.module.id, SwitchPlug(on=True)))
            house.clock.pass_by(60)
            off = await house.simulator.execute(make_order(PLANT, plug.module.id, SwitchPlug(on=False)))
            assert off.state.energy.value - on.state.energy.value == pytest.approx(1000, rel=0.05)

    async def test_a_mode_ends_when_real_time_says_so(self) -> None:
        thermostat = make_placed(DeviceKind.CHRONOTHERMOSTAT, THERMOSTAT)
        async with FastHouse(thermostat) as house:
            command = SetThermostat(mode=ThermostatMode.MANUAL, set_point=25.0, activation_time=house.clock.now() + 60)
            await house.simulator.execute(make_order(PLANT, thermostat.module.id, command))
            await house.pass_by(55)
            assert (await house.simulator.read(PLANT, thermostat.module.id, NOON + 1e6)).state.mode is ThermostatMode.MANUAL
            await house.pass_by(5)
            assert (await house.simulator.read(PLANT, thermostat.module.id, NOON + 1e6)).state.mode is ThermostatMode.AUTOMATIC

    async def test_half_an_hour_of_boost_is_over_in_half_a_minute(self) -> None:
        thermostat = make_placed(DeviceKind.CHRONOTHERMOSTAT, THERMOSTAT)
        async with FastHouse(thermostat) as house:
            command = SetThermostat(mode=ThermostatMode.BOOST)
            boost = await house.simulator.execute(make_order(PLANT, thermostat.module.id, command))
            assert boost.state.activation_time == pytest.approx(house.clock.now() + 30)
            await house.pass_by(31)
            assert (await house.simulator.read(PLANT, thermostat.module.id, NOON + 1e6)).state.mode is ThermostatMode.AUTOMATIC
