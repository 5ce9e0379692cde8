"""The suite of all drivers, with Zigbee2MQTT and Tasmota devices on a real mosquitto."""

import itertools
from collections.abc import AsyncIterator
from typing import Any

import pytest

from domogate.app.parts import SystemClock
from domogate.domain.commands import Command, SetLight
from domogate.domain.devices import DeviceKind
from domogate.drivers.mqtt import MqttBroker
from domogate.drivers.mqtt.driver import Mqtt
from domogate.ports import AttachedModule
from support.driver_bench import Bench
from support.driver_suite import DriverSuite
from support.mosquitto import Mosquitto
from support.mqtt_devices import TasmotaRelays, ZigbeeBridge
from support.mqtt_setup import attached_module

pytestmark = pytest.mark.slow

_numbers = itertools.count(1)


class MqttBench(Bench):
    """A driver on the broker. Devices are created when they are first used."""

    short = 0.2

    def __init__(self, broker: Mosquitto) -> None:
        super().__init__()
        self.port = broker.port
        self.clock = SystemClock()
        self.driver = Mqtt(self.clock, [MqttBroker(url=broker.url)])
        self.world = f"w{next(_numbers)}"

    def misconfigured(self) -> AttachedModule:
        return attached_module(f"{self.world}-bad", DeviceKind.LIGHT, {"dialect": "tasmota"})


class ZigbeeBench(MqttBench):
    async def set_up(self) -> None:
        self.bridge = ZigbeeBridge(self.port, self.world)

    async def tear_down(self) -> None:
        self.bridge.client.close()

    def lamp(self, number: int) -> AttachedModule:
        name = f"lamp_{number}"
        self.bridge.add(name, state="OFF", brightness=127)
        return attached_module(
            f"{self.world}-{name}", DeviceKind.LIGHT, {"dialect": "zigbee2mqtt", "base": self.world, "name": name}
        )

    def meter(self) -> AttachedModule:
        self.bridge.add("plug", state="ON", power=0, energy=1.5)
        return attached_module(
            f"{self.world}-plug", DeviceKind.PLUG, {"dialect": "zigbee2mqtt", "base": self.world, "name": "plug"}
        )

    def name_of(self, lamp: AttachedModule) -> str:
        return str(lamp.module.options["name"])

    async def switch_by_hand(self, lamp: AttachedModule, on: bool) -> None:
        self.bridge.change(self.name_of(lamp), state="ON" if on else "OFF")

    async def measure(self, meter: AttachedModule, watts: float) -> None:
        self.bridge.change("plug", power=watts)

    async def go_offline(self, lamp: AttachedModule) -> None:
        self.bridge.set_availability(self.name_of(lamp), "offline")

    async def come_online(self, lamp: AttachedModule) -> None:
        self.bridge.set_availability(self.name_of(lamp), "online")

    async def stop_answering(self, lamp: AttachedModule) -> None:
        self.bridge.silent.add(self.name_of(lamp))

    async def make_refuse(self, lamp: AttachedModule) -> Command:
        self.bridge.refusing.add(self.name_of(lamp))
        return SetLight(on=True)

    def count_commands(self, lamp: AttachedModule) -> int:
        return self.bridge.told.get(self.name_of(lamp), 0)


class TasmotaBench(MqttBench):
    async def set_up(self) -> None:
        self.devices: dict[str, TasmotaRelays] = {}

    async def tear_down(self) -> None:
        for device in self.devices.values():
            device.client.close()

    def device(self, name: str, **state: Any) -> AttachedModule:
        topic = f"{self.world}_{name}"
        if topic not in self.devices:
            self.devices[topic] = TasmotaRelays(self.port, topic, **state)
        kind = DeviceKind.PLUG if name == "plug" else DeviceKind.LIGHT
        return attached_module(topic, kind, {"dialect": "tasmota", "topic": topic})

    def lamp(self, number: int) -> AttachedModule:
        return self.device(f"lamp{number}", Dimmer=50)

    def meter(self) -> AttachedModule:
        return self.device("plug")

    def of(self, one: AttachedModule) -> TasmotaRelays:
        return self.devices[one.module.options["topic"]]

    async def switch_by_hand(self, lamp: AttachedModule, on: bool) -> None:
        self.of(lamp).change(POWER="ON" if on else "OFF")

    async def measure(self, meter: AttachedModule, watts: float) -> None:
        self.of(meter).measure(watts)

    async def go_offline(self, lamp: AttachedModule) -> None:
        self.of(lamp).client.publish(f"tele/{self.of(lamp).topic}/LWT", "Offline", retain=True)

    async def come_online(self, lamp: AttachedModule) -> None:
        self.of(lamp).client.publish(f"tele/{self.of(lamp).topic}/LWT", "Online", retain=True)

    async def stop_answering(self, lamp: AttachedModule) -> None:
        self.of(lamp).silent = True

    async def make_refuse(self, lamp: AttachedModule) -> Command:
        self.of(lamp).refusing = True
        return SetLight(on=True)

    def count_commands(self, lamp: AttachedModule) -> int:
        return self.of(lamp).told


class TestZigbee2Mqtt(DriverSuite):
    @pytest.fixture
    async def bench(self, broker: Mosquitto) -> AsyncIterator[Bench]:
        async with ZigbeeBench(broker) as bench:
            yield bench


class TestTasmota(DriverSuite):
    @pytest.fixture
    async def bench(self, broker: Mosquitto) -> AsyncIterator[Bench]:
        async with TasmotaBench(broker) as bench:
            yield bench
