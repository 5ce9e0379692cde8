"""Power and energy of plugs and meters."""

import pytest

from domogate.domain.commands import (
    SwitchPlug,
)
from domogate.domain.devices import DeviceKind
from domogate.domain.states import (
    EnergyMeterState,
    PlugState,
    Reading,
    Unit,
)
from domogate.drivers.simulator.power import MOST, EnergyCounter
from support.clocks import NOON
from support.devices import make_attached
from support.simulator_setup import SimulatorSetup, state_of, value_of


class TestConsumption:
    async def test_a_plug_that_is_on_draws_power_and_counts_whole_watt_hours(self) -> None:
        plug = make_attached(DeviceKind.PLUG, options={"watts": 1000})
        async with SimulatorSetup(plug) as setup:
            await setup.order(SwitchPlug(on=True))
            start = value_of((await setup.state(PlugState)).energy)
            values = []
            for _ in range(60):
                values += [value for report in await setup.advance(60) for value in report.readings]
            used = value_of((await setup.state(PlugState)).energy) - start
            assert 950 <= used <= 1050
            assert {what for what, _ in values} == {"power", "energy"}
            assert all(reading.value == int(reading.value) for _, reading in values)
            assert len({reading.value for what, reading in values if what == "power"}) > 10, "the power changes"

    async def test_a_plug_that_is_off_draws_nothing_and_its_counter_stands(self) -> None:
        async with SimulatorSetup(make_attached(DeviceKind.PLUG, options={"load": "radiator"})) as setup:
            await setup.order(SwitchPlug(on=True))
            setup.clock.advance(600)
            off = state_of(await setup.order(SwitchPlug(on=False)), PlugState)
            assert off.power == Reading(0.0, Unit.WATT, setup.clock.now())
            assert await setup.advance(1800) == []
            assert (await setup.read()).state == off

    async def test_a_counter_past_its_end_starts_again(self) -> None:
        full = PlugState(on=True, power=Reading(2000.0, Unit.WATT, NOON), energy=Reading(99_990.0, Unit.WATT_HOUR, NOON))
        async with SimulatorSetup(make_attached(DeviceKind.PLUG, full)) as setup:
            await setup.advance(180)
            assert value_of((await setup.state(PlugState)).energy) == pytest.approx(90, abs=5)

    def test_a_counter_shows_each_number_once(self) -> None:
        counter = EnergyCounter(99_999.0, MOST)
        assert [counter.read(used) for used in (0.0, 1.0, 2.0, 3.0)] == [99_999, 100_000, 0, 1]

    async def test_a_plug_goes_on_drawing_what_it_was_given(self) -> None:
        given = PlugState(on=True, power=Reading(733.0, Unit.WATT, NOON), energy=Reading(5.0, Unit.WATT_HOUR, NOON))
        async with SimulatorSetup(make_attached(DeviceKind.PLUG, given)) as setup:
            assert setup.reports == []
            await setup.advance(200)
            assert value_of((await setup.state(PlugState)).power) == pytest.approx(733, rel=0.04)

    async def test_a_meter_sums_the_plugs_of_its_plant(self) -> None:
        plugs = [make_attached(DeviceKind.PLUG, PlugState(on=True), options={"watts": 100 * step}) for step in (1, 2, 3)]
        meter = make_attached(DeviceKind.ENERGYMETER)
        async with SimulatorSetup(meter, *plugs) as setup:
            assert value_of((await setup.state(EnergyMeterState, meter)).power) == pytest.approx(600, rel=0.05)
            await setup.advance(200)
            state = await setup.state(EnergyMeterState, meter)
            drawn = [value_of((await setup.state(PlugState, plug)).power) for plug in plugs]
            assert value_of(state.power) == sum(drawn)
            for _ in range(60):
                await setup.advance(60)
            used = value_of((await setup.state(EnergyMeterState, meter)).energy) - value_of(state.energy)
            assert used == pytest.approx(600, rel=0.07)

    async def test_measures_come_about_once_a_minute_however_short_the_tick(self) -> None:
        async with SimulatorSetup(make_attached(DeviceKind.PLUG, PlugState(on=True), options={"watts": 1500})) as setup:
            reports = [report for _ in range(120) for report in await setup.advance(5)]
            assert 5 <= len(reports) <= 10


class TestAMeter:
    async def test_counts_on_past_what_a_plug_may_say(self) -> None:
        given = EnergyMeterState(power=Reading(48_210.0, Unit.WATT, NOON), energy=Reading(912_450.0, Unit.WATT_HOUR, NOON))
        async with SimulatorSetup(make_attached(DeviceKind.ENERGYMETER, given, options={"base": 48_000})) as setup:
            await setup.advance(120)
            state = await setup.state(EnergyMeterState)
            assert 912_450 + 48_000 / 30 * 0.7 < value_of(state.energy) < 912_450 + 48_000 / 30 * 1.3
            assert 35_000 < value_of(state.power) < 60_000
