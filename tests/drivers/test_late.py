"""A driver without connections is built when a plant needs it."""

import asyncio
from collections.abc import Sequence

import pytest

from domogate.domain.faults import DeviceOffline
from domogate.domain.ids import new_id
from domogate.domain.states import Report
from domogate.drivers import build_drivers, make_settings
from domogate.drivers.late import LateDriver
from domogate.drivers.mqtt import MqttBroker, MqttSettings
from domogate.drivers.mqtt.driver import Mqtt
from domogate.drivers.simulator.simulator import Simulator
from support.clocks import NOON, ManualClock

PLANT, OTHER_PLANT, MODULE = new_id(), new_id(), new_id()


async def ignore(reports: Sequence[Report]) -> None:
    """A sink of reports that keeps nothing."""


class BuiltDriver(Simulator):
    """A simulator that counts its starts and stops, and fails when told."""

    def __init__(self) -> None:
        super().__init__(ManualClock(NOON), seed=1, tick=1.0)
        self.starts = self.stops = 0
        self.failed = asyncio.Event()

    async def start(self, report: object) -> None:
        self.starts += 1

    async def stop(self) -> None:
        self.stops += 1

    async def wait_failed(self) -> Exception:
        await self.failed.wait()
        return RuntimeError("broken")


class TestBuildDrivers:
    async def test_a_driver_without_connections_is_late(self) -> None:
        drivers = build_drivers(ManualClock(NOON), make_settings({}))
        assert {name for name, driver in drivers.items() if isinstance(driver, LateDriver)} == {"mqtt", "openwebnet"}

    async def test_a_driver_with_a_connection_is_built_at_once(self) -> None:
        settings = {"mqtt": MqttSettings(brokers=(MqttBroker(url="mqtt://127.0.0.1"),))}
        assert isinstance(build_drivers(ManualClock(NOON), settings)["mqtt"], Mqtt)


class TestLateDriver:
    @pytest.fixture
    def built(self) -> list[BuiltDriver]:
        return []

    @pytest.fixture
    def driver(self, built: list[BuiltDriver]) -> LateDriver:
        def build() -> BuiltDriver:
            built.append(BuiltDriver())
            return built[-1]

        return LateDriver("late", build)

    async def test_is_built_and_started_once_by_the_first_plants(self, driver: LateDriver, built: list[BuiltDriver]) -> None:
        await driver.start(ignore)
        assert built == []
        await asyncio.gather(driver.attach(PLANT, []), driver.attach(OTHER_PLANT, []))
        assert [one.starts for one in built] == [1]

    async def test_without_plants_it_drives_nothing_and_stops(self, driver: LateDriver, built: list[BuiltDriver]) -> None:
        await driver.start(ignore)
        await driver.detach(PLANT)
        with pytest.raises(DeviceOffline):
            await driver.read(PLANT, MODULE, NOON + 1)
        await driver.stop()
        assert built == []

    async def test_a_failure_of_the_built_driver_is_its_failure(self, driver: LateDriver, built: list[BuiltDriver]) -> None:
        await driver.start(ignore)
        failure = asyncio.create_task(driver.wait_failed())
        await driver.attach(PLANT, [])
        built[0].failed.set()
        assert str(await failure) == "broken"

    async def test_is_built_again_after_a_stop(self, driver: LateDriver, built: list[BuiltDriver]) -> None:
        await driver.start(ignore)
        await driver.attach(PLANT, [])
        await driver.stop()
        await driver.start(ignore)
        await driver.attach(PLANT, [])
        assert [(one.starts, one.stops) for one in built] == [(1, 1), (1, 0)]

    async def test_a_driver_that_is_being_built_is_stopped_too(
        self, driver: LateDriver, built: list[BuiltDriver], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        begun, go_on = asyncio.Event(), asyncio.Event()

        async def start_slowly(_driver: BuiltDriver, _report: object) -> None:
            begun.set()
            await go_on.wait()

        monkeypatch.setattr(BuiltDriver, "start", start_slowly)
        await driver.start(ignore)
        attaching = asyncio.create_task(driver.attach(PLANT, []))
        await begun.wait()
        stopping = asyncio.create_task(driver.stop())
        await asyncio.sleep(0)
        go_on.set()
        await asyncio.gather(attaching, stopping, return_exceptions=True)
        assert [one.stops for one in built] == [1]
