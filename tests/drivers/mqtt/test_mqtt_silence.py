"""Modules on a real mosquitto that send no message: never, or not for a long time."""

import asyncio

import pytest

from domogate.domain.devices import DeviceKind
from domogate.domain.reachability import AbsenceReason
from domogate.domain.states import CameraState, Report
from domogate.drivers.mqtt import MqttBroker, broker_session
from domogate.drivers.mqtt.module import DrivenModule
from domogate.ports import AttachedModule
from support.clocks import NOON, ManualClock
from support.driver_bench import PLANT, is_absent, is_on
from support.mosquitto import DeviceClient, Mosquitto
from support.mqtt_setup import MqttSetup, attached_module, running_driver, zigbee_lamp

pytestmark = pytest.mark.slow


def why(report: Report) -> AbsenceReason:
    assert report.absence is not None
    return report.absence.why


class TestSilence:
    """A clock that the test controls: a slow machine makes no module silent."""

    async def test_what_was_never_heard_of_is_said_to_be_so(self, broker: Mosquitto) -> None:
        lamp, clock = zigbee_lamp("nobody"), ManualClock(NOON)
        async with running_driver(MqttBroker(url=broker.url), clock=clock, monotonic=clock.now) as bench:
            await bench.attach(lamp)
            await until_listening(bench, lamp)
            clock.advance(broker_session.NEVER_SEEN_AFTER - 1)
            check_modules(bench)
            assert not bench.recorder.reports
            clock.advance(1)
            check_modules(bench)
            report = await bench.recorder.report_of(lamp, is_absent)
            assert why(report) is AbsenceReason.NEVER_SEEN
            assert report.absence is not None
            assert report.absence.evidence == "no message on nobody/lamp since the gateway subscribed to it"
            device = DeviceClient(broker.port)
            device.publish("nobody/lamp", '{"state":"ON"}')
            await bench.recorder.report_of(lamp, lambda report: report.reachable and is_on(report))
            device.close()

    async def test_what_falls_silent_for_too_long_is_away_until_it_speaks(self, broker: Mosquitto) -> None:
        device, clock = DeviceClient(broker.port), ManualClock(NOON)
        lamp = zigbee_lamp("quiet", silentAfter=600)
        async with running_driver(MqttBroker(url=broker.url), clock=clock, monotonic=clock.now) as bench:
            await bench.attach(lamp)
            await until_listening(bench, lamp)
            device.publish("quiet/lamp", '{"state":"ON"}')
            await bench.recorder.report_of(lamp, is_on)
            spoken_at = clock.now()
            clock.advance(599)
            check_modules(bench)
            assert all(report.reachable for report in bench.recorder.of(lamp))
            clock.advance(1)
            check_modules(bench)
            report = await bench.recorder.report_of(lamp, is_absent)
            assert report.absence is not None
            assert (report.absence.why, report.absence.since) == (AbsenceReason.SILENT, spoken_at)
            device.publish("quiet/lamp", '{"state":"ON"}')
            await bench.recorder.report_of(lamp, lambda report: report.reachable)
        device.close()

    async def test_what_has_spoken_and_was_not_read_yet_is_not_silent(
        self, broker: Mosquitto, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        device, clock = DeviceClient(broker.port), ManualClock(NOON)
        lamp = zigbee_lamp("unread", silentAfter=600)
        async with running_driver(MqttBroker(url=broker.url), clock=clock, monotonic=clock.now) as bench:
            await bench.attach(lamp)
            await until_listening(bench, lamp)
            monkeypatch.setattr(broker_session, "READ_EVERY", 3600.0)
            one = bench.driver.sessions["main"]
            received = one.received
            clock.advance(600)
            device.publish("unread/lamp", '{"state":"ON"}')
            await bench.recorder.until(lambda: one.received > received)
            check_modules(bench)
            await asyncio.sleep(0.05)
            assert not bench.recorder.of(lamp)
        device.close()

    async def test_the_driver_checks_modules_by_itself(self, broker: Mosquitto, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(broker_session, "CHECK_EVERY", 0.05)
        lamp, clock = zigbee_lamp("nobody-else"), ManualClock(NOON)
        async with running_driver(MqttBroker(url=broker.url), clock=clock, monotonic=clock.now) as bench:
            await bench.attach(lamp)
            await until_listening(bench, lamp)
            clock.advance(broker_session.NEVER_SEEN_AFTER)
            assert why(await bench.recorder.report_of(lamp, is_absent)) is AbsenceReason.NEVER_SEEN

    async def test_a_module_that_is_online_again_is_not_silent(self, broker: Mosquitto) -> None:
        device, clock = DeviceClient(broker.port), ManualClock(NOON)
        lamp = zigbee_lamp("back", silentAfter=600)
        async with running_driver(MqttBroker(url=broker.url), clock=clock, monotonic=clock.now) as bench:
            await bench.attach(lamp)
            await until_listening(bench, lamp)
            clock.advance(3600)
            device.publish("back/lamp", '{"state":"ON"}')
            await bench.recorder.report_of(lamp, is_on)
            device.publish("back/lamp/availability", "offline")
            assert why(await bench.recorder.report_of(lamp, is_absent)) is AbsenceReason.ANNOUNCED
            clock.advance(300)
            device.publish("back/lamp/availability", "online")
            await bench.recorder.report_of(lamp, lambda report: report.reachable)
            came_back_at = clock.now()
            clock.advance(599)
            check_modules(bench)
            assert driven_module(bench, lamp).absence is None
            clock.advance(1)
            check_modules(bench)
            report = await bench.recorder.report_of(lamp, is_absent)
            assert report.absence is not None
            assert (report.absence.why, report.absence.since) == (AbsenceReason.SILENT, came_back_at)
        device.close()

    async def test_a_camera_that_sends_pictures_is_not_silent(self, broker: Mosquitto) -> None:
        device, clock = DeviceClient(broker.port), ManualClock(NOON)
        tables = {"state": {"on": {"topic": "porch/state"}}, "command": {"on": {"topic": "porch/set"}}}
        options = {"dialect": "generic", **tables, "picture": "porch/image", "silentAfter": 600}
        camera = attached_module("porch", DeviceKind.AUDIOVIDEO_UNIT, options)
        async with running_driver(MqttBroker(url=broker.url), clock=clock, monotonic=clock.now) as bench:
            await bench.attach(camera)
            await until_listening(bench, camera)
            device.publish("porch/state", "on")
            await bench.recorder.report_of(camera, lambda report: report.state == CameraState(on=True))
            clock.advance(599)
            device.publish("porch/image", b"\xff\xd8\xff\xe0 a picture")
            await bench.driver.take_picture(PLANT, camera.module.id, clock.now() + 30)
            clock.advance(1)
            check_modules(bench)
            assert driven_module(bench, camera).absence is None
            clock.advance(600)
            check_modules(bench)
            assert why(await bench.recorder.report_of(camera, is_absent)) is AbsenceReason.SILENT
            device.publish("porch/image", b"\xff\xd8\xff\xe0 another picture")
            await bench.recorder.report_of(camera, lambda report: report.reachable)
        device.close()


def driven_module(bench: MqttSetup, attached: AttachedModule) -> DrivenModule:
    driven = bench.driver._plants[PLANT][attached.module.id].module
    assert isinstance(driven, DrivenModule)
    return driven


async def until_listening(bench: MqttSetup, attached: AttachedModule) -> None:
    driven = driven_module(bench, attached)
    await bench.recorder.until(lambda: driven.subscribed_since is not None)


def check_modules(bench: MqttSetup) -> None:
    bench.driver.sessions["main"].check_modules()
