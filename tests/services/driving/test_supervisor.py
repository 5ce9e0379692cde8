import asyncio
import random
from collections.abc import Callable, Sequence
from functools import partial

import pytest

from domogate.domain.commands import SetLight
from domogate.domain.devices import DeviceKind
from domogate.domain.faults import DeviceOffline
from domogate.domain.ids import Id
from domogate.domain.reachability import AbsenceReason
from domogate.ports import AttachedModule, ReportSink
from domogate.services.driving import DriverHealth, Driving
from domogate.services.driving.supervisor import DriverCondition, Supervisor, absence_after, describe
from support.clocks import NOON, ManualClock
from support.device_store import FakeStore
from support.devices import FakeDriver, make_id, make_module, make_order
from support.driving_setup import running_driving
from support.log_lines import capture_logs

pytestmark = pytest.mark.usefixtures("virtual_time")

LAMP = make_module(DeviceKind.LIGHT, make_id(100), driver="mqtt")
SIMULATED = make_module(DeviceKind.LIGHT, make_id(101))
ON = SetLight(on=True)


class NoPause(random.Random):
    """Remembers the longest possible pause, and makes no pause."""

    def __init__(self) -> None:
        super().__init__(1)
        self.longest: list[float] = []

    def uniform(self, a: float, b: float) -> float:
        self.longest.append(b)
        return 0.0


@pytest.fixture
def mqtt(clock: ManualClock) -> FakeDriver:
    return FakeDriver(clock, "mqtt")


@pytest.fixture
def simulator(clock: ManualClock) -> FakeDriver:
    return FakeDriver(clock)


@pytest.fixture
def chance() -> NoPause:
    return NoPause()


