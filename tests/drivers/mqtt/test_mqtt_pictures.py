"""Pictures of cameras that speak MQTT: the newest since the camera is on, from a real mosquitto."""

import asyncio
import json
from collections.abc import Iterator

import pytest

from domogate.domain.commands import SwitchCamera
from domogate.domain.devices import DeviceKind
from domogate.domain.faults import DeviceOffline, DeviceRefused, DeviceTimeout
from domogate.domain.states import CameraState, Report
from domogate.drivers.mqtt import MqttBroker
from domogate.drivers.mqtt.module import DrivenModule
from domogate.drivers.mqtt.options import find_option_problems
from domogate.drivers.mqtt.payloads import Unreadable
from domogate.drivers.mqtt.pictures import CameraPictures, read_picture
from domogate.ports import Picture
from support.driver_bench import PATIENCE, PLANT
from support.mosquitto import DeviceClient, Mosquitto
from support.mqtt_setup import MqttSetup, attached_module, running_driver

JPEG, PNG = b"\xff\xd8\xff\xe0" + b"j" * 50, b"\x89PNG\r\n\x1a\n" + b"p" * 50


def options(base: str, **more: object) -> dict[str, object]:
    return {
        "dialect": "generic",
        "state": {"on": {"topic": f"{base}/state"}},
        "command": {"on": {"topic": f"{base}/set"}},
        "picture": f"{base}/image",
        **more,
    }


def seen(number: int) -> Picture:
    return Picture("image/jpeg", b"\xff\xd8\xff%d" % number)


class TestPictures:
    def test_the_newest_since_it_is_on_counts(self) -> None:
        pictures = CameraPictures()
        pictures.receive(seen(1), 100.0)
        assert pictures.find_newest() is None
        pictures.set_on(True, 110.0)
        assert pictures.is_on
        assert pictures.find_newest() is None
        pictures.receive(seen(2), 111.0)
        pictures.receive(seen(3), 112.0)
        pictures.set_on(True, 120.0)
        assert pictures.find_newest() == seen(3)

    def test_one_may_come_shortly_before_the_camera_says_that_it_is_on(self) -> None:
        pictures = CameraPictures()
        pictures.receive(seen(1), 109.0)
        pictures.set_on(True, 110.0)
        assert pictures.find_newest() == seen(1)

    def test_one_from_the_last_time_does_not_count(self) -> None:
        pictures = CameraPictures()
        pictures.set_on(True, 100.0)
        pictures.receive(seen(1), 101.0)
        pictures.set_on(False, 101.5)
        pictures.set_on(True, 102.0)
        assert pictures.find_newest() is None

    def test_only_jpeg_and_png_are_pictures(self) -> None:
        assert read_picture(JPEG) == Picture("image/jpeg", JPEG)
        assert read_picture(PNG) == Picture("image/png", PNG)
        for payload in (b"GIF89a", b"<svg/>", b"\xff\xd8", b"ON"):
            with pytest.raises(Unreadable):
                read_picture(payload)


class TestTheOption:
    @pytest.mark.parametrize(
        ("kind", "given", "words"),
        [
            (DeviceKind.LIGHT, options("x"), "has no pictures"),
            (DeviceKind.AUDIOVIDEO_UNIT, options("x", state={}, confirm="broker"), "state.on"),
            (DeviceKind.AUDIOVIDEO_UNIT, options("x", picture="x/#"), "not a single topic"),
            (DeviceKind.AUDIOVIDEO_UNIT, options("x", picture=""), "a topic is expected"),
            (DeviceKind.AUDIOVIDEO_UNIT, options("x", picture="x/state"), "anything else"),
            (DeviceKind.AUDIOVIDEO_UNIT, options("x", picture="y", availability={"topic": "y"}), "anything else"),
        ],
    )
    def test_is_checked(self, kind: DeviceKind, given: dict[str, object], words: str) -> None:
        problems = [problem for path, problem in find_option_problems(kind, given) if path == ("picture",)]
        assert len(problems) == 1
        assert words in problems[0]

    def test_is_fine_for_a_camera(self) -> None:
        assert list(find_option_problems(DeviceKind.AUDIOVIDEO_UNIT, options("x"))) == []


