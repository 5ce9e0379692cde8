"""Orders through a real mosquitto: when they are sent, what confirms them, and what is known afterwards."""

import asyncio
import json
import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from domogate.domain.commands import Activate, SetLight, SetThermostat
from domogate.domain.devices import DeviceKind
from domogate.domain.estate import FirstState
from domogate.domain.faults import DeviceOffline, DeviceRefused, DeviceTimeout
from domogate.domain.states import Color, LightState, Report, ThermostatFunction, ThermostatMode, ThermostatState
from domogate.drivers.mqtt import MqttBroker, broker_session, calls
from domogate.drivers.mqtt.broker_session import BrokerSession
from domogate.drivers.mqtt.properties import Publication
from domogate.ports import AttachedModule
from support.driver_bench import PATIENCE, PLANT, is_off, is_on
from support.mosquitto import DeviceClient, Mosquitto, mosquitto
from support.mqtt_devices import TasmotaRelays, ZigbeeBridge
from support.mqtt_setup import MqttSetup, attached_module, running_driver, zigbee_lamp

pytestmark = pytest.mark.slow


class TestOrders:
    async def test_an_order_carries_what_remains_of_its_deadline(self, broker: Mosquitto) -> None:
        bridge = ZigbeeBridge(broker.port, "expiring")
        bridge.add("lamp", state="OFF")
        lamp = zigbee_lamp("expiring")
        async with running_driver(MqttBroker(url=broker.url)) as bench:
            await bench.attach(lamp)
            await bench.recorder.report_of(lamp, is_off)
            bridge.client.received.clear()
            begun = time.time()
            await bench.driver.execute(bench.order(lamp, SetLight(on=True), within=30))
            took = time.time() - begun
            ((_, payload, expiry),) = [one for one in bridge.client.received if one[0].endswith("/set")]
            assert json.loads(payload) == {"state": "ON"}
            assert expiry is not None
            assert 30 - took - 1 <= expiry <= 30
        bridge.client.close()

    async def test_what_a_thermostat_always_is_needs_no_word_and_no_confirmation(self, broker: Mosquitto) -> None:
        device = DeviceClient(broker.port)
        device.answer = lambda _, payload: device.publish("hall/target", payload.decode(), retain=True)
        device.listen("hall/set")
        device.publish("hall/target", "19", retain=True)
        tables = {"state": {"setPoint": {"topic": "hall/target"}}, "command": {"setPoint": {"topic": "hall/set"}}}
        thermostat = attached_module("hall", DeviceKind.CHRONOTHERMOSTAT, {"dialect": "generic", **tables})
        async with running_driver(MqttBroker(url=broker.url)) as bench:
            await bench.attach(thermostat)
            heating, manual = ThermostatFunction.HEATING, ThermostatMode.MANUAL
            whole = SetThermostat(function=heating, mode=manual, set_point=21.5)
            told = await bench.driver.execute(bench.order(thermostat, whole, within=30))
            assert told.state == ThermostatState(function=heating, mode=manual, set_point=21.5, load_active=False)
            again = await bench.driver.execute(bench.order(thermostat, SetThermostat(function=heating), within=30))
            assert again.state == told.state
            with pytest.raises(DeviceRefused, match="function"):
                await bench.driver.execute(bench.order(thermostat, SetThermostat(function=ThermostatFunction.COOLING)))
        assert [payload for _, payload, _ in device.received] == [b"21.5"]
        device.close()

    @pytest.mark.parametrize("dialect", ["zigbee2mqtt", "generic"])
    async def test_the_manual_mode_of_a_thermostat_that_cools_is_not_heating(self, broker: Mosquitto, dialect: str) -> None:
        bridge = ZigbeeBridge(broker.port, f"cool-{dialect}")
        bridge.add("ac", system_mode="cool", occupied_heating_setpoint=24)
        topic = f"{bridge.base}/ac"
        words = {"off": "off", "heat": "manual heating", "cool": "manual cooling"}
        tables: dict[str, Any] = {
            "state": {
                "setPoint": {"topic": topic, "path": "occupied_heating_setpoint"},
                "operation": {"topic": topic, "path": "system_mode", "map": words},
            },
            "command": {
                "operation": {
                    "topic": f"{topic}/set",
                    "payload": '{"system_mode": "{value}"}',
                    "map": {**{meaning: word for word, meaning in words.items()}, "manual": "heat"},
                }
            },
            "ask": {"topic": f"{topic}/get", "payload": "{}"},
        }
        options = {"name": "ac", "base": bridge.base} if dialect == "zigbee2mqtt" else tables
        thermostat = attached_module(topic, DeviceKind.CHRONOTHERMOSTAT, {"dialect": dialect, **options})
        cooling = ThermostatFunction.COOLING

        def shown(report: Report) -> tuple[ThermostatFunction, ThermostatMode] | None:
            return (report.state.function, report.state.mode) if isinstance(report.state, ThermostatState) else None

        async with running_driver(MqttBroker(url=broker.url)) as bench:
            await bench.attach(thermostat)
            await bench.recorder.report_of(thermostat, lambda report: shown(report) == (cooling, ThermostatMode.MANUAL))
            off = await bench.driver.execute(bench.order(thermostat, SetThermostat(mode=ThermostatMode.OFF)))
            assert shown(off) == (cooling, ThermostatMode.OFF)
        async with running_driver(MqttBroker(url=broker.url)) as bench:
            # After a restart, the device reports only that it is off.
            known = FirstState(thermostat.module.id, off.state)
            await bench.attach(AttachedModule(thermostat.module, known, reported_at=off.at))
            bridge.change("ac", occupied_heating_setpoint=25)
            changed = await bench.recorder.report_of(
                thermostat, lambda report: isinstance(report.state, ThermostatState) and report.state.set_point == 25
            )
            assert shown(changed) == (cooling, ThermostatMode.OFF)
            on = await bench.driver.execute(bench.order(thermostat, SetThermostat(mode=ThermostatMode.MANUAL)))
            assert shown(on) == (cooling, ThermostatMode.MANUAL)
            assert bridge.states["ac"]["system_mode"] == "cool"
        bridge.client.close()

    @pytest.mark.parametrize(
        ("command", "level"), [(SetLight(on=True, level=70), 70), (SetLight(on=True, color=Color(120, 100, 60)), 60)]
    )
    async def test_a_lamp_whose_level_is_not_known_yet_is_asked(self, broker: Mosquitto, command: SetLight, level: int) -> None:
        # With PowerRetain, the broker sends the last message of the relay, and no level.
        device = TasmotaRelays(broker.port, f"retained_{level}", Dimmer=10, HSBColor="0,100,10")
        device.client.publish(f"stat/{device.topic}/POWER", "OFF", retain=True)
        lamp = attached_module(device.topic, DeviceKind.LIGHT, {"dialect": "tasmota", "topic": device.topic})
        async with running_driver(MqttBroker(url=broker.url)) as bench:
            await bench.attach(lamp)
            await bench.recorder.report_of(lamp, is_off)
            lit = await bench.driver.execute(bench.order(lamp, command))
            assert isinstance(lit.state, LightState)
            assert (lit.state.on, lit.state.level) == (True, level)
        device.client.publish(f"stat/{device.topic}/POWER", "", retain=True)
        device.client.close()

    async def test_after_a_partly_sent_order_the_known_state_is_not_trusted(
        self, broker: Mosquitto, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        device = TasmotaRelays(broker.port, "half_told", Dimmer=10)
        lamp = attached_module("half told", DeviceKind.LIGHT, {"dialect": "tasmota", "topic": "half_told"})
        async with running_driver(MqttBroker(url=broker.url)) as bench:
            await bench.attach(lamp)
            await bench.recorder.report_of(lamp, is_off)
            device.silent = True
            publish, told = calls.publish, list[Publication]()

            async def publish_once(session: BrokerSession, one: Publication, *more: Any) -> Any:
                if told:
                    raise DeviceTimeout("the broker takes nothing")
                told.append(one)
                return await publish(session, one, *more)

            monkeypatch.setattr(calls, "publish", publish_once)
            with pytest.raises(DeviceTimeout):
                await bench.driver.execute(bench.order(lamp, SetLight(on=True, level=70)))
            assert [one.topic for one in told] == ["cmnd/half_told/Dimmer"]
            with pytest.raises(DeviceTimeout):
                await bench.driver.read(PLANT, lamp.module.id, bench.clock.now() + PATIENCE)
        device.client.close()

    async def test_without_a_subscriber_the_order_fails_at_once(self, broker: Mosquitto) -> None:
        lamp = attached_module("deaf", DeviceKind.LIGHT, {"dialect": "zigbee2mqtt", "base": "deaf", "name": "lamp"}, known=True)
        async with running_driver(MqttBroker(url=broker.url)) as bench:
            await bench.attach(lamp)
            with pytest.raises(DeviceOffline, match="no device is subscribed to deaf/lamp/set"):
                await bench.driver.execute(bench.order(lamp, SetLight(on=True), within=60))

    async def test_a_device_that_never_says_anything_is_believed_when_the_broker_has_it(self, broker: Mosquitto) -> None:
        device = DeviceClient(broker.port)
        device.listen("blind/set")
        options = {"dialect": "generic", "confirm": "broker", "command": {"on": {"topic": "blind/set"}}}
        lamp = attached_module("blind", DeviceKind.LIGHT, options, known=True)
        async with running_driver(MqttBroker(url=broker.url)) as bench:
            await bench.attach(lamp)
            report = await bench.driver.execute(bench.order(lamp, SetLight(on=True)))
            assert report.reachable
            assert report.state is None, "nobody knows what it is in"
            await bench.recorder.until(lambda: [payload for _, payload, _ in device.received] == [b"true"])
        device.close()

    async def test_an_order_that_no_broker_acknowledged_is_not_confirmed(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        options = {"dialect": "generic", "confirm": "broker", "command": {"on": {"topic": "blind/set"}}}
        lamp = attached_module("blind", DeviceKind.LIGHT, options, known=True)
        publish = calls.publish

        async def publish_and_lose_the_broker(*given: Any) -> Any:
            ack = await publish(*given)
            os.kill(broker.pid, signal.SIGKILL)
            return ack

        with mosquitto(tmp_path) as broker:
            async with running_driver(MqttBroker(url=broker.url)) as bench:
                await bench.attach(lamp)
                await bench.recorder.until(lambda: bench.driver.sessions["main"].connection is not None)
                os.kill(broker.pid, signal.SIGSTOP)
                monkeypatch.setattr(calls, "publish", publish_and_lose_the_broker)
                order = bench.order(lamp, SetLight(on=True), within=2)
                with pytest.raises(DeviceTimeout, match="did not confirm"):
                    await bench.driver.execute(order)
                assert bench.clock.now() >= order.deadline, "the device may have received the order"

    async def test_a_device_without_topics_of_its_own_never_counts_as_silent(
        self, broker: Mosquitto, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(broker_session, "NEVER_SEEN_AFTER", 0.0)
        device = DeviceClient(broker.port)
        device.listen("bell/set")
        options = {"dialect": "generic", "confirm": "broker", "command": {"active": {"topic": "bell/set"}}}
        bell = attached_module("bell", DeviceKind.ACTIVATION, options)
        async with running_driver(MqttBroker(url=broker.url)) as bench:
            await bench.attach(bell)
            for _ in range(2):
                assert (await bench.driver.execute(bench.order(bell, Activate()))).reachable
                bench.driver.sessions["main"].check_modules()
        device.close()

    async def test_parts_of_an_answer_in_one_breath_all_count(self, broker: Mosquitto, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(broker_session, "READ_EVERY", 0.3)
        device = TasmotaRelays(broker.port, "colourful", Dimmer=10, HSBColor="0,0,10")
        lamp = attached_module("colourful", DeviceKind.LIGHT, {"dialect": "tasmota", "topic": "colourful"})
        async with running_driver(MqttBroker(url=broker.url)) as bench:
            await bench.attach(lamp)
            await bench.recorder.report_of(lamp, is_off)
            report = await bench.driver.execute(bench.order(lamp, SetLight(on=True, level=70)))
            assert isinstance(report.state, LightState)
            assert (report.state.on, report.state.level) == (True, 70)
        device.client.close()


class TestUnreadMessages:
    """A message that arrived before an order, and that the driver has not read yet."""

    async def test_an_older_message_of_another_topic_does_not_undo_the_order(
        self, broker: Mosquitto, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        device = TasmotaRelays(broker.port, "hasty")
        lamp = attached_module("hasty", DeviceKind.LIGHT, {"dialect": "tasmota", "topic": "hasty"})
        async with running_driver(MqttBroker(url=broker.url)) as bench:
            await bench.attach(lamp)
            await bench.recorder.report_of(lamp, is_off)
            monkeypatch.setattr(broker_session, "READ_EVERY", 0.5)
            await receive(bench, device.client, "tele/hasty/STATE", '{"POWER":"OFF"}')
            assert is_on(await bench.driver.execute(bench.order(lamp, SetLight(on=True))))
            await asyncio.sleep(1.0)
            assert is_on(await bench.driver.read(PLANT, lamp.module.id, time.time() + PATIENCE))
        device.client.close()

    async def test_an_older_message_does_not_undo_the_order_while_many_messages_are_read(
        self, broker: Mosquitto, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        bridge = ZigbeeBridge(broker.port, "crowd")
        for name in ("first", "second"):
            bridge.add(name, state="OFF")
        lamps = [zigbee_lamp("crowd", name) for name in ("first", "second")]
        async with running_driver(MqttBroker(url=broker.url)) as bench:
            await bench.attach(*lamps)
            for lamp in lamps:
                await bench.recorder.report_of(lamp, is_off)
            monkeypatch.setattr(broker_session, "READ_EVERY", 0.3)
            monkeypatch.setattr(broker_session, "READ_BATCH", 1)
            monkeypatch.setattr(broker_session, "READ_PAUSE", 1.0)
            await receive(bench, bridge.client, "crowd/first", '{"state":"ON"}')
            await receive(bench, bridge.client, "crowd/second", '{"state":"OFF"}')
            await bench.recorder.report_of(lamps[0], is_on)
            assert is_on(await bench.driver.execute(bench.order(lamps[1], SetLight(on=True))))
            await asyncio.sleep(1.5)
            assert is_on(await bench.driver.read(PLANT, lamps[1].module.id, time.time() + PATIENCE))
        bridge.client.close()

    async def test_an_older_message_does_not_confirm_the_order(
        self, broker: Mosquitto, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        bridge = ZigbeeBridge(broker.port, "mute")
        bridge.add("lamp", state="OFF")
        lamp = zigbee_lamp("mute")
        async with running_driver(MqttBroker(url=broker.url)) as bench:
            await bench.attach(lamp)
            await bench.recorder.report_of(lamp, is_off)
            bridge.silent.add("lamp")
            monkeypatch.setattr(broker_session, "READ_EVERY", 0.3)
            await receive(bench, bridge.client, "mute/lamp", '{"state":"ON"}')
            with pytest.raises(DeviceTimeout, match="did not confirm"):
                await bench.driver.execute(bench.order(lamp, SetLight(on=True), within=1))
        bridge.client.close()


async def receive(bench: MqttSetup, device: DeviceClient, topic: str, payload: str) -> None:
    """Publish a message, and wait until the driver has received it."""
    session = bench.driver.sessions["main"]
    received = session.received
    device.publish(topic, payload)
    await bench.recorder.until(lambda: session.received > received)
