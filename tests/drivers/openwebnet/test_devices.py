"""Frames and commands of loads, relays, meters and the gateway; and any frame for any device."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from domogate.domain.commands import Activate, Command, OpenLock, SetLight, SwitchHeater, SwitchPlug
from domogate.domain.devices import DeviceKind
from domogate.domain.faults import DeviceRefused
from domogate.domain.states import (
    ActivationState,
    EnergyMeterState,
    GatewayState,
    HeaterState,
    LockState,
    PlugState,
    Report,
    State,
    Unit,
)
from domogate.drivers.openwebnet.frames import DimensionReading, Normal
from domogate.drivers.openwebnet.kinds import make_device
from domogate.services.driving.calls import find_breach
from support.examples import examples
from support.openwebnet_devices import NOW, command_frames, read_frames, receive


class TestLoads:
    def test_a_plug_with_a_meter_shows_and_notes_what_it_measures(self) -> None:
        plug = make_device(DeviceKind.PLUG, {"where": "12", "meter": "71"}, None)
        assert read_frames(plug) == ["*#1*12##", "*#18*71#0*113##", "*#18*71#0*51##"]
        assert receive(plug, "*#18*71#0*113*230##") is None
        state = receive(plug, "*1*1*12##", "*#18*71#0*51*99999##")
        assert isinstance(state, PlugState)
        assert (state.on, state.power and state.power.value, state.energy and state.energy.value) == (True, 230, 99_999)
        assert [(what, reading.value, reading.unit) for what, reading in plug.take_readings()] == [
            ("power", 230.0, Unit.WATT),
            ("energy", 99_999.0, Unit.WATT_HOUR),
        ]
        assert plug.take_readings() == ()

    def test_what_a_plug_has_used_beyond_the_contracts_bound_is_history_only(self) -> None:
        plug = make_device(DeviceKind.PLUG, {"where": "12", "meter": "51"}, None)
        state = receive(plug, "*1*1*12##", "*#18*51*51*100001##")
        assert isinstance(state, PlugState)
        assert state.energy is None
        assert dict(plug.take_readings())["energy"].value == 100_001

    def test_a_meter_does_not_confirm_what_its_actuator_was_told(self) -> None:
        plug = make_device(DeviceKind.PLUG, {"where": "12", "meter": "51"}, None)
        receive(plug, "*1*1*12##")
        plan = plug.plan(SwitchPlug(on=True))
        receive(plug, "*#18*51*113*230##")
        assert plan.is_confirmed is not None
        assert not plan.is_confirmed()

    def test_a_heater(self) -> None:
        heater = make_device(DeviceKind.HEATER, {"where": "13"}, None)
        assert receive(heater, "*1*1*13##") == HeaterState(on=True)
        assert command_frames(heater, SwitchHeater(on=False)) == ["*1*0*13##"]

    @pytest.mark.parametrize(
        ("kind", "command", "active", "resting"),
        [
            (DeviceKind.LOCK, OpenLock(), LockState(locked=False), LockState(locked=True)),
            (DeviceKind.ACTIVATION, Activate(), ActivationState(active=True), ActivationState(active=False)),
        ],
    )
    def test_relays_close_for_a_short_time(self, kind: DeviceKind, command: Command, active: State, resting: State) -> None:
        relay = make_device(kind, {"where": "14", "seconds": 30}, None)
        assert command_frames(relay, command) == ["*1*17*14##"]
        assert receive(relay, "*1*1*14##") == active
        assert receive(relay, "*1*0*14##") == resting
        assert command_frames(make_device(kind, {"where": "14"}, None), command) == ["*1*18*14##"]
        with pytest.raises(DeviceRefused):
            relay.plan(SetLight(on=True))

    def test_a_scenario_is_started_and_has_nothing_to_ask(self) -> None:
        scenario = make_device(DeviceKind.ACTIVATION, {"who": 0, "where": "01", "scenario": 7}, None)
        assert command_frames(scenario, Activate()) == ["*0*7*01##"]
        assert scenario.plan(Activate()).is_confirmed is None
        assert scenario.read_requests == ()
        with pytest.raises(DeviceRefused):
            scenario.plan(OpenLock())

    def test_a_meter_of_its_own(self) -> None:
        meter = make_device(DeviceKind.ENERGYMETER, {"where": "51"}, None)
        state = receive(meter, "*#18*51*113*1234##", "*#18*51*51*98765432##", "*#18*51*51*4294967295##")
        assert isinstance(state, EnergyMeterState)
        assert state.power is not None
        assert (state.power.value, state.power.at) == (1234, NOW)
        assert state.energy is not None
        assert state.energy.value == 98_765_432
        assert [request.to_frame() for request in meter.subscriptions] == ["*#18*51*#1200#1*120##"]
        with pytest.raises(DeviceRefused):
            meter.plan(SwitchPlug(on=True))

    def test_the_gateway_itself(self) -> None:
        gateway = make_device(DeviceKind.GATEWAY, {}, None)
        assert read_frames(gateway) == ["*#13**16##"]
        assert receive(gateway, "*#13**16*3*1*27##") == GatewayState(firmware=30_127)


every_device = st.sampled_from(
    [
        (DeviceKind.LIGHT, {"where": "11", "levels": 100}),
        (DeviceKind.LIGHT, {"where": "11", "color": True}),
        (DeviceKind.PLUG, {"where": "11", "meter": "51"}),
        (DeviceKind.LOCK, {"where": "11"}),
        (DeviceKind.AUTOMATION, {"where": "11", "position": True}),
        (DeviceKind.AUTOMATION, {"where": "11"}),
        (DeviceKind.CHRONOTHERMOSTAT, {"where": "3"}),
        (DeviceKind.ENERGYMETER, {"where": "51"}),
        (DeviceKind.GATEWAY, {}),
        (DeviceKind.ACTIVATION, {"who": 0, "where": "01", "scenario": 1}),
    ]
)
numbers = st.one_of(st.integers(0, 300), st.integers(0, 40_000), st.integers(0, 2**40)).map(str)
some_values = st.lists(st.one_of(numbers, st.text("0123456789#", max_size=5)), min_size=1, max_size=4).map(tuple)
some_news = st.one_of(
    st.builds(Normal, st.just(0), st.integers(0, 40_000), st.just(""), st.lists(numbers, max_size=2).map(tuple)),
    st.builds(
        DimensionReading,
        st.just(0),
        st.just(""),
        st.sampled_from([0, 1, 4, 10, 12, 13, 14, 16, 19, 20, 51, 60, 113]),
        some_values,
    ),
)


class TestAnything:
    @given(every_device, st.lists(st.tuples(some_news, st.floats(0, 2e9)), max_size=12))
    @settings(max_examples=examples(50))
    def test_whatever_a_bus_says_states_stay_within_the_contracts_bounds(
        self, made: tuple[DeviceKind, dict[str, Any]], said: list[tuple[Normal | DimensionReading, float]]
    ) -> None:
        device = make_device(*made, None)
        (who, _), *_ = device.keys
        for news, at in said:
            for frame_who in {who, 18}:
                frame = (
                    Normal(frame_who, news.what, "11", news.params)
                    if isinstance(news, Normal)
                    else DimensionReading(frame_who, "11", news.dimension, news.values)
                )
                device.receive(frame, at)
                assert find_breach(Report("plant", "module", at, device.state, readings=device.take_readings())) is None
