"""Frames and commands of shutters and heating zones, without a connection."""

from typing import Any

import pytest

from domogate.domain.commands import MoveShutter, SetThermostat
from domogate.domain.devices import DeviceKind
from domogate.domain.faults import DeviceRefused
from domogate.domain.states import AutomationState, State, ThermostatFunction, ThermostatMode, ThermostatState, Unit
from domogate.drivers.openwebnet.device import Device
from domogate.drivers.openwebnet.kinds import make_device
from support.openwebnet_devices import NOW, command_frames, read_frames, receive

OFF, PROTECTION, MANUAL, AUTOMATIC, BOOST = (
    ThermostatMode.OFF,
    ThermostatMode.PROTECTION,
    ThermostatMode.MANUAL,
    ThermostatMode.AUTOMATIC,
    ThermostatMode.BOOST,
)
HEATING, COOLING = ThermostatFunction.HEATING, ThermostatFunction.COOLING


def shutter(last: State | None = None, **options: Any) -> Device:
    return make_device(DeviceKind.AUTOMATION, {"where": "21", **options}, last)


class TestShutters:
    def test_an_advanced_actuator_tells_its_position(self) -> None:
        blind = shutter(position=True)
        assert read_frames(blind) == ["*#2*21*10##"]
        assert receive(blind, "*#2*21*10*11*40*000*0##") == AutomationState(position=40)
        assert receive(blind, "*#2*21*10*10*100*000*0##") == AutomationState(position=100)
        assert receive(blind, "*#2*21*10*10*255*000*0##") == AutomationState(position=100)
        assert receive(blind, "*2*0*21##") == AutomationState(position=100)
        assert command_frames(blind, MoveShutter(position=35)) == ["*#2*21*#11#000*35##"]

    def test_an_order_is_shown_once_it_moves_the_right_way(self) -> None:
        blind = shutter(position=True)
        receive(blind, "*#2*21*10*10*40*000*0##")
        is_confirmed = blind.plan(MoveShutter(position=80)).is_confirmed
        assert is_confirmed is not None
        assert not is_confirmed()
        receive(blind, "*#2*21*10*12*40*000*0##")
        assert not is_confirmed()
        receive(blind, "*#2*21*10*11*40*000*0##")
        assert is_confirmed()
        receive(blind, "*#2*21*10*10*80*000*0##")
        assert is_confirmed()

    def test_the_position_of_a_simple_one_is_reckoned_from_how_long_it_ran(self) -> None:
        blind = shutter(AutomationState(position=50), travel=20)
        assert read_frames(blind) == ["*#2*21##"]
        assert receive(blind, "*2*0*21##") == AutomationState(position=50)
        receive(blind, "*2*1*21##", at=NOW)
        assert receive(blind, "*2*0*21##", at=NOW + 5) == AutomationState(position=75)
        receive(blind, "*2*2*21##", at=NOW + 60)
        assert receive(blind, "*2*0*21##", at=NOW + 3600) == AutomationState(position=0)

    def test_of_one_that_never_moved_nothing_is_known_until_it_does(self) -> None:
        blind = shutter(travel=20)
        assert receive(blind, "*2*0*21##") is None
        receive(blind, "*2*1*21##", at=NOW)
        assert receive(blind, "*2*0*21##", at=NOW + 20) == AutomationState(position=100)

    def test_a_simple_one_opens_and_closes_and_nothing_between(self) -> None:
        assert command_frames(shutter(), MoveShutter(position=100)) == ["*2*1*21##"]
        assert command_frames(shutter(), MoveShutter(position=0)) == ["*2*2*21##"]
        with pytest.raises(DeviceRefused, match="does not know positions"):
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
        receive(
            device, "*#4*3*0*0205##", "*#4*3*12*0215*3##", "*4*111*3##", "*#4*3*13*01##", "*#4*3*14*0205*3##", "*#4*3*19*0*1##"
        )
        receive(device, "*#4*3*60*55##")
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
        receive(device, "*#4*3*14*0200*3##", f"*4*{what}*3##")
        assert (state_of(device).function, state_of(device).mode) == (function, mode)

    @pytest.mark.parametrize("what", ["20", "22", "30", "40", "4002", "999"])
    def test_what_says_nothing_of_a_mode_changes_nothing(self, what: str) -> None:
        device = zone()
        receive(device, "*#4*3*14*0200*3##", "*4*110*3##", f"*4*{what}*3##")
        assert state_of(device).mode is MANUAL

    def test_the_knob_on_the_wall_has_the_last_word(self) -> None:
        device = zone()
        receive(device, "*#4*3*14*0200*3##", "*4*110*3##", "*#4*3*13*4##")
        assert state_of(device).mode is OFF
        receive(device, "*#4*3*13*5##")
        assert state_of(device).mode is PROTECTION
        receive(device, "*#4*3*13*12##")
        assert state_of(device).mode is MANUAL

    def test_a_zone_takes_frames_of_its_central_unit_and_its_actuators(self) -> None:
        device = zone("#3")
        receive(device, "*#4*3*14*0200*3##", "*4*110#0225*#3##", "*#4*3#1*20*0##", "*#4*3#2*20*1##")
        assert (state_of(device).set_point, state_of(device).load_active) == (22.5, True)
        receive(device, "*#4*3#2*20*0##")
        assert not state_of(device).load_active

    def test_programs_are_the_central_units(self) -> None:
        device = zone("#0")
        receive(device, "*4*110#0200*#0##", "*4*1102*#0##")
        assert (state_of(device).mode, state_of(device).program) == (AUTOMATIC, 2)
        assert command_frames(device, SetThermostat(mode=AUTOMATIC, program=3)) == ["*4*1103*#0##"]
        assert command_frames(device, SetThermostat(function=COOLING, mode=AUTOMATIC, program=1)) == ["*4*2101*#0##"]
        assert read_frames(device) == ["*#4*#0##"]

    def test_a_central_unit_that_was_never_manual_has_a_state_and_confirms_orders(self) -> None:
        device = zone("#0")
        receive(device, "*4*1101*#0##")
        assert (state_of(device).mode, state_of(device).program) == (AUTOMATIC, 1)
        is_confirmed = device.plan(SetThermostat(mode=AUTOMATIC, program=2)).is_confirmed
        assert is_confirmed is not None
        assert not is_confirmed()
        receive(device, "*4*1102*#0##")
        assert is_confirmed()

    def test_a_set_point_that_was_never_known_is_not_sent_after_a_restart(self) -> None:
        device = zone("#0")
        receive(device, "*4*1101*#0##")
        again = make_device(DeviceKind.CHRONOTHERMOSTAT, {"where": "#0"}, state_of(device))
        with pytest.raises(DeviceRefused, match="not known yet"):
            again.plan(SetThermostat(mode=MANUAL))

    @pytest.mark.parametrize("what", ["1201", "1216", "2203", "3200"])
    def test_while_a_scenario_of_the_central_unit_runs_no_program_is_shown(self, what: str) -> None:
        device = zone("#0")
        receive(device, "*4*110#0200*#0##", "*4*1102*#0##", f"*4*{what}*#0##")
        assert (state_of(device).mode, state_of(device).program) == (AUTOMATIC, None)
        receive(device, "*4*311*#0##")
        assert state_of(device).program is None
        receive(device, "*4*1103*#0##")
        assert state_of(device).program == 3

    @pytest.mark.parametrize(("what", "function"), [("112", HEATING), ("212", COOLING), ("312", HEATING)])
    def test_manual_for_some_hours_is_manual(self, what: str, function: ThermostatFunction) -> None:
        device = zone("#0")
        receive(device, "*4*1102*#0##", f"*4*{what}#0215#2*#0##")
        state = state_of(device)
        assert (state.mode, state.set_point, state.program, state.function) == (MANUAL, 21.5, None, function)

    @pytest.mark.parametrize("what", ["115#1101", "215#1103", "13005#1102"])
    def test_the_program_that_follows_a_holiday_is_not_a_set_point(self, what: str) -> None:
        device = zone("#0")
        receive(device, "*4*110#0200*#0##", f"*4*{what}*#0##")
        assert state_of(device).set_point == 20

    @pytest.mark.parametrize("what", ["111", "311", "3100"])
    def test_a_frame_without_a_number_leaves_the_program_as_it_is(self, what: str) -> None:
        device = zone("#0")
        receive(device, "*4*110#0200*#0##", "*4*1102*#0##", f"*4*{what}*#0##")
        assert (state_of(device).mode, state_of(device).program) == (AUTOMATIC, 2)

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
        receive(device, "*#4*3*14*0200*3##", "*4*111*3##")
        assert command_frames(device, command) == [frame]

    @pytest.mark.parametrize(
        ("command", "words"),
        [
            (SetThermostat(mode=BOOST), "boost"),
            (SetThermostat(mode=MANUAL, set_point=20, activation_time=NOW), "activation time"),
            (SetThermostat(set_point=4.5), "5..40"),
            (SetThermostat(set_point=41), "5..40"),
            (SetThermostat(program=1), "central unit"),
            (SetThermostat(mode=AUTOMATIC, set_point=20), "program sets"),
            (SetThermostat(mode=MANUAL), "needs a set point"),
            (SetThermostat(), "cannot execute any part"),
        ],
    )
    def test_what_they_refuse(self, command: SetThermostat, words: str) -> None:
        with pytest.raises(DeviceRefused, match=words):
            zone().plan(command)

    def test_an_order_is_shown_by_mode_and_set_point(self) -> None:
        device = zone()
        receive(device, "*#4*3*14*0200*3##", "*4*111*3##")
        is_confirmed = device.plan(SetThermostat(function=COOLING, set_point=22.5)).is_confirmed
        assert is_confirmed is not None
        receive(device, "*4*110#0225*3##")
        assert not is_confirmed()
        receive(device, "*4*210#0225*3##")
        assert is_confirmed()
