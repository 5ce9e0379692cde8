"""Reports that the store could not write: after the store works again, it gets the states of the devices."""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from domogate.app.parts import SystemClock
from domogate.domain.commands import SetLight
from domogate.domain.devices import DeviceKind
from domogate.domain.faults import Internal
from domogate.domain.ids import Id
from domogate.domain.plants import ControllerDetail, UnitDetail
from domogate.domain.safety import Failure, FailureType
from domogate.domain.states import EmergencyState, LightState, Reading, Report, Unit
from domogate.drivers.mqtt import MqttBroker
from domogate.drivers.mqtt.driver import Mqtt
from domogate.ports import StoredState
from domogate.services.driving import Driving, attachment
from support.clocks import NOON
from support.device_store import FakeStore
from support.devices import FakeDriver, make_id, make_module, make_order
from support.driving_setup import running_driving
from support.log_lines import capture_logs
from support.mosquitto import mosquitto
from support.mqtt_devices import ZigbeeBridge

ON, OFF = LightState(on=True), LightState(on=False)
LAMP = make_module(DeviceKind.LIGHT, make_id(100))
OTHER_LAMP = make_module(DeviceKind.LIGHT, make_id(101))
CONTROLLER = make_module(DeviceKind.EMERGENCY_CONTROLLER, make_id(102), detail=ControllerDetail(alert_level=1))
UNIT = make_module(DeviceKind.EMERGENCY_UNIT, make_id(103), detail=UnitDetail("062520"), controller_id=CONTROLLER.id)


@pytest.mark.usefixtures("virtual_time")
class TestLostReports:
    async def test_the_plant_is_attached_again_with_its_stored_states(self, store: FakeStore, driver: FakeDriver) -> None:
        plant = store.add_plant(LAMP, states={LAMP.id: StoredState(OFF, True, NOON)})
        other = store.add_plant(OTHER_LAMP)
        async with running_driving(store, driver) as driving:
            await driving.settled()
            store.fails_on = bool
            with capture_logs():
                await driver.report([Report(plant, LAMP.id, NOON, ON)])
            store.fails_on = lambda _: False
            driver.attachments.clear()
            await asyncio.sleep(attachment._LOST_PAUSE + 1)
            await driving.settled()
            assert driver.attachments == [plant]
            assert driver.attached[plant][LAMP.id].last.state == OFF
            assert other in driver.attached

    async def test_measured_values_of_an_answer_are_stored_although_the_state_is_the_same(
        self, store: FakeStore, driver: FakeDriver, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        plant = store.add_plant(LAMP, states={LAMP.id: StoredState(ON, True, NOON)})
        measured = (("power", Reading(9.0, Unit.WATT, NOON)),)

        async def read(plant_id: Id, module_id: Id, deadline: float) -> Report:
            return Report(plant_id, module_id, NOON, ON, readings=measured)

        monkeypatch.setattr(driver, "read", read)
        async with running_driving(store, driver) as driving:
            await driving.read(plant, LAMP.id, NOON + 1e9)
        assert store.readings[LAMP.id] == [*measured]
        assert [report.state for report in store.reports] == [None], "no event for the same state"

    async def test_an_order_whose_confirmation_was_not_stored_counts_too(self, store: FakeStore, driver: FakeDriver) -> None:
        plant = store.add_plant(LAMP)
        async with running_driving(store, driver) as driving:
            await driving.settled()
            store.fails_on = bool
            with capture_logs(), pytest.raises(Internal):
                await driving.execute(make_order(plant, LAMP.id, SetLight(on=True)))
            store.fails_on = lambda _: False
            driver.attachments.clear()
            await asyncio.sleep(attachment._LOST_PAUSE + 1)
            await driving.settled()
            assert driver.attachments == [plant]

    async def test_while_the_store_fails_a_plant_is_read_only_now_and_then(self, store: FakeStore, driver: FakeDriver) -> None:
        plant = store.add_plant(LAMP)
        async with running_driving(store, driver) as driving:
            await driving.settled()
            store.fails_on = bool
            store.loads.clear()
            with capture_logs():
                for _ in range(100):
                    await driver.report([Report(plant, LAMP.id, NOON, ON)])
                    await asyncio.sleep(0.5)
            assert len(store.loads) <= 50 / attachment._LOST_PAUSE + 1

    async def test_an_alert_that_was_not_stored_is_stored_later(self, store: FakeStore, driver: FakeDriver) -> None:
        plant = store.add_plant(CONTROLLER, UNIT)
        broken = Report(plant, UNIT.id, NOON, EmergencyState(failures=(Failure(FailureType.BLOCK_FAULTY_BATTERY),)))
        async with running_driving(store, driver) as driving:
            await driving.settled()
            store.fails_on = bool
            with capture_logs():
                await driver.report([broken])
            store.fails_on = lambda _: False
            await asyncio.sleep(attachment._LOST_PAUSE + 1)
            await driving.settled()
            await driver.report([broken])  # The driver compared its state with the stored state.
            state = store.state_of(plant, CONTROLLER.id).state
            assert isinstance(state, EmergencyState)
            assert state.alert is True


@pytest.mark.slow
class TestMqtt:
    async def test_a_device_that_changed_while_the_store_failed_is_shown_as_it_is(
        self, store: FakeStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(attachment, "_LOST_PAUSE", 0.5)
        options = {"dialect": "zigbee2mqtt", "base": "lost", "name": "lamp"}
        lamp = make_module(DeviceKind.LIGHT, driver="mqtt", options=options)
        plant = store.add_plant(lamp)
        with mosquitto(tmp_path) as broker:
            bridge = ZigbeeBridge(broker.port, "lost")
            bridge.add("lamp", state="OFF")
            clock = SystemClock()
            driving = Driving(store, {"mqtt": Mqtt(clock, [MqttBroker(url=broker.url)])}, clock, simulated_plants=1)
            await driving.start()
            await driving.start_plants()
            try:
                await until(lambda: (known := store.find_state(plant, lamp.id)) is not None and known.state == OFF)
                lost: list[Report] = []

                def lose(reports: Sequence[Report]) -> bool:
                    lost.extend(reports)
                    return True

                store.fails_on = lose
                with capture_logs():
                    bridge.change("lamp", state="ON")
                    await until(lambda: bool(lost))
                store.fails_on = lambda _: False
                await until(lambda: store.state_of(plant, lamp.id).state == ON)
            finally:
                await driving.stop()
                bridge.client.close()


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not holds():
            await asyncio.sleep(0.02)
