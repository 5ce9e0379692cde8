"""Time in the MQTT driver: how soon it reconnects, and what counts when the gateway itself was busy."""

import asyncio
import itertools
from collections.abc import Sequence
from typing import Any

import pytest

from domogate.domain.reachability import Absence, AbsenceReason
from domogate.domain.states import Report
from domogate.drivers import backoff
from domogate.drivers.mqtt import MqttBroker, broker_connection, calls
from domogate.drivers.mqtt.broker_session import BrokerSession
from domogate.drivers.mqtt.connection import Connection, ConnectionLost
from domogate.drivers.mqtt.module import MisconfiguredModule, PendingCall
from domogate.drivers.mqtt.packets import V5, V311
from domogate.drivers.mqtt.properties import Properties
from domogate.drivers.report_queue import BATCH, LONGEST_SHARE, ReportQueue
from support.clocks import NOON, LoopClock, ManualClock
from support.driver_bench import PLANT
from support.idle_time import skip_time, use_idle_time
from support.mqtt_setup import zigbee_lamp

BROKER = MqttBroker(url="mqtt://broker.lan")
IGNORING = broker_connection.ConnectionOptions(lambda *_: None)


@pytest.mark.parametrize("away", [1.0, 20.0, *(3600.0 + late for late in range(5))])
async def test_a_broker_that_is_back_is_found_within_ten_seconds(
    away: float, monkeypatch: pytest.MonkeyPatch, virtual_time: None
) -> None:
    monkeypatch.undo()  # with the real pauses
    loop, next_pause = asyncio.get_running_loop(), backoff.Backoff.next_pause
    found: asyncio.Future[float] = loop.create_future()

    async def open_connection(*_: Any, **__: Any) -> Connection:
        if loop.time() < away:
            raise ConnectionRefusedError("connection refused")
        return Connection(lambda *_: None, version=V5, keepalive=30, largest_packet=1000)

    async def serve(connection: Connection) -> None:
        found.set_result(loop.time())
        await connection.lost

    monkeypatch.setattr(broker_connection, "open_connection", open_connection)
    monkeypatch.setattr(
        backoff.Backoff, "next_pause", lambda self, first, longest: next_pause(self, first, longest, (1.0, 1.0))
    )
    looking = asyncio.create_task(broker_connection.BrokerConnection(BROKER, IGNORING, serve=serve, lost=lambda *_: None).run())
    assert away <= await found <= away + 10
    looking.cancel()
    await asyncio.wait((looking,))


async def test_a_broker_that_cuts_each_connection_is_not_sought_without_pause(
    monkeypatch: pytest.MonkeyPatch, virtual_time: None
) -> None:
    monkeypatch.undo()
    loop = asyncio.get_running_loop()
    opened: list[float] = []

    async def open_connection(*_: Any, **__: Any) -> Connection:
        opened.append(loop.time())
        return Connection(lambda *_: None, version=V5, keepalive=30, largest_packet=1000)

    async def serve(connection: Connection) -> None:
        await asyncio.sleep(11 if len(opened) == 20 else 0.1)

    monkeypatch.setattr(broker_connection, "open_connection", open_connection)
    seeking = asyncio.create_task(broker_connection.BrokerConnection(BROKER, IGNORING, serve=serve, lost=lambda *_: None).run())
    await asyncio.sleep(120)
    seeking.cancel()
    await asyncio.wait((seeking,))
    pauses = [later - earlier for earlier, later in itertools.pairwise(opened)]
    assert all(pause >= broker_connection.LONGEST_PAUSE / 2 for pause in pauses[6:18])
    assert pauses[19] <= 11 + broker_connection.FIRST_PAUSE, "one that lasted ends the series"


async def test_reports_that_were_taken_late_delay_the_next_ones_only_for_a_while(
    monkeypatch: pytest.MonkeyPatch, virtual_time: None
) -> None:
    monkeypatch.undo()
    loop = asyncio.get_running_loop()
    taken: list[float] = []

    async def take(reports: Sequence[Report]) -> None:
        await asyncio.sleep(600 if not taken else 0)
        taken.append(loop.time())

    queue = ReportQueue(PLANT, take, ManualClock(NOON), 1.0)
    for number in range(BATCH + 1):
        queue.add(
            MisconfiguredModule(
                PLANT, zigbee_lamp("z", f"lamp_{number}"), Absence(AbsenceReason.MISCONFIGURED, 0.0, "a mistake")
            )
        )
    while len(taken) < 2:
        await asyncio.sleep(1)
    assert 1 <= taken[1] - taken[0] <= LONGEST_SHARE
    await queue.stop()


async def test_an_answer_that_is_there_counts_though_the_gateway_was_held_up_until_the_time_was_over() -> None:
    loop, clock = asyncio.get_running_loop(), LoopClock()
    use_idle_time(loop)
    session, call = BrokerSession(BROKER, clock, lambda _: None), PendingCall(Properties())
    waiting = asyncio.create_task(calls.wait_answer(session, call, clock.now() + 1))
    await asyncio.sleep(0.01)
    loop.call_soon(call.end)
    skip_time(loop, 60)
    await waiting


async def test_an_acknowledgement_that_is_there_counts_though_the_gateway_was_held_up_until_the_time_was_over() -> None:
    loop = asyncio.get_running_loop()
    use_idle_time(loop)
    connection = Connection(lambda *_: None, version=V311, keepalive=30, largest_packet=1000)
    subscribing = asyncio.create_task(connection.subscribe([("a", 0)]))
    await asyncio.sleep(0.01)
    loop.call_soon(connection.data_received, b"\x90\x03\x00\x01\x00")
    skip_time(loop, 60)
    assert await subscribing == [0]
    subscribing = asyncio.create_task(connection.subscribe([("b", 0)]))
    await asyncio.sleep(0.01)
    skip_time(loop, 60)
    with pytest.raises(ConnectionLost, match="did not acknowledge"):
        await subscribing
