"""The version of MQTT: 5, or 3.1.1 if the broker does not know 5. Such a broker refuses the login, or closes the connection."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest

from domogate.drivers.mqtt import MqttBroker, broker_connection, packets
from domogate.drivers.mqtt.discovery import collect_announcements, try_connection
from domogate.drivers.mqtt.packets import V5, V311
from support.mqtt_setup import running_driver

pytestmark = pytest.mark.slow

ANNOUNCED = "tasmota/discovery/A/config"


class Logins:
    """A broker that answers each login as `answer` says. An empty answer closes the connection."""

    def __init__(self, answer: Callable[[int], bytes]) -> None:
        self._answer = answer
        self.versions: list[int] = []
        self.accepted: list[int] = []
        self.ended = asyncio.Event()
        self._open = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open += 1
        self.ended.clear()
        try:
            await self._answer_login(reader, writer)
        finally:
            writer.close()
            self._open -= 1
            if not self._open:
                self.ended.set()

    async def _answer_login(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readexactly(2)
        version = (await reader.readexactly(head[1]))[6]
        self.versions.append(version)
        answer = self._answer(version)
        writer.write(answer)
        if answer.endswith(b"\x00"):
            self.accepted.append(version)
            await self._announce(reader, writer)

    async def _announce(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(4096):
            if data[0] == packets.SUBSCRIBE:
                _, at = packets.from_varint(data, 1)
                filters = 5
                writer.write(b"\x90" + bytes((2 + filters,)) + data[at : at + 2] + bytes(filters))
                topic = len(ANNOUNCED).to_bytes(2, "big") + ANNOUNCED.encode()
                writer.write(b"\x30" + bytes((len(topic) + 2,)) + topic + b"{}")


@asynccontextmanager
async def logins_at(answer: Callable[[int], bytes]) -> AsyncIterator[tuple[Logins, MqttBroker]]:
    logins = Logins(answer)
    server = await asyncio.start_server(logins.serve, "127.0.0.1", 0)
    async with server:
        yield logins, MqttBroker(url=f"mqtt://127.0.0.1:{server.sockets[0].getsockname()[1]}")
        await logins.ended.wait()


class TestOldBrokers:
    @pytest.mark.parametrize("refusal", [b"", b"\x20\x02\x00\x01"])
    async def test_a_search_finds_devices(self, refusal: bytes) -> None:
        async with logins_at(lambda version: refusal if version == V5 else b"\x20\x02\x00\x00") as (logins, settings):
            assert await collect_announcements(settings, 0.2) == {ANNOUNCED: b"{}"}
            await try_connection(settings)
            assert logins.accepted == [V311, V311]


class TestNewBrokers:
    async def test_a_broker_that_was_not_ready_is_used_with_mqtt_5(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(broker_connection, "FIRST_PAUSE", 1.0)
        monkeypatch.setattr(broker_connection, "LONGEST_PAUSE", 1.0)
        times: list[float] = []

        def answer(version: int) -> bytes:
            """A proxy in front of a broker: it closes all connections until the broker is ready. This happens in a pause."""
            times.append(asyncio.get_running_loop().time())
            if len(times) <= 3 or times[-1] - times[-2] < 0.4:
                return b""
            return b"\x20\x03\x00\x00\x00" if version == V5 else b"\x20\x02\x00\x00"

        async with logins_at(answer) as (logins, settings), running_driver(settings) as bench:
            await bench.recorder.until(lambda: bool(logins.accepted))
            assert logins.accepted == [V5]
