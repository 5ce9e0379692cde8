"""Frames and commands of lights, without a connection."""

from typing import Any

import pytest

from domogate.domain.commands import Command, OpenLock, SetLight
from domogate.domain.devices import DeviceKind
from domogate.domain.faults import CommandNotSupported
from domogate.domain.states import Color, LightState, LightTarget, State
from domogate.drivers.openwebnet.device import Device
from domogate.drivers.openwebnet.kinds import make_device
from support.openwebnet_devices import command_frames, read_frames, receive


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
        assert receive(light(), f"*1*{what}*11##") == state

    def test_a_dimmer_keeps_its_level_while_it_is_off(self) -> None:
        dimmer = light(levels=10)
        assert receive(dimmer, "*1*4*11##") == LightState(on=True, level=40)
        assert receive(dimmer, "*1*0*11##") == LightState(on=False, level=40)
        assert receive(dimmer, "*1*1*11##") == LightState(on=True, level=40)

    def test_a_dimmer_of_a_hundred_levels_is_not_made_coarser_by_its_level_in_tens(self) -> None:
        dimmer = light(levels=100)
        assert receive(dimmer, "*#1*11*1*155*255##") == LightState(on=True, level=55)
        assert receive(dimmer, "*1*6*11##") == LightState(on=True, level=55)
        assert receive(dimmer, "*1*8*11##") == LightState(on=True, level=80)
        assert receive(dimmer, "*#1*11*4*160*0*0##") == LightState(on=True, level=60)
        assert receive(dimmer, "*#1*11*1*100*255##") == LightState(on=False, level=60)

    def test_a_dimmer_that_was_never_on_has_level_0(self) -> None:
        assert receive(light(levels=100), "*1*0*11##") == LightState(on=False, level=0)

    def test_colours(self) -> None:
        lamp = light(color=True)
        assert receive(lamp, "*#1*11*12*240*100*50##") == LightState(on=True, level=50, color=Color(240, 100, 50))
        assert receive(lamp, "*1*0*11##") == LightState(on=False, level=50, color=Color(240, 100, 50))
        assert receive(lamp, "*#1*11*12*240*100*0##") == LightState(on=False, level=50, color=Color(240, 100, 50))

    def test_a_coloured_light_is_not_made_coarser_by_its_level_in_tens(self) -> None:
        lamp = light(color=True)
        exact = receive(lamp, "*#1*11*12*240*100*55##")
        assert receive(lamp, "*1*6*11##") == exact == LightState(on=True, level=55, color=Color(240, 100, 55))

    @pytest.mark.parametrize("frame", ["*1*8*11##", "*#1*11*1*180*255##"])
    def test_a_coloured_light_dimmed_at_the_wall_has_the_same_level_and_value(self, frame: str) -> None:
        lamp = light(color=True)
        receive(lamp, "*#1*11*12*240*100*55##")
        assert receive(lamp, frame) == LightState(on=True, level=80, color=Color(240, 100, 80))

    @pytest.mark.parametrize(
        ("options", "command", "frame"),
        [
            ({}, SetLight(on=True), "*1*1*11##"),
            ({}, SetLight(on=False), "*1*0*11##"),
            ({"levels": 10}, SetLight(level=0), "*1*0*11##"),
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
        assert command_frames(light(**options), command) == [frame]

    def test_a_coloured_light_keeps_its_colour_when_it_is_dimmed(self) -> None:
        lamp = light(color=True)
        receive(lamp, "*#1*11*12*240*100*50##")
        assert command_frames(lamp, SetLight(level=20)) == ["*#1*11*#12*240*100*20##"]

    def test_a_level_ordered_while_the_light_is_off_is_sent_when_it_is_switched_on(self) -> None:
        dimmer = light(levels=10)
        receive(dimmer, "*1*0*11##")
        plan = dimmer.plan(SetLight(level=41))
        assert (plan.requests, plan.is_confirmed) == ((), None)
        assert plan.on_done is not None
        plan.on_done()
        assert dimmer.state == LightState(on=False, level=40, target=LightTarget(40, None))
        after_restart = make_device(DeviceKind.LIGHT, {"where": "11", "levels": 10}, dimmer.state)
        assert receive(after_restart, "*1*0*11##") == dimmer.state
        assert command_frames(after_restart, SetLight(on=True)) == ["*1*4*11##"]

    def test_switched_on_by_hand_a_light_has_the_level_that_the_bus_reports(self) -> None:
        dimmer = light(levels=10)
        receive(dimmer, "*1*0*11##")
        plan = dimmer.plan(SetLight(on=False, level=40))
        assert plan.on_done is not None
        plan.on_done()
        assert receive(dimmer, "*1*7*11##") == LightState(on=True, level=70)
        assert command_frames(dimmer, SetLight(on=True)) == ["*1*1*11##"]

    @pytest.mark.parametrize(
        ("options", "command"),
        [
            ({}, SetLight()),
            ({}, SetLight(level=50)),
            ({}, SetLight(level=0)),
            ({"levels": 100}, SetLight(on=True, level=0)),
            ({"color": True}, SetLight(on=True, color=Color(1, 1, 0))),
            ({"levels": 100}, SetLight(color=Color(1, 1, 1))),
            ({"levels": 100}, SetLight(level=101)),
            ({"color": True}, SetLight(color=Color(361, 0, 0))),
            ({}, OpenLock()),
        ],
    )
    def test_what_they_refuse(self, options: dict[str, Any], command: Command) -> None:
        with pytest.raises(CommandNotSupported):
            light(**options).plan(command)

    @pytest.mark.parametrize(
        ("options", "read_requests"),
        [({}, ["*#1*11##"]), ({"levels": 100}, ["*#1*11*1##"]), ({"color": True}, ["*#1*11##", "*#1*11*12##"])],
    )
    def test_what_they_are_asked(self, options: dict[str, Any], read_requests: list[str]) -> None:
        assert read_frames(light(**options)) == read_requests

    def test_an_order_is_shown_only_by_what_is_heard_after_it(self) -> None:
        lamp = light()
        receive(lamp, "*1*1*11##")
        plan = lamp.plan(SetLight(on=True))
        assert plan.is_confirmed is not None
        assert not plan.is_confirmed()
        receive(lamp, "*1*0*11##")
        assert not plan.is_confirmed()
        receive(lamp, "*1*1*11##")
        assert plan.is_confirmed()
