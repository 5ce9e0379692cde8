"""An MQTT driver on a real broker, and a recorder of its reports."""

import time
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from domogate.app.parts import SystemClock
from domogate.domain.commands import Command, Order
from domogate.domain.devices import DeviceKind
from domogate.domain.estate import FirstState
from domogate.domain.ids import Id, new_id
from domogate.domain.plants import Module
from domogate.drivers.mqtt import MqttBroker
from domogate.drivers.mqtt.driver import Mqtt
from domogate.ports import AttachedModule, Clock
from support.driver_bench import PATIENCE, PLANT, ReportRecorder


def attached_module(name: str, kind: DeviceKind, options: dict[str, Any], *, known: bool = False) -> AttachedModule:
    identity = Id(str(uuid.uuid5(uuid.NAMESPACE_URL, name)))
    module = Module(identity, identity, name, kind, driver="mqtt", options=options)
    return AttachedModule(module, FirstState(identity), time.time() if known else 0.0)


def zigbee_lamp(base: str, name: str = "lamp", **options: Any) -> AttachedModule:
    return attached_module(
        f"{base}-{name}", DeviceKind.LIGHT, {"dialect": "zigbee2mqtt", "base": base, "name": name, **options}
    )


class MqttSetup:
    """A started driver."""

    def __init__(
        self, *brokers: MqttBroker, clock: Clock | None = None, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self.clock = clock or SystemClock()
        self.driver = Mqtt(self.clock, brokers, monotonic)
        self.recorder = ReportRecorder()

    async def attach(self, *modules: AttachedModule) -> None:
        await self.driver.attach(PLANT, modules)

    def order(self, module: AttachedModule, command: Command, within: float = PATIENCE) -> Order:
        return Order(new_id(), PLANT, module.module.id, command, self.clock.now() + within)


@asynccontextmanager
async def running_driver(
    *brokers: MqttBroker, clock: Clock | None = None, monotonic: Callable[[], float] = time.monotonic
) -> AsyncIterator[MqttSetup]:
    one = MqttSetup(*brokers, clock=clock, monotonic=monotonic)
    await one.driver.start(one.recorder)
    try:
        yield one
    finally:
        await one.driver.stop()
