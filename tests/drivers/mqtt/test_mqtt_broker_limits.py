"""Limits that a broker sets with MQTT 5 when it accepts the login, and messages that are too large for the gateway."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from unittest.mock import MagicMock

import pytest

from domogate.domain.commands import Activate, SetLight
from domogate.domain.devices import DeviceKind
from domogate.drivers.mqtt import MqttBroker, broker_connection, packets
from domogate.drivers.mqtt.broker_connection import LARGEST_PACKET
from domogate.drivers.mqtt.connection import Connection
from domogate.drivers.mqtt.packets import V5, V311
from support.driver_bench import is_absent, is_off, is_on
from support.mosquitto import DeviceClient, Mosquitto, mosquitto
from support.mqtt_devices import ZigbeeBridge
from support.mqtt_setup import attached_module, running_driver, zigbee_lamp
from support.ports import free_port

MOST = 2
ACCEPTED = b"\x20\x06\x00\x00\x03\x21" + MOST.to_bytes(2, "big")
"""A CONNACK with the Receive Maximum `MOST` (MQTT 5.0 §3.2.2.3.3)."""


class StrictBroker:
    """A broker that ends the connection if it gets more unacknowledged messages than it allows (MQTT 5.0 §4.9)."""

    def __init__(self, connack: bytes) -> None:
        self._connack = connack
        self._unacknowledged = 0
        self.accepted = 0
        self.exceeded = False
        self.pings = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                first, body = await _read_packet(reader)
                match first & 0xF0:
                    case packets.CONNECT:
                        writer.write(self._connack)
                    case packets.PINGREQ:
                        self.pings += 1
                        writer.write(b"\xd0\x00")
                    case packets.PUBLISH:
                        self._take(writer, body)
        except asyncio.IncompleteReadError:
            writer.close()

    def _take(self, writer: asyncio.StreamWriter, body: bytes) -> None:
        self._unacknowledged += 1
        if self._unacknowledged > MOST:
            self.exceeded = True
            writer.write(b"\xe0\x01\x93")
            writer.close()
            return
        at = 2 + int.from_bytes(body[:2], "big")
        asyncio.get_running_loop().call_later(0.02, self._acknowledge, writer, body[at : at + 2])

    def _acknowledge(self, writer: asyncio.StreamWriter, packet_id: bytes) -> None:
        self._unacknowledged -= 1
        self.accepted += 1
        writer.write(packets.to_puback(packet_id))


async def _read_packet(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    first = (await reader.readexactly(1))[0]
    size, shift = 0, 0
    while True:
        digit = (await reader.readexactly(1))[0]
        size |= (digit & 0x7F) << shift
        shift += 7
        if digit < 0x80:
            return first, await reader.readexactly(size)


@asynccontextmanager
async def strict_broker(connack: bytes = ACCEPTED) -> AsyncIterator[tuple[StrictBroker, MqttBroker]]:
    broker = StrictBroker(connack)
    server = await asyncio.start_server(broker.serve, "127.0.0.1", 0)
    async with server:
        yield broker, MqttBroker(url=f"mqtt://127.0.0.1:{server.sockets[0].getsockname()[1]}", keepalive=60)


class TestReceiveMaximum:
    async def test_many_orders_at_once_wait_for_their_turn(self) -> None:
        bells = [
            attached_module(
                f"bell {number}",
                DeviceKind.ACTIVATION,
                {"dialect": "generic", "confirm": "broker", "command": {"active": {"topic": f"bell/{number}"}}},
            )
            for number in range(12)
        ]
        async with strict_broker() as (broker, settings), running_driver(settings) as bench:
            await bench.attach(*bells)
            orders = [bench.driver.execute(bench.order(bell, Activate(), within=5)) for bell in bells]
            reports = await asyncio.gather(*orders)
            assert all(report.reachable for report in reports)
            assert (broker.accepted, broker.exceeded) == (12, False)


class TestServerKeepAlive:
    async def test_the_gateway_pings_as_often_as_the_broker_wants(self) -> None:
        # A keep-alive of one second (MQTT 5.0 §3.2.2.3.14). The settings say 60 seconds.
        async with strict_broker(b"\x20\x06\x00\x00\x03\x13\x00\x01") as (broker, settings), running_driver(settings) as bench:
            await bench.recorder.until(lambda: broker.pings > 0)


class TestMaximumQos:
    @pytest.mark.slow
    async def test_a_broker_with_qos_0_only_gets_orders_with_qos_0(self, tmp_path: Path) -> None:
        port = free_port()
        bell = attached_module(
            "bell",
            DeviceKind.ACTIVATION,
            {"dialect": "generic", "confirm": "broker", "command": {"active": {"topic": "bell"}}},
        )
        with mosquitto(tmp_path, f"listener {port} 127.0.0.1", "max_qos 0") as broker:
            bridge, lamp = ZigbeeBridge(broker.port, "plain"), zigbee_lamp("plain")
            bridge.add("lamp", state="OFF")
            ringer = DeviceClient(broker.port)
            ringer.listen("bell")
            async with running_driver(MqttBroker(url=f"mqtt://127.0.0.1:{port}")) as bench:
                await bench.attach(lamp, bell)
                await bench.recorder.report_of(lamp, is_off)
                assert is_on(await bench.driver.execute(bench.order(lamp, SetLight(on=True))))
                await bench.driver.execute(bench.order(bell, Activate()))
                await bench.recorder.until(lambda: len(ringer.received) == 1)
            bridge.client.close()
            ringer.close()


class TestLargePackets:
    """MQTT 3.1.1 has no largest packet, so the broker sends every message."""

    @pytest.mark.slow
    async def test_too_large_messages_do_not_stop_the_others(self, broker: Mosquitto, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(broker_connection, "V5", V311)
        device, lamp = DeviceClient(broker.port), zigbee_lamp("crowded")
        async with running_driver(MqttBroker(url=broker.url)) as bench:
            await bench.attach(lamp)
            device.publish("crowded/lamp", '{"state":"ON"}', retain=True)
            await bench.recorder.report_of(lamp, is_on)
            # Mosquitto has at most 20 messages with QoS 1 under way.
            for _ in range(30):
                device.publish("crowded/lamp/availability", "x" * (LARGEST_PACKET + 1))
            device.publish("crowded/lamp/availability", '{"state":"offline"}')
            await bench.recorder.report_of(lamp, is_absent)
        device.close()

    @pytest.mark.parametrize("step", [1, 3, 64])
    async def test_they_are_acknowledged_even_if_they_arrive_in_pieces(self, step: int) -> None:
        written, received = bytearray(), list[bytes]()
        connection = Connection(lambda _, payload: received.append(payload), version=V311, keepalive=60, largest_packet=20)
        transport = MagicMock(spec=asyncio.Transport)
        transport.write, transport.is_closing.return_value = written.extend, False
        connection.connection_made(transport)
        data = packets.to_publish(7, "topic", b"x" * 40, V311, None) + packets.to_publish(8, "topic", b"on", V311, None)
        for at in range(0, len(data), step):
            connection.data_received(data[at : at + step])
        assert (bytes(written), received, connection.skipped) == (b"\x40\x02\x00\x07\x40\x02\x00\x08", [b"on"], 1)
        connection.data_received(b"\x32\x1e\xff\xff" + b"x" * 28)
        transport.abort.assert_called_once_with()


class TestLimits:
    @pytest.mark.parametrize(
        ("properties", "limits"),
        [
            (b"", (None, 65_535)),
            (b"\x24\x00", (None, 65_535)),
            (b"\x13\x00\x0a", (10, 65_535)),
            # A user property (two texts), a reason string, and the largest packet come before the limits.
            (b"\x26\x00\x01a\x00\x01b\x1f\x00\x02ok\x27\x00\x01\x00\x00\x21\x00\x14\x13\x00\x3c", (60, 20)),
            (b"\x21\x00\x00", (None, 65_535)),  # 0 is not allowed
            (b"\x21\x00", (None, 65_535)),
            (b"\x7b\x21\x00\x14", (None, 65_535)),  # 0x7b is not a property
        ],
    )
    def test_they_are_read_from_the_properties(self, properties: bytes, limits: tuple[int | None, int]) -> None:
        connack = packets.from_connack(b"\x00\x00" + bytes((len(properties),)) + properties, V5)
        assert (connack.reason, (connack.keepalive, connack.receive_maximum)) == (0, limits)
