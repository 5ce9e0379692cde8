"""What a driver of MQTT makes of time: how soon a broker that is back is found, and what counts when the gateway is held up."""

import asyncio
import random
from typing import Any

import pytest

from domogate.drivers.mqtt import MqttBroker, link
from domogate.drivers.mqtt.connection import Connection
from domogate.drivers.mqtt.facts import Facts
from domogate.drivers.mqtt.module import Wait
from domogate.drivers.mqtt.packets import V5
from domogate.drivers.mqtt.station import Station
from support.steady import LoopClock, hold_up, steady

BROKER = MqttBroker(url="mqtt://broker.lan")


@pytest.mark.parametrize("away", [1.0, 20.0, *(3600.0 + late for late in range(5))])
async def test_a_broker_that_is_back_is_found_within_ten_seconds(
    away: float, monkeypatch: pytest.MonkeyPatch, leaping_time: None
) -> None:
    monkeypatch.undo()  # in no hurry: it is about the pauses as they are
    loop = asyncio.get_running_loop()
    found: asyncio.Future[float] = loop.create_future()

    async def open_connection(*_: Any) -> Connection:
        if loop.time() < away:
            raise ConnectionRefusedError("connection refused")
        return Connection(lambda *_: None, version=V5, keepalive=30, largest_packet=1000)

    async def serve(connection: Connection) -> None:
        found.set_result(loop.time())
        await connection.lost

    monkeypatch.setattr(link, "open_connection", open_connection)
    monkeypatch.setattr(random, "uniform", lambda low, high: high)
    looking = asyncio.create_task(link.Link(BROKER, deliver=lambda *_: None, serve=serve, lost=lambda *_: None).run())
    assert away <= await found <= away + 10
    looking.cancel()
    await asyncio.wait((looking,))


async def test_an_answer_that_is_there_counts_though_the_gateway_was_held_up_until_the_time_was_over() -> None:
    loop, clock = asyncio.get_running_loop(), LoopClock()
    steady(loop)
    station, wait = Station(BROKER, clock, lambda _: None), Wait(Facts())
    waiting = asyncio.create_task(station._hear_answer(wait, clock.now() + 1))
    await asyncio.sleep(0.01)
    loop.call_soon(wait.end)
    hold_up(loop, 60)
    await waiting
