"""The number of states that the MQTT driver receives from a real mosquitto, per second and per CPU-second."""

import asyncio
import multiprocessing
import random
import time
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.scenarios import Row, Scenario
from domogate.app.parts import SystemClock
from domogate.domain.devices import DeviceKind
from domogate.domain.estate import FirstState
from domogate.domain.ids import Id, new_id
from domogate.domain.plants import Module
from domogate.domain.states import LightState, Report
from domogate.drivers.mqtt import MqttBroker
from domogate.drivers.mqtt.driver import Mqtt
from domogate.ports import AttachedModule
from support.mosquitto import flood, mosquitto
from support.mqtt_flood import BASE, messages_for

_LAMPS = 500
_RATE = 20_000
_SECONDS = 5


def _lamp(number: int) -> AttachedModule:
    options = {"dialect": "zigbee2mqtt", "base": BASE, "name": f"lamp_{number}"}
    identity = new_id()
    return AttachedModule(
        Module(identity, identity, f"Lamp {number}", DeviceKind.LIGHT, driver="mqtt", options=options), FirstState(identity)
    )


async def states_received() -> AsyncIterator[Row]:
    """Measures the way from the socket to the reports. The sender is a separate process and sends `_RATE` messages a second."""
    newest: dict[str, LightState] = {}

    async def take(reports: Sequence[Report]) -> None:
        newest.update({report.module_id: report.state for report in reports if isinstance(report.state, LightState)})

    lamps = [_lamp(number) for number in range(_LAMPS)]
    messages = messages_for(_LAMPS, _RATE * _SECONDS, random.Random(1))
    with TemporaryDirectory() as folder, mosquitto(Path(folder)) as broker:
        driver = Mqtt(SystemClock(), [MqttBroker(url=broker.url)])
        await driver.start(take)
        await driver.attach(Id(new_id()), lamps)
        await asyncio.sleep(1)
        sender = multiprocessing.get_context("spawn").Process(target=flood, args=(broker.port, messages, _RATE), daemon=True)
        session = driver.sessions["main"]
        before = session.received
        sender.start()
        while session.received == before:
            await asyncio.sleep(0.01)
        begun, cpu, arrived = time.perf_counter(), time.process_time(), session.received
        while session.received - before < len(messages) and time.perf_counter() - begun < 4 * _SECONDS:
            await asyncio.sleep(0.05)
        took, cost, taken = time.perf_counter() - begun, time.process_time() - cpu, session.received - arrived
        await asyncio.sleep(1)
        await driver.stop()
        await asyncio.to_thread(sender.join, 30)
    lost = len(messages) - (session.received - before)
    yield Row("MQTT: states received per second, of 20,000 sent", f"{taken / took:,.0f}", "none lost", lost == 0)
    yield Row("MQTT: states received per CPU-second", f"{taken / cost:,.0f}")


MQTT: dict[str, Scenario] = {"mqtt": states_received}