async def until(check: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not check():
            await asyncio.sleep(0.1)


def health(driving: Driving, name: str = "mqtt") -> DriverHealth:
    return next(each for each in driving.list_drivers() if each.name == name)


def runs(supervisor: Supervisor, driver: FakeDriver, starts: int) -> bool:
    return driver.starts == starts and supervisor.find(driver.name) is driver


class TestADriverThatIsReplaced:
    async def test_its_plants_go_to_the_new_driver(self, store: FakeStore, mqtt: FakeDriver, clock: ManualClock) -> None:
        plant, changed = store.add_plant(LAMP), FakeDriver(clock, "mqtt")
        async with running_driving(store, mqtt) as driving:
            await driving.settled()
            await driving.replace_driver("mqtt", changed)
            await until(lambda: plant in changed.attached)
            await driving.settled()
            assert (await driving.execute(make_order(plant, LAMP.id, ON))).state == changed.answer
            assert (mqtt.running, mqtt.orders) == (False, [])
            replaced = health(driving)
            assert (replaced.condition, replaced.restarts, replaced.last_error) == (DriverCondition.RUNNING, 0, "")
        assert not changed.running

    async def test_before_the_start_only_the_new_driver_is_started(self, mqtt: FakeDriver, clock: ManualClock) -> None:
        driving, changed = Driving(FakeStore(), {"mqtt": mqtt}, clock, simulated_plants=1), FakeDriver(clock, "mqtt")
        await driving.replace_driver("mqtt", changed)
        await driving.start()
        assert (mqtt.starts, changed.starts) == (0, 1)
        await driving.stop()


class TestADriverThatFails:
    async def test_is_started_again_and_gets_its_plants_back(self, store: FakeStore, mqtt: FakeDriver, chance: NoPause) -> None:
        plant = store.add_plant(LAMP)
        with capture_logs():
            async with running_driving(store, mqtt, chance=chance) as driving:
                await driving.settled()
                mqtt.failure.set_result(ConnectionError("the broker is gone"))
                await until(lambda: mqtt.starts == 2 and plant in mqtt.attached)
                await driving.settled()
                assert (await driving.execute(make_order(plant, LAMP.id, ON))).state == mqtt.answer
                healthy = health(driving)
        assert (healthy.condition, healthy.restarts, healthy.plants) == (DriverCondition.RUNNING, 1, 1)
        assert healthy.last_error == "ConnectionError: the broker is gone"

    async def test_leaves_its_modules_offline_with_a_reason_and_no_others(
        self, store: FakeStore, mqtt: FakeDriver, simulator: FakeDriver
    ) -> None:
        plant = store.add_plant(LAMP, SIMULATED)
        with capture_logs():
            async with running_driving(store, simulator, mqtt, chance=random.Random(1)) as driving:
                await driving.settled()
                mqtt.failure.set_result(ConnectionError("the broker is gone"))
                await until(lambda: store.find_state(plant, LAMP.id) is not None)
                assert not store.state_of(plant, LAMP.id).reachable
                absence = store.absence_of(plant, LAMP.id)
                assert (absence.why, absence.evidence) == (
                    AbsenceReason.CONNECTION_LOST,
                    "ConnectionError: the broker is gone",
                )
                assert store.find_state(plant, SIMULATED.id) is None
                with pytest.raises(DeviceOffline):
                    await driving.execute(make_order(plant, LAMP.id, ON))
                answer = await driving.read(plant, LAMP.id, NOON + 5)
                assert answer.absence is not None
                assert (answer.reachable, answer.absence.why) == (False, AbsenceReason.CONNECTION_LOST)
                assert (await driving.execute(make_order(plant, SIMULATED.id, ON))).reachable

    async def test_waits_longer_each_time_up_to_a_minute_and_starts_again_with_the_shortest_after_a_healthy_minute(
        self, mqtt: FakeDriver, clock: ManualClock, chance: NoPause
    ) -> None:
        supervisor = Supervisor(
            {"mqtt": mqtt}, clock, sink_of=lambda name: no_one, on_up=no_one, on_down=no_one, random_source=chance
        )
        with capture_logs():
            await supervisor.start()
            for number in range(1, 10):
                await until(partial(runs, supervisor, mqtt, number))
                mqtt.failure.set_result(OSError("gone"))
            await until(partial(runs, supervisor, mqtt, 10))
            clock.advance(61)
            mqtt.failure.set_result(OSError("gone"))
            await until(lambda: mqtt.starts == 11)
            await supervisor.stop()
        assert chance.longest == [1, 2, 4, 8, 16, 32, 60, 60, 60, 1]

    async def test_may_fail_by_raising_too(
        self, store: FakeStore, mqtt: FakeDriver, chance: NoPause, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async def raise_at_once() -> Exception:
            monkeypatch.setattr(mqtt, "wait_failed", FakeDriver.wait_failed.__get__(mqtt))
            raise ZeroDivisionError("a bug")

        monkeypatch.setattr(mqtt, "wait_failed", raise_at_once)
        with capture_logs():
            async with running_driving(store, mqtt, chance=chance) as driving:
                await until(lambda: mqtt.starts == 2)
                assert health(driving).last_error == "ZeroDivisionError: a bug"


class TestADriverThatDoesNotStart:
    async def test_does_not_hold_up_the_gateway_nor_another(
        self, store: FakeStore, mqtt: FakeDriver, simulator: FakeDriver, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async def hang(report: object) -> None:
            await asyncio.Event().wait()

        monkeypatch.setattr(mqtt, "start", hang)
        plant = store.add_plant(LAMP, SIMULATED)
        with capture_logs():
            async with running_driving(store, mqtt, simulator) as driving:
                await driving.settled()
                assert (await driving.execute(make_order(plant, SIMULATED.id, ON))).reachable
                assert asyncio.get_running_loop().time() == pytest.approx(2), "for so long the gateway waits for all of them"
                assert health(driving).condition is DriverCondition.STARTING
                assert store.absence_of(plant, LAMP.id).evidence == "the driver 'mqtt' is starting"

    async def test_because_of_its_settings_says_so(
        self, store: FakeStore, mqtt: FakeDriver, simulator: FakeDriver, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async def refuse(report: object) -> None:
            raise ValueError("no host in mqtt_brokers")

        monkeypatch.setattr(mqtt, "start", refuse)
        plant = store.add_plant(LAMP)
        with capture_logs():
            async with running_driving(store, mqtt, simulator) as driving:
                await driving.settled()
                absence = store.absence_of(plant, LAMP.id)
        assert (absence.why, absence.evidence) == (AbsenceReason.MISCONFIGURED, "ValueError: no host in mqtt_brokers")

    async def test_that_never_returns_is_cancelled_and_retried(
        self, store: FakeStore, mqtt: FakeDriver, chance: NoPause, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        start, tries = mqtt.start, list[ReportSink]()

        async def hang_first(report: ReportSink) -> None:
            tries.append(report)
            if len(tries) == 1:
                await asyncio.Event().wait()
            await start(report)

        monkeypatch.setattr(mqtt, "start", hang_first)
        with capture_logs():
            async with running_driving(store, mqtt, chance=chance) as driving:
                await until(lambda: health(driving).condition is DriverCondition.RUNNING)
                assert health(driving).last_error.startswith("TimeoutError")
                assert 30 <= asyncio.get_running_loop().time() < 31

    async def test_and_is_not_known_at_all_has_misconfigured_modules(self, store: FakeStore, simulator: FakeDriver) -> None:
        plant = store.add_plant(LAMP, SIMULATED)
        with capture_logs():
            async with running_driving(store, simulator) as driving:
                await driving.settled()
        absence = store.absence_of(plant, LAMP.id)
        assert (absence.why, absence.evidence) == (AbsenceReason.MISCONFIGURED, "no driver 'mqtt' is configured")


class TestADriverThatDoesNotStop:
    async def test_does_not_keep_the_gateway_from_stopping(
        self, store: FakeStore, mqtt: FakeDriver, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async def hang() -> None:
            await asyncio.Event().wait()

        monkeypatch.setattr(mqtt, "stop", hang)
        with capture_logs() as logs:
            async with running_driving(store, mqtt):
                pass
        assert [entry["event"] for entry in logs] == ["driver did not stop"]
        assert asyncio.get_running_loop().time() == pytest.approx(10)


class TestAPlantThatHangsWhenAttached:
    async def test_times_out_is_retried_later_and_delays_no_other(
        self, store: FakeStore, mqtt: FakeDriver, simulator: FakeDriver, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        other_lamp = make_module(DeviceKind.LIGHT, driver="mqtt")
        bad, good = store.add_plant(LAMP, SIMULATED, plant_id=make_id(1)), store.add_plant(other_lamp, plant_id=make_id(2))
        attach, hanging = mqtt.attach, True

        async def hang_for_one(plant_id: Id, modules: Sequence[AttachedModule]) -> None:
            if plant_id == bad and hanging:
                await asyncio.Event().wait()
            await attach(plant_id, modules)

        monkeypatch.setattr(mqtt, "attach", hang_for_one)
        with capture_logs():
            async with running_driving(store, mqtt, simulator) as driving:
                assert (await driving.execute(make_order(good, other_lamp.id, ON))).reachable
                assert (await driving.execute(make_order(bad, SIMULATED.id, ON))).reachable
                await until(lambda: store.find_state(bad, LAMP.id) is not None)
                assert not store.state_of(bad, LAMP.id).reachable
                hanging = False
                await until(lambda: bad in mqtt.attached)
                await driving.settled()
                assert (await driving.execute(make_order(bad, LAMP.id, ON))).reachable


async def no_one(*_: object) -> None:
    """Does nothing."""


class TestTheWordsOfAnError:
    def test_fit_into_a_line(self) -> None:
        assert describe(OSError("two\nlines")) == "OSError: two lines"
        assert describe(TimeoutError()) == "TimeoutError"
        assert len(describe(OSError("x" * 1000))) == 200

    @pytest.mark.parametrize(
        ("error", "why"),
        [
            (OSError("x"), AbsenceReason.CONNECTION_LOST),
            (TimeoutError("x"), AbsenceReason.CONNECTION_LOST),
            (ValueError("x"), AbsenceReason.MISCONFIGURED),
            (KeyError("x"), AbsenceReason.MISCONFIGURED),
        ],
    )
    def test_tell_what_waiting_can_mend_from_what_it_cannot(self, error: Exception, why: AbsenceReason) -> None:
        assert absence_after(error, NOON).why is why
