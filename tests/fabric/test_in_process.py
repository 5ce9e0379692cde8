import asyncio

import pytest

from domogate.domain.commands import Order, SwitchPlug
from domogate.domain.faults import DeviceOffline, DeviceRefused, DeviceTimeout
from domogate.domain.ids import Id
from domogate.domain.states import PlugState, Report
from domogate.fabric.in_process import InProcessFabric
from domogate.ports import Picture
from support.clocks import NOON, ManualClock
from support.devices import make_id, make_order

pytestmark = pytest.mark.usefixtures("virtual_time")

PLANT, PLUG = make_id(1), make_id(2)
REPORT = Report(PLANT, PLUG, 0.0, state=PlugState(on=True))


class FakeDriving:
    def __init__(self) -> None:
        self.calls = 0
        self.cancelled = 0
        self.trouble: Exception | None = None
        self.hangs = False

    async def execute(self, order: Order) -> Report:
        return await self._answer()

    async def read(self, plant_id: Id, module_id: Id, deadline: float) -> Report:
        return await self._answer()

    async def take_picture(self, plant_id: Id, module_id: Id, deadline: float) -> Picture:
        raise AssertionError("no test takes a picture")

    async def _answer(self) -> Report:
        self.calls += 1
        if self.trouble is not None:
            raise self.trouble
        if self.hangs:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                self.cancelled += 1
                raise
        return REPORT


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(NOON)


@pytest.fixture
def host() -> FakeDriving:
    return FakeDriving()


@pytest.fixture
def fabric(clock: ManualClock, host: FakeDriving) -> InProcessFabric:
    fabric = InProcessFabric(clock)
    fabric.serve(host)
    return fabric


class TestAnOrder:
    async def test_reaches_the_host_and_its_report_comes_back(self, fabric: InProcessFabric, clock: ManualClock) -> None:
        assert await fabric.execute(make_order(PLANT, PLUG, SwitchPlug(on=True), deadline=clock.now() + 5)) is REPORT

    async def test_is_offline_when_nobody_serves(self, clock: ManualClock) -> None:
        with pytest.raises(DeviceOffline):
            await InProcessFabric(clock).execute(make_order(PLANT, PLUG, SwitchPlug(on=True)))

    async def test_is_not_passed_on_at_or_after_its_deadline(
        self, fabric: InProcessFabric, clock: ManualClock, host: FakeDriving
    ) -> None:
        for deadline in (clock.now(), clock.now() - 1):
            with pytest.raises(DeviceTimeout):
                await fabric.execute(make_order(PLANT, PLUG, SwitchPlug(on=True), deadline=deadline))
        assert host.calls == 0

    async def test_raises_what_the_driver_raised(self, fabric: InProcessFabric, clock: ManualClock, host: FakeDriving) -> None:
        for trouble in (DeviceRefused("no"), DeviceOffline("gone"), TimeoutError("its own")):
            host.trouble = trouble
            with pytest.raises(type(trouble)) as raised:
                await fabric.execute(make_order(PLANT, PLUG, SwitchPlug(on=True), deadline=clock.now() + 5))
            assert raised.value is trouble

    async def test_given_up_by_its_caller_is_cancelled_and_is_no_time_out(
        self, fabric: InProcessFabric, clock: ManualClock, host: FakeDriving
    ) -> None:
        host.hangs = True
        task = asyncio.create_task(fabric.execute(make_order(PLANT, PLUG, SwitchPlug(on=True), deadline=clock.now() + 5)))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert host.cancelled == 1


class TestAQuestion:
    async def test_reaches_the_host_and_its_report_comes_back(self, fabric: InProcessFabric, clock: ManualClock) -> None:
        assert await fabric.read(PLANT, PLUG, clock.now() + 5) is REPORT

    async def test_is_offline_when_nobody_serves(self, clock: ManualClock) -> None:
        with pytest.raises(DeviceOffline):
            await InProcessFabric(clock).read(PLANT, PLUG, clock.now() + 5)

    async def test_is_not_passed_on_after_its_deadline(
        self, fabric: InProcessFabric, clock: ManualClock, host: FakeDriving
    ) -> None:
        with pytest.raises(DeviceTimeout):
            await fabric.read(PLANT, PLUG, clock.now() - 1)
        assert host.calls == 0