class Camera:
    """A camera on the broker: it executes commands, and publishes a picture when the test wants one."""

    def __init__(self, port: int, base: str) -> None:
        self.client = DeviceClient(port)
        self.base = base

    def say(self, on: bool) -> None:
        self.client.publish(f"{self.base}/state", json.dumps(on), retain=True)

    def show(self, payload: bytes) -> None:
        self.client.publish(f"{self.base}/image", payload)


@pytest.mark.slow
class TestACameraOnABroker:
    @pytest.fixture
    def camera(self, broker: Mosquitto, request: pytest.FixtureRequest) -> Iterator[Camera]:
        camera = Camera(broker.port, f"cam-{request.node.name}")
        yield camera
        camera.client.close()

    async def test_gives_the_newest_picture_while_it_is_on(self, broker: Mosquitto, camera: Camera) -> None:
        panel = attached_module(camera.base, DeviceKind.AUDIOVIDEO_UNIT, options(camera.base))

        async def check_modules(bench: MqttSetup, within: float = PATIENCE) -> Picture:
            return await bench.driver.take_picture(PLANT, panel.module.id, bench.clock.now() + within)

        async with running_driver(MqttBroker(url=broker.url)) as bench:
            await bench.attach(panel)
            camera.say(False)
            await bench.recorder.report_of(panel, lambda report: report.state == CameraState(on=False))
            with pytest.raises(DeviceRefused, match="off"):
                await check_modules(bench)
            camera.say(True)
            await bench.recorder.report_of(panel, lambda report: report.state == CameraState(on=True))
            with pytest.raises(DeviceTimeout, match="no picture"):
                await check_modules(bench, 0.05)
            waiting = asyncio.create_task(check_modules(bench))
            await asyncio.sleep(0)
            camera.show(b"not a picture")
            camera.show(JPEG)
            assert await waiting == Picture("image/jpeg", JPEG)
            camera.show(PNG)
            while await check_modules(bench) != Picture("image/png", PNG):
                await asyncio.sleep(0.02)
            camera.say(False)
            await bench.recorder.report_of(panel, lambda report: report.state == CameraState(on=False))
            with pytest.raises(DeviceRefused, match="off"):
                await check_modules(bench)

    async def test_pictures_confirm_no_order(self, broker: Mosquitto, camera: Camera) -> None:
        panel = attached_module(camera.base, DeviceKind.AUDIOVIDEO_UNIT, options(camera.base))
        camera.client.listen(f"{camera.base}/set")
        async with running_driver(MqttBroker(url=broker.url)) as bench:
            await bench.attach(panel)
            camera.say(False)
            await bench.recorder.report_of(panel, lambda report: report.state == CameraState(on=False))
            ordered: asyncio.Task[Report] = asyncio.create_task(bench.driver.execute(bench.order(panel, SwitchCamera(on=True))))
            await bench.recorder.until(lambda: len(camera.client.received) == 1)
            camera.show(JPEG)
            driven = bench.driver._plants[PLANT][panel.module.id].module
            assert isinstance(driven, DrivenModule)
            await bench.recorder.until(lambda: driven.pictures is not None and driven.pictures._newest is not None)
            await asyncio.sleep(0.02)
            assert not ordered.done()
            camera.say(True)
            assert (await ordered).state == CameraState(on=True)

    async def test_without_the_option_there_are_none(self, broker: Mosquitto, camera: Camera) -> None:
        without = options(camera.base)
        del without["picture"]
        panel = attached_module(camera.base, DeviceKind.AUDIOVIDEO_UNIT, without)
        async with running_driver(MqttBroker(url=broker.url)) as bench:
            await bench.attach(panel)
            with pytest.raises(DeviceRefused, match="do not name the topic"):
                await bench.driver.take_picture(PLANT, panel.module.id, bench.clock.now() + 5.0)

    async def test_one_who_waits_is_told_when_the_module_is_driven_no_more(self, broker: Mosquitto, camera: Camera) -> None:
        panel = attached_module(camera.base, DeviceKind.AUDIOVIDEO_UNIT, options(camera.base))
        async with running_driver(MqttBroker(url=broker.url)) as bench:
            await bench.attach(panel)
            camera.say(True)
            await bench.recorder.report_of(panel, lambda report: report.state == CameraState(on=True))
            waiting = asyncio.create_task(bench.driver.take_picture(PLANT, panel.module.id, bench.clock.now() + 30.0))
            await asyncio.sleep(0.05)
            await bench.attach()
            with pytest.raises(DeviceOffline):
                await waiting
