import asyncio

import pytest

from domogate.domain.commands import SetLight
from domogate.domain.devices import DeviceKind
from domogate.domain.faults import DeviceOffline, Internal
from domogate.domain.ids import Id
from domogate.domain.plants import PlantStatus
from domogate.domain.states import LightState, Report
from domogate.ports import StoredPlant, StoredState
from domogate.services.driving import Driving
from support.clocks import NOON, ManualClock
from support.device_store import FakeStore
from support.devices import FakeDriver, make_id, make_module, make_order
from support.driving_setup import running_driving
from support.log_lines import capture_logs

pytestmark = pytest.mark.usefixtures("virtual_time")

LAMP = make_module(DeviceKind.LIGHT, make_id(100))
SECOND_LAMP = make_module(DeviceKind.LIGHT, make_id(101))
ON, OFF = LightState(on=True), LightState(on=False)
SWITCH_ON = SetLight(on=True)


class TestStarting:
    async def test_does_not_wait_for_plants(self, store: FakeStore, driver: FakeDriver) -> None:
        store.add_plant(LAMP)
        driver.attach_pause = asyncio.Event()
        async with running_driving(store, driver):
            assert driver.running
            assert driver.attached == {}

    async def test_attaches_nothing_to_drivers_that_do_not_run_yet(
        self, store: FakeStore, driver: FakeDriver, clock: ManualClock
    ) -> None:
        plant = store.add_plant(LAMP)
        driving = Driving(store, {driver.name: driver}, clock, simulated_plants=5)
        store.listen(driving.apply)
        store.change_plant(plant, LAMP, SECOND_LAMP)
        await driving.settled()
        assert driver.attached == {}
        await driving.start()
        await driving.start_plants()
        await driving.settled()
        assert set(driver.attached[plant]) == {LAMP.id, SECOND_LAMP.id}
        await driving.stop()

    async def test_before_the_plants_start_an_order_starts_its_plant(
        self, store: FakeStore, driver: FakeDriver, clock: ManualClock
    ) -> None:
        wanted, other = store.add_plant(LAMP), store.add_plant(SECOND_LAMP)
        driving = Driving(store, {driver.name: driver}, clock, simulated_plants=5)
        await driving.start()
        await driving.execute(make_order(wanted, LAMP.id, SWITCH_ON))
        await driving.settled()
        assert set(driver.attached) == {wanted}
        await driving.start_plants()
        await driving.settled()
        assert set(driver.attached) == {wanted, other}
        await driving.stop()

    async def test_starts_no_more_simulated_plants_than_allowed(self, store: FakeStore, driver: FakeDriver) -> None:
        plants = sorted(store.add_plant(make_module(DeviceKind.LIGHT)) for _ in range(9))
        async with running_driving(store, driver, simulated_plants=4) as driving:
            await driving.settled()
            assert sorted(driver.attached) == plants[:4]
        assert len(store.loads) == 4

    async def test_starts_every_plant_with_a_real_device(self, store: FakeStore, clock: ManualClock) -> None:
        simulator, mqtt = FakeDriver(clock), FakeDriver(clock, "mqtt")
        for _ in range(4):
            store.add_plant(make_module(DeviceKind.LIGHT))
            store.add_plant(make_module(DeviceKind.LIGHT, driver="mqtt"))
        both = store.add_plant(make_module(DeviceKind.LIGHT), make_module(DeviceKind.LIGHT, driver="mqtt"))
        async with running_driving(store, simulator, mqtt, simulated_plants=2) as driving:
            await driving.settled()
            assert len(mqtt.attached) == 5
            assert len(simulator.attached.keys() - {both}) == 2
            assert both in simulator.attached

    async def test_goes_on_without_a_driver_that_does_not_start(
        self, store: FakeStore, driver: FakeDriver, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        broken = FakeDriver(clock, "broken")

        async def refuse(report: object) -> None:
            raise OSError("no such broker")

        monkeypatch.setattr(broken, "start", refuse)
        stranded = make_module(DeviceKind.LIGHT, driver="broken")
        plant = store.add_plant(LAMP, stranded)
        with capture_logs() as logs:
            async with running_driving(store, broken, driver) as driving:
                with pytest.raises(DeviceOffline):
                    await driving.execute(make_order(plant, stranded.id, SWITCH_ON))
                assert (await driving.execute(make_order(plant, LAMP.id, SWITCH_ON))).state == ON
        assert "error" in [entry["log_level"] for entry in logs]

    async def test_hands_each_module_on_with_its_last_known_state(self, store: FakeStore, driver: FakeDriver) -> None:
        plant = store.add_plant(LAMP, SECOND_LAMP, states={LAMP.id: StoredState(OFF, False, 5.0)})
        async with running_driving(store, driver) as driving:
            await driving.settled()
            modules = driver.attached[plant]
        assert (modules[LAMP.id].last.state, modules[LAMP.id].last.reachable) == (OFF, False)
        assert (modules[SECOND_LAMP.id].last.state, modules[SECOND_LAMP.id].last.reachable) == (None, True)


class TestPlantsThatAreNotDriven:
    async def test_are_started_by_a_question_and_the_least_recently_used_is_stopped(
        self, store: FakeStore, driver: FakeDriver
    ) -> None:
        lamps = [make_module(DeviceKind.LIGHT) for _ in range(3)]
        plants = [store.add_plant(lamp, plant_id=make_id(number)) for number, lamp in enumerate(lamps)]
        async with running_driving(store, driver, simulated_plants=2) as driving:
            await driving.settled()
            await driving.read(plants[0], lamps[0].id, NOON + 5)
            await driving.read(plants[2], lamps[2].id, NOON + 5)
            await driving.settled()
            assert set(driver.attached) == {plants[0], plants[2]}
        assert driver.most_attached == 2

    async def test_are_never_too_many_even_when_all_are_asked_at_once(self, store: FakeStore, driver: FakeDriver) -> None:
        lamps = [make_module(DeviceKind.LIGHT) for _ in range(20)]
        plants = [store.add_plant(lamp) for lamp in lamps]
        async with running_driving(store, driver, simulated_plants=3) as driving:
            orders = [make_order(plant, lamp.id, SWITCH_ON) for plant, lamp in zip(plants, lamps, strict=True)]
            await asyncio.gather(*(driving.execute(order) for order in orders), *(driving.execute(order) for order in orders))
            await driving.settled()
            assert len(driver.attached) == 3
        assert driver.most_attached == 3
        assert len(store.reports) == 20

    async def test_wait_for_room_while_all_driven_plants_are_busy(self, store: FakeStore, driver: FakeDriver) -> None:
        busy, other = store.add_plant(LAMP, plant_id=make_id(1)), store.add_plant(SECOND_LAMP, plant_id=make_id(2))
        driver.pause = asyncio.Event()
        async with running_driving(store, driver, simulated_plants=1) as driving:
            first = asyncio.create_task(driving.execute(make_order(busy, LAMP.id, SWITCH_ON)))
            while not driver.orders:
                await asyncio.sleep(0)
            second = asyncio.create_task(driving.execute(make_order(other, SECOND_LAMP.id, SWITCH_ON)))
            await asyncio.sleep(0.002)
            assert set(driver.attached) == {busy}
            driver.pause.set()
            await asyncio.gather(first, second)
        assert driver.most_attached == 1
        assert len(store.loads) == 2

    async def test_are_attached_with_the_newest_if_they_change_while_they_wait(
        self, store: FakeStore, driver: FakeDriver
    ) -> None:
        lamp = make_module(DeviceKind.LIGHT)
        busy, other = store.add_plant(LAMP, plant_id=make_id(1)), store.add_plant(lamp, plant_id=make_id(2))
        driver.pause = asyncio.Event()
        async with running_driving(store, driver, simulated_plants=1) as driving:
            first = asyncio.create_task(driving.execute(make_order(busy, LAMP.id, SWITCH_ON)))
            while not driver.orders:
                await asyncio.sleep(0)
            second = asyncio.create_task(driving.read(other, SECOND_LAMP.id, NOON + 5))
            await asyncio.sleep(0.002)
            store.change_plant(other, SECOND_LAMP)
            driver.pause.set()
            await asyncio.gather(first, second)
            assert set(driver.attached[other]) == {SECOND_LAMP.id}

    async def test_continue_from_the_last_reports_before_they_stopped(self, store: FakeStore, driver: FakeDriver) -> None:
        plant, other = store.add_plant(LAMP), store.add_plant(SECOND_LAMP)
        async with running_driving(store, driver, simulated_plants=1) as driving:
            await driving.read(plant, LAMP.id, NOON + 5)
            await driver.report([Report(plant, LAMP.id, NOON, state=OFF)])
            await driving.read(other, SECOND_LAMP.id, NOON + 5)
            await driving.read(plant, LAMP.id, NOON + 5)
            assert driver.attached[plant][LAMP.id].last.state == OFF


class TestAPlantThatChanges:
    async def test_gets_its_new_modules_attached(self, store: FakeStore, driver: FakeDriver) -> None:
        plant = store.add_plant(LAMP)
        async with running_driving(store, driver) as driving:
            await driving.settled()
            store.change_plant(plant, LAMP, SECOND_LAMP)
            assert (await driving.execute(make_order(plant, SECOND_LAMP.id, SWITCH_ON))).state == ON
            await driving.settled()
            assert set(driver.attached[plant]) == {LAMP.id, SECOND_LAMP.id}

    async def test_gets_new_options_before_the_next_question_is_asked(self, store: FakeStore, driver: FakeDriver) -> None:
        plant = store.add_plant(LAMP)
        async with running_driving(store, driver) as driving:
            await driving.settled()
            store.change_plant(plant, make_module(DeviceKind.LIGHT, LAMP.id, options={"simulate": "offline"}))
            await driving.read(plant, LAMP.id, NOON + 5)
            assert driver.attached[plant][LAMP.id].module.options == {"simulate": "offline"}

    async def test_is_attached_with_the_newest_even_if_it_changes_while_being_attached(
        self, store: FakeStore, driver: FakeDriver
    ) -> None:
        plant = store.add_plant(LAMP)
        driver.attach_pause = asyncio.Event()
        async with running_driving(store, driver) as driving:
            await asyncio.sleep(0.001)
            store.change_plant(plant, LAMP, SECOND_LAMP)
            driver.attach_pause.set()
            await driving.settled()
            assert set(driver.attached[plant]) == {LAMP.id, SECOND_LAMP.id}

    async def test_is_detached_when_it_is_removed(self, store: FakeStore, driver: FakeDriver) -> None:
        plant = store.add_plant(LAMP)
        async with running_driving(store, driver) as driving:
            await driving.settled()
            store.change_plant(plant, LAMP, status=PlantStatus.REMOVED)
            await driving.settled()
            assert driver.attached == {}
            with pytest.raises(DeviceOffline):
                await driving.read(plant, LAMP.id, NOON + 5)

    async def test_leaves_the_driver_that_has_no_module_there_any_more(
        self, store: FakeStore, driver: FakeDriver, clock: ManualClock
    ) -> None:
        mqtt = FakeDriver(clock, "mqtt")
        plant = store.add_plant(LAMP)
        async with running_driving(store, driver, mqtt) as driving:
            await driving.settled()
            store.change_plant(plant, make_module(DeviceKind.LIGHT, LAMP.id, driver="mqtt"))
            await driving.settled()
            assert driver.attached == {}
            assert set(mqtt.attached) == {plant}

    async def test_starts_if_it_is_new_and_there_is_room(self, store: FakeStore, driver: FakeDriver) -> None:
        async with running_driving(store, driver, simulated_plants=1) as driving:
            await driving.settled()
            first, second = store.add_plant(LAMP), store.add_plant(SECOND_LAMP)
            store.change_plant(first, LAMP)
            store.change_plant(second, SECOND_LAMP)
            await driving.settled()
            assert set(driver.attached) == {first}


class TestAPlantThatMakesTrouble:
    async def test_when_attached_does_not_disturb_another_and_is_tried_again(
        self, store: FakeStore, driver: FakeDriver
    ) -> None:
        bad, good = store.add_plant(LAMP), store.add_plant(SECOND_LAMP)
        driver.attach_trouble[bad] = ZeroDivisionError("a bug")
        with capture_logs() as logs:
            async with running_driving(store, driver) as driving:
                with pytest.raises(DeviceOffline):
                    await driving.execute(make_order(bad, LAMP.id, SWITCH_ON))
                assert (await driving.execute(make_order(good, SECOND_LAMP.id, SWITCH_ON))).state == ON
                driver.attach_trouble.clear()
                assert (await driving.execute(make_order(bad, LAMP.id, SWITCH_ON))).state == ON
        assert {entry["plant_id"] for entry in logs} == {bad}

    async def test_when_loaded_is_an_internal_fault_and_is_tried_again(
        self, store: FakeStore, driver: FakeDriver, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        plant = store.add_plant(LAMP)
        find_plant = store.find_plant

        async def fail(plant_id: object) -> None:
            raise OSError("disk gone")

        monkeypatch.setattr(store, "find_plant", fail)
        with capture_logs():
            async with running_driving(store, driver) as driving:
                with pytest.raises(Internal):
                    await driving.read(plant, LAMP.id, NOON + 5)
                monkeypatch.setattr(store, "find_plant", find_plant)
                assert (await driving.read(plant, LAMP.id, NOON + 5)).state == ON

    async def test_with_a_real_device_is_loaded_later_without_a_request(
        self, store: FakeStore, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Without that, reports of its devices would be missed."""
        mqtt = FakeDriver(clock, "mqtt")
        plant = store.add_plant(make_module(DeviceKind.LIGHT, LAMP.id, driver="mqtt"))
        find_plant, tries = store.find_plant, []

        async def fail_often(plant_id: Id) -> StoredPlant | None:
            tries.append(asyncio.get_running_loop().time())
            if len(tries) <= 4:
                raise OSError("disk gone")
            return await find_plant(plant_id)

        monkeypatch.setattr(store, "find_plant", fail_often)
        with capture_logs():
            async with running_driving(store, mqtt) as driving:
                with pytest.raises(Internal):
                    await driving.read(plant, LAMP.id, NOON + 5)
                await asyncio.sleep(60)
                assert set(mqtt.attached) == {plant}
        assert len(tries) == 5

    async def test_when_loaded_again_gets_all_its_new_modules_although_another_driver_fails(
        self, store: FakeStore, driver: FakeDriver, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async def fail(plant_id: Id) -> None:
            raise OSError("disk gone")

        mqtt, far = FakeDriver(clock, "mqtt"), make_module(DeviceKind.LIGHT, driver="mqtt")
        plant = store.add_plant(LAMP, far)
        mqtt.attach_trouble[plant] = ZeroDivisionError("a bug")
        async with running_driving(store, driver, mqtt) as driving:
            await driving.settled()
            with monkeypatch.context() as patched:
                patched.setattr(store, "find_plant", fail)
                store.change_plant(plant, LAMP, SECOND_LAMP, far)
                await driving.settled()
            await asyncio.sleep(60)
            assert set(driver.attached[plant]) == {LAMP.id, SECOND_LAMP.id}

    async def test_is_started_although_the_plants_could_not_be_listed_at_first(
        self, store: FakeStore, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        mqtt = FakeDriver(clock, "mqtt")
        plant = store.add_plant(make_module(DeviceKind.LIGHT, LAMP.id, driver="mqtt"))
        list_plant_ids, tries = store.list_plant_ids, []

        async def fail_twice(driver: str, limit: int) -> tuple[Id, ...]:
            tries.append(driver)
            if len(tries) <= 2:
                raise OSError("disk gone")
            return await list_plant_ids(driver, limit)

        monkeypatch.setattr(store, "list_plant_ids", fail_twice)
        with capture_logs() as logs:
            async with running_driving(store, mqtt):
                await asyncio.sleep(60)
                assert set(mqtt.attached) == {plant}
        assert [entry["log_level"] for entry in logs] == ["error"] * 2

    async def test_is_offline_and_starts_no_task_after_the_gateway_has_stopped(
        self, store: FakeStore, driver: FakeDriver
    ) -> None:
        plant = store.add_plant(LAMP)
        async with running_driving(store, driver) as driving:
            await driving.settled()
        store.change_plant(plant, LAMP, SECOND_LAMP)
        with pytest.raises(DeviceOffline):
            await driving.read(plant, LAMP.id, NOON + 5)
        assert asyncio.all_tasks() == {asyncio.current_task()}

    async def test_leaves_no_task_behind_when_the_gateway_stops(self, store: FakeStore, driver: FakeDriver) -> None:
        store.add_plant(LAMP)
        driver.attach_pause = asyncio.Event()
        async with running_driving(store, driver):
            await asyncio.sleep(0.001)
        assert asyncio.all_tasks() == {asyncio.current_task()}
