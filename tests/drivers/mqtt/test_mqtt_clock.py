"""What the MQTT driver does after the clock of the machine was set, on a real mosquitto."""

from collections.abc import AsyncIterator

import pytest

from domogate.domain.devices import DeviceKind
from domogate.domain.faults import DeviceTimeout
from domogate.domain.reachability import AbsenceReason
from domogate.domain.states import CameraState, EnergyMeterState, Reading, Report, Unit
from domogate.drivers.mqtt import MqttBroker
from domogate.ports import Picture
from support.clocks import NOON, ManualClock
from support.driver_bench import PLANT, is_absent, is_on
from support.mosquitto import DeviceClient, Mosquitto
from support.mqtt_setup import MqttSetup, attached_module, running_driver, zigbee_lamp

pytestmark = pytest.mark.slow

HOUR = 3600.0
PICTURE = b"\xff\xd8\xff\xe0 a picture"
METER = attached_module(
    "late meter",
    DeviceKind.ENERGYMETER,
    {"dialect": "generic", "state": {"power": {"topic": "late/power"}, "energy": {"topic": "late/energy"}}},
)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(NOON)


@pytest.fixture
def monotonic() -> ManualClock:
    """The clock that nobody can set."""
    return ManualClock(1000.0)


@pytest.fixture
async def bench(broker: Mosquitto, clock: ManualClock, monotonic: ManualClock) -> AsyncIterator[MqttSetup]:
    async with running_driver(MqttBroker(url=broker.url), clock=clock, monotonic=monotonic.now) as bench:
        yield bench


@pytest.fixture
async def device(broker: Mosquitto) -> AsyncIterator[DeviceClient]:
    device = DeviceClient(broker.port)
    yield device
    device.close()


@pytest.mark.parametrize("watts", [100, 200])
async def test_measured_values_have_the_new_time_and_are_in_the_history(
    bench: MqttSetup, device: DeviceClient, clock: ManualClock, watts: int
) -> None:
    await bench.attach(METER)
    device.publish("late/power", "100", retain=True)
    first = await bench.recorder.report_of(METER)
    assert first.readings == (("power", Reading(100.0, Unit.WATT, NOON)),)
    clock.at = NOON - HOUR
    device.publish("late/power", str(watts), retain=True)
    newest = Reading(float(watts), Unit.WATT, NOON - HOUR)

    def is_newest(report: Report) -> bool:
        return isinstance(report.state, EnergyMeterState) and report.state.power == newest

    report = await bench.recorder.report_of(METER, is_newest)
    assert report.readings == (("power", newest),)
    device.publish("late/power", "", retain=True)


async def test_a_read_asks_the_device(bench: MqttSetup, device: DeviceClient, clock: ManualClock) -> None:
    lamp = zigbee_lamp("asked-late")
    device.listen("asked-late/lamp/get")
    await bench.attach(lamp)
    device.publish("asked-late/lamp", '{"state":"ON"}', retain=True)
    await bench.recorder.report_of(lamp, is_on)
    device.received.clear()
    clock.at = NOON - HOUR
    with pytest.raises(DeviceTimeout):
        await bench.driver.read(PLANT, lamp.module.id, clock.now() + 0.5)
    assert [topic for topic, _, _ in device.received] == ["asked-late/lamp/get"]
    device.publish("asked-late/lamp", "", retain=True)


@pytest.mark.parametrize("set_by", [-HOUR, HOUR])
async def test_a_silent_device_is_absent_after_its_time(
    bench: MqttSetup, device: DeviceClient, clock: ManualClock, monotonic: ManualClock, set_by: float
) -> None:
    lamp = zigbee_lamp("silent-late", silentAfter=600)
    await bench.attach(lamp)
    device.publish("silent-late/lamp", '{"state":"ON"}', retain=True)
    await bench.recorder.report_of(lamp, is_on)
    clock.advance(set_by + 599)
    monotonic.advance(599)
    bench.driver.sessions["main"].check_modules()
    driven = bench.driver._plants[PLANT][lamp.module.id].module
    assert driven.absence is None
    clock.advance(1)
    monotonic.advance(1)
    bench.driver.sessions["main"].check_modules()
    report = await bench.recorder.report_of(lamp, is_absent)
    assert report.absence is not None
    assert (report.absence.why, report.absence.since) == (AbsenceReason.SILENT, NOON + set_by)
    device.publish("silent-late/lamp", "", retain=True)


async def test_a_camera_gives_its_pictures(bench: MqttSetup, device: DeviceClient, clock: ManualClock) -> None:
    tables = {"state": {"on": {"topic": "yard/state"}}, "command": {"on": {"topic": "yard/set"}}}
    camera = attached_module("yard", DeviceKind.AUDIOVIDEO_UNIT, {"dialect": "generic", **tables, "picture": "yard/image"})
    await bench.attach(camera)
    device.publish("yard/state", "on", retain=True)
    await bench.recorder.report_of(camera, lambda report: report.state == CameraState(on=True))
    clock.at = NOON - HOUR
    device.publish("yard/image", PICTURE)
    taken = await bench.driver.take_picture(PLANT, camera.module.id, clock.now() + 5)
    assert taken == Picture("image/jpeg", PICTURE)
    device.publish("yard/state", "", retain=True)
