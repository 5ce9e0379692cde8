"""With any orders and any jumps of time: the same reports in every run, within the bounds of Spec 8."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from domogate.domain import commands
from domogate.domain.devices import DeviceKind
from domogate.domain.faults import DeviceRefused
from domogate.domain.safety import FailureType
from domogate.domain.states import (
    AutomationState,
    Color,
    EmergencyState,
    EnergyMeterState,
    LightState,
    PlugState,
    Reading,
    Report,
    ThermostatFunction,
    ThermostatMode,
    ThermostatState,
    Unit,
)
from domogate.drivers.simulator.simulator import Simulator
from domogate.services.driving.calls import find_breach
from support.clocks import NOON, ManualClock
from support.devices import make_attached, make_id, make_order
from support.examples import examples

pytestmark = pytest.mark.slow

PLANT = make_id(1)
Story = Sequence[tuple[float, commands.Command]]
OPTIONS: dict[DeviceKind, dict[str, Any]] = {
    DeviceKind.LIGHT: {"transition": 20, "room": "hall"},
    DeviceKind.AUTOMATION: {"travel": 40, "room": "hall"},
    DeviceKind.HEATER: {"room": "hall"},
    DeviceKind.CHRONOTHERMOSTAT: {"room": "hall"},
    DeviceKind.PLUG: {"load": "television", "room": "hall"},
    DeviceKind.MULTISOCKET: {"loads": ["fridge", "iron", "router"]},
    DeviceKind.ENERGYMETER: {"base": 300},
    DeviceKind.REMOTE: {"lasts": 1},
}
PLACED = [
    make_attached(kind, module_id=make_id(10 + number), options=OPTIONS.get(kind, {})) for number, kind in enumerate(DeviceKind)
]

# Wider than allowed: values outside the bounds must be refused.
NUMBERS = st.integers(-10, 410) | st.sampled_from((0, 100))
FLOATS = st.floats(-10, 410) | st.just(float("nan"))
COMMANDS: st.SearchStrategy[commands.Command] = st.one_of(
    st.builds(commands.SwitchPlug, on=st.booleans()),
    st.builds(commands.SwitchSocket, socket=st.integers(-2, 6), on=st.booleans()),
    st.builds(commands.SwitchHeater, on=st.booleans()),
    st.builds(
        commands.SetLight,
        on=st.none() | st.booleans(),
        level=st.none() | NUMBERS,
        color=st.none() | st.builds(Color, hue=FLOATS, saturation=FLOATS, value=FLOATS),
    ),
    st.builds(commands.MoveShutter, position=NUMBERS),
    st.builds(
        commands.SetThermostat,
        function=st.none() | st.sampled_from(ThermostatFunction),
        mode=st.none() | st.sampled_from(ThermostatMode),
        set_point=st.none() | st.floats(0, 45),
        program=st.none() | st.integers(-2, 14),
        activation_time=st.none() | st.floats(NOON - 1e5, NOON + 1e7),
    ),
    st.just(commands.OpenLock()),
    st.just(commands.Activate()),
    st.builds(commands.SwitchCamera, on=st.booleans()),
)
FITS: dict[type[commands.Command], DeviceKind] = {
    commands.SwitchPlug: DeviceKind.PLUG,
    commands.SwitchSocket: DeviceKind.MULTISOCKET,
    commands.SwitchHeater: DeviceKind.HEATER,
    commands.SetLight: DeviceKind.LIGHT,
    commands.MoveShutter: DeviceKind.AUTOMATION,
    commands.SetThermostat: DeviceKind.CHRONOTHERMOSTAT,
    commands.OpenLock: DeviceKind.LOCK,
    commands.Activate: DeviceKind.ACTIVATION,
    commands.SwitchCamera: DeviceKind.AUDIOVIDEO_UNIT,
}
# Seconds, nights, months, and a clock that is set back.
JUMPS = st.floats(0, 30) | st.floats(0, 1e5) | st.floats(0, 1e8) | st.floats(-1e5, 0)
STORIES = st.lists(st.tuples(JUMPS, COMMANDS), max_size=12)
SPEEDS = st.sampled_from((1.0, 60.0, 0.5))


async def advance(seed: int, story: Story, speed: float = 1.0) -> list[Report]:
    """All reports of a house with one module of each kind during the story."""
    clock = ManualClock(NOON)
    simulator = Simulator(clock, seed=seed, tick=3600.0, speed=speed)
    said: list[Report] = []

    async def take(reports: Sequence[Report]) -> None:
        said.extend(reports)

    of_kind = {attached.module.kind: attached.module.id for attached in PLACED}
    await simulator.start(take)
    await simulator.attach(PLANT, PLACED)
    for jump, command in story:
        clock.advance(jump)
        order = make_order(PLANT, of_kind[FITS[type(command)]], command, deadline=clock.now() + 5)
        with suppress(DeviceRefused):
            said.append(await simulator.execute(order))
        await simulator.step()
        said += [await simulator.read(PLANT, attached.module.id, clock.now() + 5) for attached in PLACED]
    await simulator.stop()
    return said


def check_reading(reading: Reading | None, *units: Unit) -> None:
    if reading is None:
        return
    assert reading.unit in units
    if reading.unit in (Unit.WATT, Unit.WATT_HOUR):
        assert reading.value >= 0
        assert reading.value == int(reading.value)
    elif reading.unit is Unit.PERCENT:
        assert 0 <= reading.value <= 100
    else:
        assert -60 <= reading.value <= 150


def check(report: Report) -> None:
    match report.state:
        case LightState(level=level, color=color):
            assert level is None or 0 <= level <= 100
            assert color is None or 0 <= color.hue <= 360
            assert color is None or (0 <= color.saturation <= 100 and 0 <= color.value <= 100)
        case AutomationState(position=position):
            assert 0 <= position <= 100
        case PlugState(on=on, power=power, energy=energy):
            check_reading(power, Unit.WATT)
            check_reading(energy, Unit.WATT_HOUR)
            assert power is not None
            assert energy is not None
            assert max(power.value, energy.value) <= 100_000
            assert on or power.value == 0
        case EnergyMeterState(power=power, energy=energy):
            check_reading(power, Unit.WATT)
            check_reading(energy, Unit.WATT_HOUR)
        case ThermostatState() as state:
            assert 3 <= state.set_point <= 40
            assert state.program is None or 0 <= state.program <= 11
            assert state.program is not None or state.mode is not ThermostatMode.AUTOMATIC
            check_reading(state.temperature, state.scale)
            check_reading(state.humidity, Unit.PERCENT)
        case EmergencyState(failures=failures, charge=charge):
            assert failures
            assert all(failure.type in FailureType for failure in failures)
            assert charge is None or 0 <= charge <= 100
    for what, reading in report.readings:
        assert what in ("power", "energy", "temperature", "humidity")
        check_reading(reading, *Unit)


def energies(reports: Sequence[Report], kind: DeviceKind) -> list[float]:
    module_id = next(attached.module.id for attached in PLACED if attached.module.kind is kind)
    states = [report.state for report in reports if report.module_id == module_id]
    known = [state.energy for state in states if isinstance(state, PlugState | EnergyMeterState)]
    return [energy.value for energy in known if energy is not None]


class TestAnyStory:
    @given(st.integers(0, 2**32), STORIES, SPEEDS)
    @settings(max_examples=examples(15))
    def test_repeats_in_every_run_with_the_same_seed(self, seed: int, story: Story, speed: float) -> None:
        assert asyncio.run(advance(seed, story, speed)) == asyncio.run(advance(seed, story, speed))

    @given(st.integers(0, 2**32), STORIES, SPEEDS)
    @settings(max_examples=examples(40))
    def test_stays_within_the_bounds_and_no_meter_runs_backwards(self, seed: int, story: Story, speed: float) -> None:
        reports = asyncio.run(advance(seed, story, speed))
        for report in reports:
            check(report)
            assert find_breach(report) is None
        counted = energies(reports, DeviceKind.ENERGYMETER)
        assert counted == sorted(counted)
        counted = energies(reports, DeviceKind.PLUG)
        # In this time a television does not use enough energy to reach the end of the counter.
        if sum(max(0.0, jump) for jump, _ in story) * speed < 2e6:
            assert counted == sorted(counted)

    def test_is_another_one_with_another_seed(self) -> None:
        story: Story = [(3600.0, commands.SwitchPlug(on=True))]
        assert asyncio.run(advance(1, story)) != asyncio.run(advance(2, story))
