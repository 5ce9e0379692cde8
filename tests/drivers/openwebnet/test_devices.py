"""What devices make of frames, and of commands: no connection, no gateway."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from domogate.domain.commands import Activate, Command, MoveShutter, OpenLock, SetLight, SetThermostat, SwitchHeater, SwitchPlug
from domogate.domain.devices import DeviceKind
from domogate.domain.faults import DeviceRefused
from domogate.domain.states import (
    ActivationState,
    AutomationState,
    Color,
    EnergyMeterState,
    GatewayState,
    HeaterState,
    LightState,
    LockState,
    PlugState,
    Report,
    State,
    ThermostatFunction,
    ThermostatMode,
    ThermostatState,
    Unit,
)
from domogate.drivers.openwebnet.addresses import find_key
from domogate.drivers.openwebnet.device import Device
from domogate.drivers.openwebnet.frames import DimensionReading, Normal, from_frame
from domogate.drivers.openwebnet.kinds import make_device
from domogate.services.driving.limits import find_breach
from support.examples import examples

NOW = 1_763_208_000.0

OFF, PROTECTION, MANUAL, AUTOMATIC, BOOST = (
    ThermostatMode.OFF,
    ThermostatMode.PROTECTION,
    ThermostatMode.MANUAL,
    ThermostatMode.AUTOMATIC,
    ThermostatMode.BOOST,
)
HEATING, COOLING = ThermostatFunction.HEATING, ThermostatFunction.COOLING


def hear(device: Device, *written: str, at: float = NOW) -> State | None:
    for text in written:
        frame = from_frame(text)
        assert isinstance(frame, Normal | DimensionReading), text
        assert (frame.who, find_key(frame.who, frame.where)) in device.keys, text
        device.hear(frame, at)
    return device.state


def told(device: Device, command: Command) -> list[str]:
    return [request.to_frame() for request in device.plan(command).requests]


def asked(device: Device) -> list[str]:
    return [question.to_frame() for question in device.questions]


def light(**options: Any) -> Device:
    return make_device(DeviceKind.LIGHT, {"where": "11", **options}, None)


class TestLights:
    @pytest.mark.parametrize(
        ("what", "state"),
        [
            ("0", LightState(on=False)),
            ("0#5", LightState(on=False)),
            ("1", LightState(on=True)),
            ("11", LightState(on=True)),
            ("18", LightState(on=True)),
            ("25", LightState(on=True)),
            ("6", LightState(on=True, level=60)),
            ("1000#1", None),
            ("34", None),
        ],
    )
    def test_what_is_heard_of_a_switch(self, what: str, state: State | None) -> None:
        assert hear(light(), f"*1*{what}*11##") == state

    def test_a_dimmer_keeps_its_level_while_it_is_off(self) -> None:
        dimmer = light(levels=10)
        assert hear(dimmer, "*1*4*11##") == LightState(on=True, level=40)
        assert hear(dimmer, "*1*0*11##") == LightState(on=False, level=0)
        assert hear(dimmer, "*1*1*11##") == LightState(on=True, level=40)

    def test_a_dimmer_of_a_hundred_levels_is_not_made_coarser_by_its_level_in_tens(self) -> None:
        dimmer = light(levels=100)
        assert hear(dimmer, "*#1*11*1*155*255##") == LightState(on=True, level=55)
        assert hear(dimmer, "*1*6*11##") == LightState(on=True, level=55)
        assert hear(dimmer, "*1*8*11##") == LightState(on=True, level=80)
        assert hear(dimmer, "*#1*11*4*160*0*0##") == LightState(on=True, level=60)
        assert hear(dimmer, "*#1*11*1*100*255##") == LightState(on=False, level=0)

    def test_colours(self) -> None:
        lamp = light(color=True)
        assert hear(lamp, "*#1*11*12*240*100*50##") == LightState(on=True, level=50, color=Color(240, 100, 50))
        assert hear(lamp, "*1*0*11##") == LightState(on=False, level=0, color=Color(240, 100, 50))

    @pytest.mark.parametrize(
        ("options", "command", "frame"),
        [
            ({}, SetLight(on=True), "*1*1*11##"),
            ({}, SetLight(on=False), "*1*0*11##"),
            ({}, SetLight(level=0), "*1*0*11##"),
            ({"levels": 10}, SetLight(level=44), "*1*4*11##"),
            ({"levels": 10}, SetLight(level=45), "*1*5*11##"),
            ({"levels": 10}, SetLight(level=1), "*1*2*11##"),
            ({"levels": 10}, SetLight(level=100), "*1*10*11##"),
            ({"levels": 100}, SetLight(on=True, level=1), "*#1*11*#1*101*255##"),
            ({"levels": 100}, SetLight(on=False, level=50), "*1*0*11##"),
            ({"color": True}, SetLight(color=Color(359.6, 49.5, 30.2)), "*#1*11*#12*0*50*30##"),
            ({"color": True}, SetLight(color=Color(10, 20, 30), level=70), "*#1*11*#12*10*20*70##"),
            ({"color": True}, SetLight(level=70), "*#1*11*#1*170*255##"),
            ({"where": "0311#4#02"}, SetLight(on=True), "*1*1*0311#4#02##"),
        ],
    )
    def test_what_they_are_told(self, options: dict[str, Any], command: SetLight, frame: str) -> None:
        assert told(light(**options), command) == [frame]

    def test_a_coloured_light_keeps_its_colour_when_it_is_dimmed(self) -> None:
        lamp = light(color=True)
        hear(lamp, "*#1*11*12*240*100*50##")
        assert told(lamp, SetLight(level=20)) == ["*#1*11*#12*240*100*20##"]

    def test_nothing_said_is_nothing_told(self) -> None:
        assert told(light(), SetLight()) == []

    @pytest.mark.parametrize(
        ("options", "command"),
        [
            ({}, SetLight(level=50)),
            ({"levels": 100}, SetLight(color=Color(1, 1, 1))),
            ({"levels": 100}, SetLight(level=101)),
            ({"color": True}, SetLight(color=Color(361, 0, 0))),
            ({}, OpenLock()),
        ],
    )
    def test_what_they_refuse(self, options: dict[str, Any], command: Command) -> None:
        with pytest.raises(DeviceRefused):
            light(**options).plan(command)

    @pytest.mark.parametrize(
        ("options", "questions"),
        [({}, ["*#1*11##"]), ({"levels": 100}, ["*#1*11*1##"]), ({"color": True}, ["*#1*11##", "*#1*11*12##"])],
    )
    def test_what_they_are_asked(self, options: dict[str, Any], questions: list[str]) -> None:
        assert asked(light(**options)) == questions

    def test_an_order_is_shown_only_by_what_is_heard_after_it(self) -> None:
        lamp = light()
        hear(lamp, "*1*1*11##")
        plan = lamp.plan(SetLight(on=True))
        assert plan.is_shown is not None
        assert not plan.is_shown()
        hear(lamp, "*1*0*11##")
        assert not plan.is_shown()
        hear(lamp, "*1*1*11##")
        assert plan.is_shown()


class TestLoads:
    def test_a_plug_with_a_meter_shows_and_notes_what_it_measures(self) -> None:
        plug = make_device(DeviceKind.PLUG, {"where": "12", "meter": "71"}, None)
        assert asked(plug) == ["*#1*12##", "*#18*71#0*113##", "*#18*71#0*51##"]
        assert hear(plug, "*#18*71#0*113*230##") is None
        state = hear(plug, "*1*1*12##", "*#18*71#0*51*99999##")
        assert isinstance(state, PlugState)
        assert (state.on, state.power and state.power.value, state.energy and state.energy.value) == (True, 230, 99_999)
        assert [(what, reading.value, reading.unit) for what, reading in plug.take_readings()] == [
            ("power", 230.0, Unit.WATT),
            ("energy", 99_999.0, Unit.WATT_HOUR),
        ]
        assert plug.take_readings() == ()

    def test_what_a_plug_has_used_beyond_the_contracts_bound_is_history_only(self) -> None:
        plug = make_device(DeviceKind.PLUG, {"where": "12", "meter": "51"}, None)
        state = hear(plug, "*1*1*12##", "*#18*51*51*100001##")
        assert isinstance(state, PlugState)
        assert state.energy is None
        assert dict(plug.take_readings())["energy"].value == 100_001

    def test_a_meter_does_not_confirm_what_its_actuator_was_told(self) -> None:
        plug = make_device(DeviceKind.PLUG, {"where": "12", "meter": "51"}, None)
        hear(plug, "*1*1*12##")
        plan = plug.plan(SwitchPlug(on=True))
        hear(plug, "*#18*51*113*230##")
        assert plan.is_shown is not None
        assert not plan.is_shown()

    def test_a_heater(self) -> None:
        heater = make_device(DeviceKind.HEATER, {"where": "13"}, None)
        assert hear(heater, "*1*1*13##") == HeaterState(on=True)
        assert told(heater, SwitchHeater(on=False)) == ["*1*0*13##"]

    @pytest.mark.parametrize(
        ("kind", "command", "active", "resting"),
        [
            (DeviceKind.LOCK, OpenLock(), LockState(locked=False), LockState(locked=True)),
            (DeviceKind.ACTIVATION, Activate(), ActivationState(active=True), ActivationState(active=False)),
        ],
    )
    def test_relays_close_for_a_moment(self, kind: DeviceKind, command: Command, active: State, resting: State) -> None:
        relay = make_device(kind, {"where": "14", "seconds": 30}, None)
        assert told(relay, command) == ["*1*17*14##"]
        assert hear(relay, "*1*1*14##") == active
        assert hear(relay, "*1*0*14##") == resting
        assert told(make_device(kind, {"where": "14"}, None), command) == ["*1*18*14##"]
        with pytest.raises(DeviceRefused):
            relay.plan(SetLight(on=True))

    def test_a_scenario_is_started_and_has_nothing_to_ask(self) -> None:
        scenario = make_device(DeviceKind.ACTIVATION, {"who": 0, "where": "01", "scenario": 7}, None)
        assert told(scenario, Activate()) == ["*0*7*01##"]
        assert scenario.plan(Activate()).is_shown is None
        assert scenario.questions == ()
        with pytest.raises(DeviceRefused):
            scenario.plan(OpenLock())

    def test_a_meter_of_its_own(self) -> None:
        meter = make_device(DeviceKind.ENERGYMETER, {"where": "51"}, None)
        state = hear(meter, "*#18*51*113*1234##", "*#18*51*51*98765432##", "*#18*51*51*4294967295##")
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
        assert asked(gateway) == ["*#13**16##"]
        assert hear(gateway, "*#13**16*3*1*27##") == GatewayState(firmware=30_127)


def shutter(last: State | None = None, **options: Any) -> Device:
    return make_device(DeviceKind.AUTOMATION, {"where": "21", **options}, last)


class TestShutters:
    def test_an_advanced_actuator_tells_its_position(self) -> None:
        blind = shutter(position=True)
        assert asked(blind) == ["*#2*21*10##"]
        assert hear(blind, "*#2*21*10*11*40*000*0##") == AutomationState(position=40)
        assert hear(blind, "*#2*21*10*10*100*000*0##") == AutomationState(position=100)
        assert hear(blind, "*#2*21*10*10*255*000*0##") == AutomationState(position=100)
        assert hear(blind, "*2*0*21##") == AutomationState(position=100)
        assert told(blind, MoveShutter(position=35)) == ["*#2*21*#11#000*35##"]

    def test_an_order_is_shown_once_it_moves_the_right_way(self) -> None:
        blind = shutter(position=True)
        hear(blind, "*#2*21*10*10*40*000*0##")
        is_shown = blind.plan(MoveShutter(position=80)).is_shown
        assert is_shown is not None
        assert not is_shown()
        hear(blind, "*#2*21*10*12*40*000*0##")
        assert not is_shown()
        hear(blind, "*#2*21*10*11*40*000*0##")
        assert is_shown()
        hear(blind, "*#2*21*10*10*80*000*0##")
        assert is_shown()

    def test_the_position_of_a_simple_one_is_reckoned_from_how_long_it_ran(self) -> None:
        blind = shutter(AutomationState(position=50), travel=20)
        assert asked(blind) == ["*#2*21##"]
        assert hear(blind, "*2*0*21##") == AutomationState(position=50)
        hear(blind, "*2*1*21##", at=NOW)
        assert hear(blind, "*2*0*21##", at=NOW + 5) == AutomationState(position=75)
        hear(blind, "*2*2*21##", at=NOW + 60)
        assert hear(blind, "*2*0*21##", at=NOW + 3600) == AutomationState(position=0)

    def test_of_one_that_never_moved_nothing_is_known_until_it_does(self) -> None:
        blind = shutter(travel=20)
        assert hear(blind, "*2*0*21##") is None
        hear(blind, "*2*1*21##", at=NOW)
        assert hear(blind, "*2*0*21##", at=NOW + 20) == AutomationState(position=100)

    def test_a_simple_one_opens_and_closes_and_nothing_between(self) -> None:
        assert told(shutter(), MoveShutter(position=100)) == ["*2*1*21##"]
        assert told(shutter(), MoveShutter(position=0)) == ["*2*2*21##"]
        with pytest.raises(DeviceRefused, match="knows no positions"):
            shutter().plan(MoveShutter(position=50))
        with pytest.raises(DeviceRefused):
            shutter(position=True).plan(MoveShutter(position=101))


def zone(where: str = "3") -> Device:
    return make_device(DeviceKind.CHRONOTHERMOSTAT, {"where": where}, None)


def state_of(device: Device) -> ThermostatState:
    assert isinstance(device.state, ThermostatState)
    return device.state


class TestZones:
    def test_all_that_a_status_request_is_answered(self) -> None:
        device = zone()
        hear(
            device, "*#4*3*0*0205##", "*#4*3*12*0215*3##", "*4*111*3##", "*#4*3*13*01##", "*#4*3*14*0205*3##", "*#4*3*19*0*1##"
        )
        hear(device, "*#4*3*60*55##")
        state = state_of(device)
        assert (state.function, state.mode, state.set_point, state.load_active) == (HEATING, AUTOMATIC, 20.5, True)
        assert state.temperature is not None
        assert (state.temperature.value, state.temperature.unit, state.temperature.at) == (20.5, Unit.CELSIUS, NOW)
        assert state.humidity is not None
        assert (state.humidity.value, state.humidity.unit) == (55, Unit.PERCENT)
        assert {what for what, _ in device.take_readings()} == {"temperature", "humidity"}

    @pytest.mark.parametrize(
        ("what", "function", "mode"),
        [
            ("102", HEATING, PROTECTION),
            ("202", COOLING, PROTECTION),
            ("302", HEATING, PROTECTION),
            ("103", HEATING, OFF),
            ("303", HEATING, OFF),
            ("110", HEATING, MANUAL),
            ("210", COOLING, MANUAL),
            ("311", HEATING, AUTOMATIC),
            ("211", COOLING, AUTOMATIC),
            ("215", COOLING, AUTOMATIC),
            ("1216", HEATING, AUTOMATIC),
            ("13005", HEATING, PROTECTION),
        ],
    )
    def test_modes(self, what: str, function: ThermostatFunction, mode: ThermostatMode) -> None:
        device = zone()
        hear(device, "*#4*3*14*0200*3##", f"*4*{what}*3##")
        assert (state_of(device).function, state_of(device).mode) == (function, mode)

    @pytest.mark.parametrize("what", ["20", "22", "30", "40", "4002", "999"])
    def test_what_says_nothing_of_a_mode_changes_nothing(self, what: str) -> None:
        device = zone()
        hear(device, "*#4*3*14*0200*3##", "*4*110*3##", f"*4*{what}*3##")
        assert state_of(device).mode is MANUAL

    def test_the_knob_on_the_wall_has_the_last_word(self) -> None:
        device = zone()
        hear(device, "*#4*3*14*0200*3##", "*4*110*3##", "*#4*3*13*4##")
        assert state_of(device).mode is OFF
        hear(device, "*#4*3*13*5##")
        assert state_of(device).mode is PROTECTION
        hear(device, "*#4*3*13*12##")
        assert state_of(device).mode is MANUAL

    def test_a_zone_hears_its_central_unit_and_its_actuators(self) -> None:
        device = zone("#3")
        hear(device, "*#4*3*14*0200*3##", "*4*110#0225*#3##", "*#4*3#1*20*0##", "*#4*3#2*20*1##")
        assert (state_of(device).set_point, state_of(device).load_active) == (22.5, True)
        hear(device, "*#4*3#2*20*0##")
        assert not state_of(device).load_active

    def test_programs_are_the_central_units(self) -> None:
        device = zone("#0")
        hear(device, "*4*110#0200*#0##", "*4*1102*#0##")
        assert (state_of(device).mode, state_of(device).program) == (AUTOMATIC, 2)
        assert told(device, SetThermostat(mode=AUTOMATIC, program=3)) == ["*4*1103*#0##"]
        assert told(device, SetThermostat(function=COOLING, mode=AUTOMATIC, program=1)) == ["*4*2101*#0##"]
        assert asked(device) == ["*#4*#0##"]

    @pytest.mark.parametrize(
        ("where", "command", "frame"),
        [
            ("3", SetThermostat(set_point=21.5), "*#4*3*#14*0215*1##"),
            ("3", SetThermostat(mode=MANUAL, set_point=21.3), "*#4*3*#14*0215*1##"),
            ("3", SetThermostat(mode=MANUAL), "*#4*3*#14*0200*1##"),
            ("#3", SetThermostat(function=COOLING, set_point=26), "*#4*#3*#14*0260*2##"),
            ("3", SetThermostat(mode=OFF), "*4*303*3##"),
            ("3", SetThermostat(mode=PROTECTION), "*4*102*3##"),
            ("3", SetThermostat(function=COOLING, mode=PROTECTION), "*4*202*3##"),
            ("#3", SetThermostat(mode=AUTOMATIC), "*4*311*#3##"),
            ("3", SetThermostat(function=COOLING), "*4*0*3##"),
            ("3", SetThermostat(function=HEATING), "*4*1*3##"),
        ],
    )
    def test_what_they_are_told(self, where: str, command: SetThermostat, frame: str) -> None:
        device = zone(where)
        hear(device, "*#4*3*14*0200*3##", "*4*111*3##")
        assert told(device, command) == [frame]

    @pytest.mark.parametrize(
        ("command", "words"),
        [
            (SetThermostat(mode=BOOST), "boost"),
            (SetThermostat(mode=MANUAL, set_point=20, activation_time=NOW), "activation time"),
            (SetThermostat(set_point=4.5), "5..40"),
            (SetThermostat(set_point=41), "5..40"),
            (SetThermostat(program=1), "central unit"),
            (SetThermostat(mode=AUTOMATIC, set_point=20), "program says"),
            (SetThermostat(mode=MANUAL), "needs a set point"),
            (SetThermostat(), "nothing was said"),
        ],
    )
    def test_what_they_refuse(self, command: SetThermostat, words: str) -> None:
        with pytest.raises(DeviceRefused, match=words):
            zone().plan(command)

    def test_an_order_is_shown_by_mode_and_set_point(self) -> None:
        device = zone()
        hear(device, "*#4*3*14*0200*3##", "*4*111*3##")
        is_shown = device.plan(SetThermostat(function=COOLING, set_point=22.5)).is_shown
        assert is_shown is not None
        hear(device, "*4*110#0225*3##")
        assert not is_shown()
        hear(device, "*4*210#0225*3##")
        assert is_shown()


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
                device.hear(frame, at)
                assert find_breach(Report("plant", "module", at, device.state, readings=device.take_readings())) is None
