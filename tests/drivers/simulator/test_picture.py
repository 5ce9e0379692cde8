"""Pictures of a simulated panel: small, valid, and different by hour, weather and time."""

import io

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, ImageStat

from domogate.domain.commands import SwitchCamera
from domogate.domain.devices import DeviceKind
from domogate.domain.faults import DeviceOffline, DeviceRefused, DeviceTimeout
from domogate.domain.states import CameraState
from domogate.drivers.simulator.picture import HEIGHT, WIDTH, draw_entrance
from domogate.drivers.simulator.seeded_random import SeededRandom
from domogate.drivers.simulator.simulator import Simulator
from domogate.drivers.simulator.weather import Weather
from domogate.ports import AttachedModule
from support.clocks import NOON, ManualClock
from support.devices import make_attached, make_id, make_order
from support.examples import examples

HOUR = 3600.0
PLANT = make_id(1)


def decode(content: bytes) -> Image.Image:
    picture = Image.open(io.BytesIO(content))
    picture.load()
    return picture.convert("RGB")


def brightness(content: bytes, box: tuple[int, int, int, int] = (0, 0, WIDTH, HEIGHT - 16)) -> float:
    return sum(ImageStat.Stat(decode(content).crop(box)).mean) / 3


def view(name: str, at: float, seed: int = 1) -> bytes:
    return draw_entrance(SeededRandom(seed, "panel"), Weather(seed), name, at)


class TestThePicture:
    def test_is_a_small_png_of_its_size(self) -> None:
        content = view("Entrance", NOON)
        assert decode(content).size == (WIDTH, HEIGHT)
        assert len(content) < 30_000

    def test_is_bright_at_noon_and_dark_at_night_with_the_lamp_lit(self) -> None:
        noon, night = view("Entrance", NOON), view("Entrance", NOON + 12 * HOUR)
        assert brightness(noon) > 2 * brightness(night)
        lamp = (128, 92, 137, 101)
        assert brightness(night, lamp) > 150
        assert brightness(night, lamp) > brightness(noon, lamp)

    def test_shows_the_time_and_the_name(self) -> None:
        band = (0, HEIGHT - 16, WIDTH, HEIGHT)
        one, later, other = (
            decode(view(name, at)).crop(band) for name, at in (("Gate", NOON), ("Gate", NOON + 1.0), ("Garden", NOON))
        )
        left, right = (0, 0, 150, 16), (170, 0, WIDTH, 16)
        assert one.crop(left).tobytes() == later.crop(left).tobytes()
        assert one.crop(right).tobytes() != later.crop(right).tobytes()
        assert one.crop(left).tobytes() != other.crop(left).tobytes()
        assert one.crop(right).tobytes() == other.crop(right).tobytes()

    def test_is_the_same_for_the_same_seed_and_time(self) -> None:
        assert view("Gate", NOON, 7) == view("Gate", NOON, 7)

    def test_somebody_is_there_at_times_and_at_times_nobody_is(self) -> None:
        someone = {decode(view("Gate", NOON + 120.0 * n)).getpixel((238, 128)) for n in range(12)}
        assert len(someone) > 1

    @given(st.text(max_size=60), st.floats(0, 4e9), st.integers(0, 9))
    @settings(max_examples=examples(40), deadline=None)
    def test_can_be_drawn_for_every_name_and_time(self, name: str, at: float, seed: int) -> None:
        assert decode(view(name, at, seed)).size == (WIDTH, HEIGHT)


class TestASimulatedCamera:
    @pytest.fixture
    def clock(self) -> ManualClock:
        return ManualClock(NOON)

    @pytest.fixture
    def simulator(self, clock: ManualClock) -> Simulator:
        return Simulator(clock, seed=1, tick=3600.0)

    async def test_gives_pictures_while_it_is_on_and_no_longer(self, simulator: Simulator, clock: ManualClock) -> None:
        panel = make_attached(DeviceKind.AUDIOVIDEO_UNIT)
        await simulator.attach(PLANT, [panel])
        with pytest.raises(DeviceRefused, match="off"):
            await simulator.take_picture(PLANT, panel.module.id, clock.now() + 5)
        await simulator.execute(make_order(PLANT, panel.module.id, SwitchCamera(on=True)))
        clock.advance(59.0)
        picture = await simulator.take_picture(PLANT, panel.module.id, clock.now() + 5)
        assert picture.media_type == "image/png"
        decode(picture.content)
        clock.advance(1.0)
        with pytest.raises(DeviceRefused, match="off"):
            await simulator.take_picture(PLANT, panel.module.id, clock.now() + 5)

    async def test_shows_the_sky_of_simulated_time(self, clock: ManualClock) -> None:
        fast = Simulator(clock, seed=1, tick=3600.0, speed=3600.0)
        clock.advance(12.0)
        panel = make_attached(DeviceKind.AUDIOVIDEO_UNIT, CameraState(on=True))
        panel = AttachedModule(panel.module, panel.last, reported_at=clock.now())
        await fast.attach(PLANT, [panel])
        night = await fast.take_picture(PLANT, panel.module.id, clock.now() + 5)
        assert brightness(night.content) < 80

    async def test_under_a_new_name_shows_that_name(self, simulator: Simulator, clock: ManualClock) -> None:
        panel = make_attached(DeviceKind.AUDIOVIDEO_UNIT, CameraState(on=True))
        module_id = panel.module.id
        await simulator.attach(PLANT, [panel])
        before = await simulator.take_picture(PLANT, module_id, clock.now() + 5)
        renamed = msgspec.structs.replace(panel, module=msgspec.structs.replace(panel.module, name="Garden gate"))
        await simulator.attach(PLANT, [renamed])
        assert await simulator.take_picture(PLANT, module_id, clock.now() + 5) != before

    async def test_a_lamp_has_no_pictures(self, simulator: Simulator, clock: ManualClock) -> None:
        lamp = make_attached(DeviceKind.LIGHT)
        await simulator.attach(PLANT, [lamp])
        with pytest.raises(DeviceRefused, match="not a camera"):
            await simulator.take_picture(PLANT, lamp.module.id, clock.now() + 5)

    async def test_that_is_offline_slow_or_unknown_says_so(self, simulator: Simulator, clock: ManualClock) -> None:
        away = make_attached(DeviceKind.AUDIOVIDEO_UNIT, CameraState(on=True), options={"simulate": "offline"})
        slow = make_attached(DeviceKind.AUDIOVIDEO_UNIT, CameraState(on=True), options={"simulate": "slow"})
        await simulator.attach(PLANT, [away, slow])
        with pytest.raises(DeviceOffline):
            await simulator.take_picture(PLANT, away.module.id, clock.now() + 5)
        with pytest.raises(DeviceTimeout):
            await simulator.take_picture(PLANT, slow.module.id, clock.now() + 0.01)
        with pytest.raises(DeviceOffline):
            await simulator.take_picture(PLANT, make_id(99), clock.now() + 5)
