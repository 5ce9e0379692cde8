"""Pictures from a driver to a caller: limited in size, with a deadline, and shared by concurrent callers."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from domogate.domain.devices import DeviceKind
from domogate.domain.faults import DeviceOffline, DeviceRefused, DeviceTimeout
from domogate.domain.ids import Id
from domogate.domain.injections import InjectedFault, Injection
from domogate.domain.states import CameraState
from domogate.fabric.in_process import InProcessFabric
from domogate.ports import Picture, StoredState
from domogate.services.driving import Driving
from domogate.services.driving.calls import LARGEST_PICTURE
from domogate.services.plants.control import Control
from domogate.services.plants.read_model import view_module
from support.clocks import NOON, ManualClock
from support.device_store import FakeStore
from support.devices import FakeDriver, make_id, make_module
from support.log_lines import capture_logs

pytestmark = pytest.mark.usefixtures("virtual_time")

PANEL = make_module(DeviceKind.AUDIOVIDEO_UNIT, make_id(100))
PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 100
GOOD = Picture("image/png", PNG)


class CameraDriver(FakeDriver):
    """Gives the picture that the test has set."""

    def __init__(self, clock: ManualClock) -> None:
        super().__init__(clock)
        self.picture = GOOD
        self.looks = 0

    async def take_picture(self, plant_id: Id, module_id: Id, deadline: float) -> Picture:
        self.looks += 1
        await self._answer(plant_id, module_id)
        return self.picture


class PictureSetup:
    """One panel, its driver, and everything between the driver and a service."""

    def __init__(self) -> None:
        self.clock = ManualClock(NOON)
        self.store = FakeStore()
        self.driver = CameraDriver(self.clock)
        self.driving = Driving(self.store, {"simulator": self.driver}, self.clock, simulated_plants=5)
        self.fabric = InProcessFabric(self.clock)
        self.fabric.serve(self.driving)
        self.store.listen(self.driving.apply)
        self.plant_id = self.store.add_plant(PANEL)
        self.control = Control(self.fabric, self.store, self.clock, deadline=5.0, max_age=30.0, max_ages={})
        self.view = view_module(self.plant_id, PANEL, StoredState(CameraState(on=True), True, self.clock.now()))

    async def look(self, seconds: float = 5.0) -> Picture:
        return await self.fabric.take_picture(self.plant_id, PANEL.id, self.clock.now() + seconds)


@asynccontextmanager
async def _started() -> AsyncIterator[PictureSetup]:
    setup = PictureSetup()
    await setup.driving.start()
    await setup.driving.start_plants()
    await setup.driving.settled()
    try:
        yield setup
    finally:
        await setup.driving.stop()


@pytest.fixture
async def setup() -> AsyncIterator[PictureSetup]:
    async with _started() as started:
        yield started


class TestAPicture:
    async def test_comes_as_the_driver_gave_it_and_nothing_is_recorded(self, setup: PictureSetup) -> None:
        assert await setup.look() == GOOD
        assert setup.store.reports == []

    @pytest.mark.parametrize("fault", [DeviceOffline("gone"), DeviceTimeout("silent"), DeviceRefused("off")])
    async def test_what_the_driver_says_instead_is_passed_on(self, setup: PictureSetup, fault: Exception) -> None:
        setup.driver.trouble = fault
        with pytest.raises(type(fault), match=str(fault)):
            await setup.look()

    async def test_a_driver_that_fails_refuses_and_the_log_says_why(self, setup: PictureSetup) -> None:
        setup.driver.trouble = RuntimeError("a bug")
        with capture_logs() as logs, pytest.raises(DeviceRefused, match="driver of the device failed"):
            await setup.look()
        assert logs[0]["event"] == "driver failed"

    @pytest.mark.parametrize(
        "picture",
        [
            Picture("image/svg+xml", b"<svg/>"),
            Picture("text/html", b"<html>"),
            Picture("image/png", b"<html>"),
            Picture("image/jpeg", PNG),
            Picture("image/png", b""),
            Picture("image/png", PNG + b"\0" * LARGEST_PICTURE),
        ],
        ids=lambda picture: f"{picture.media_type} of {len(picture.content)} bytes",
    )
    async def test_that_is_none_or_too_large_is_not_handed_on(self, setup: PictureSetup, picture: Picture) -> None:
        setup.driver.picture = picture
        with capture_logs() as logs, pytest.raises(DeviceRefused, match="not valid"):
            await setup.look()
        assert logs[0]["event"] == "answer refused"

    async def test_that_does_not_come_is_given_up_at_the_deadline(self, setup: PictureSetup) -> None:
        setup.driver.pause = asyncio.Event()
        with pytest.raises(DeviceTimeout):
            await setup.look(5.0)
        assert 5 <= asyncio.get_running_loop().time() < 5.25
        await asyncio.sleep(0.01)
        assert setup.driver.cancelled == 1

    async def test_is_not_asked_for_when_the_time_is_up_already(self, setup: PictureSetup) -> None:
        with pytest.raises(DeviceTimeout):
            await setup.look(0.0)
        assert setup.driver.looks == 0

    async def test_of_a_module_that_is_not_there_is_offline(self, setup: PictureSetup) -> None:
        with pytest.raises(DeviceOffline):
            await setup.fabric.take_picture(setup.plant_id, make_id(7), setup.clock.now() + 5.0)

    async def test_without_a_host_is_offline(self, setup: PictureSetup) -> None:
        with pytest.raises(DeviceOffline):
            await InProcessFabric(setup.clock).take_picture(setup.plant_id, PANEL.id, setup.clock.now() + 5.0)


class TestInjectedFaults:
    @pytest.mark.parametrize(("fault", "raised"), [(InjectedFault.OFFLINE, DeviceOffline), (InjectedFault.SLOW, DeviceTimeout)])
    async def test_cover_pictures_too(self, setup: PictureSetup, fault: InjectedFault, raised: type[Exception]) -> None:
        await setup.store.inject(setup.plant_id, (Injection(fault, PANEL.id),))
        await setup.driving.settled()
        with pytest.raises(raised):
            await setup.look()
        assert setup.driver.looks == 0


class TestThoseWhoLookAtOnce:
    async def test_see_one_picture(self, setup: PictureSetup) -> None:
        pictures = await asyncio.gather(*(setup.control.take_picture(setup.view) for _ in range(20)))
        assert set(map(id, pictures)) == {id(GOOD)}
        assert setup.driver.looks == 1
        await setup.control.take_picture(setup.view)
        assert setup.driver.looks == 2

    async def test_all_get_one_failure_and_the_next_caller_asks_again(self, setup: PictureSetup) -> None:
        setup.driver.trouble = DeviceRefused("off")
        answers = await asyncio.gather(*(setup.control.take_picture(setup.view) for _ in range(3)), return_exceptions=True)
        assert [type(answer) for answer in answers] == [DeviceRefused] * 3
        setup.driver.trouble = None
        assert await setup.control.take_picture(setup.view) == GOOD

    async def test_a_caller_that_leaves_does_not_end_it_for_the_others(self, setup: PictureSetup) -> None:
        setup.driver.pause = asyncio.Event()
        leaving, staying = (asyncio.create_task(setup.control.take_picture(setup.view)) for _ in range(2))
        while not setup.driver.looks:
            await asyncio.sleep(0)
        leaving.cancel()
        setup.driver.pause.set()
        assert await staying == GOOD
