"""One connection to a broker: packets in both directions, acknowledgements, and keep-alive.

To handle many small messages fast, the connection does not decode topics and payloads. It passes them as bytes to the
function `deliver` (Decision 0037).
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, cast

from domogate.drivers.mqtt import packets
from domogate.drivers.mqtt.packets import FAILURE, V5, Malformed

Deliver = Callable[[bytes, bytes], None]

_FILTERS_A_PACKET = 200
_ACKNOWLEDGED_WITHIN = 10.0
_LAST_PACKET_ID = 65_535


class ConnectionLost(Exception):
    """The connection was lost or could not be opened. The message tells the operator why."""


class BrokerRefused(Exception):
    """The broker refused the login, so there is no connection. `reason` is the code of MQTT 5.0 §2.4."""

    def __init__(self, reason: int) -> None:
        super().__init__(packets.words_for(reason))
        self.reason = reason


class Connection(asyncio.Protocol):
    """An open connection. The future `lost` ends when the connection is lost or closed; its result is the reason as text."""

    def __init__(
        self,
        deliver: Deliver,
        *,
        version: int,
        keepalive: int,
        largest_packet: int,
        deliver_retained: Deliver | None = None,
    ) -> None:
        """`deliver_retained` gets the retained messages, `deliver` all others. If only `deliver` is given, it gets both."""
        loop = asyncio.get_running_loop()
        self._loop = loop
        self._deliver = deliver
        self._deliver_retained = deliver_retained or deliver
        self.version = version
        self._keepalive = keepalive
        self._largest_packet = largest_packet
        self._transport: asyncio.Transport | None = None
        self._rest = b""
        self._to_skip = 0
        self._connack: asyncio.Future[packets.Connack] = loop.create_future()
        self._acks: dict[int, asyncio.Future[bytes]] = {}
        self._packet_id = 0
        self._unacknowledged: set[int] = set()
        """The packet ids of the messages that the broker has not acknowledged yet."""
        self._receive_maximum, self._has_qos_1 = _LAST_PACKET_ID, True
        self._is_paused = False
        self._may_write = asyncio.Event()
        self._received_at = loop.time()
        self._keep_alive_timer: asyncio.TimerHandle | None = None
        self._disconnect_reason = ""
        self.skipped = 0
        """Number of packets that were skipped because they were too large."""
        self.lost: asyncio.Future[str] = loop.create_future()

    # open and close

    async def log_in(
        self, client_id: str, username: str | None, password: str | None, will: tuple[str, bytes] | None = None
    ) -> None:
        """Log in, and wait until the broker has accepted the login. `will` is the topic and the payload of the last will.

        Raises BrokerRefused, ConnectionLost.
        """
        connect = packets.to_connect(
            client_id,
            version=self.version,
            keepalive=self._keepalive,
            username=username,
            password=password,
            largest_packet=self._largest_packet,
            will=will,
        )
        self._write(connect)
        connack = await self._connack
        if connack.reason >= FAILURE:
            raise BrokerRefused(connack.reason)
        self._receive_maximum, self._has_qos_1 = connack.receive_maximum, connack.has_qos_1
        self._keepalive = min(self._keepalive, connack.keepalive or self._keepalive)
        self._keep_alive_timer = self._loop.call_later(self._keepalive / 2, self._keep_alive)

    def close(self) -> None:
        """Send the packet DISCONNECT, and close the connection."""
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(packets.DISCONNECT_PACKET)
            self._transport.close()
        self._end("closed")

    def _abort(self, why: str) -> None:
        if self._transport is not None:
            self._transport.abort()
        self._end(why)

    def _end(self, why: str) -> None:
        if self._keep_alive_timer is not None:
            self._keep_alive_timer.cancel()
        if not self.lost.done():
            self.lost.set_result(why)
        self._may_write.set()
        waiting: list[asyncio.Future[Any]] = [self._connack, *self._acks.values()]
        for one in waiting:
            if not one.done():
                one.set_exception(ConnectionLost(why))
                one.exception()  # marks the exception as retrieved: there may be no caller
        self._acks.clear()

    def _keep_alive(self) -> None:
        if self._loop.time() - self._received_at > 1.5 * self._keepalive:
            self._abort(f"nothing was received from the broker for {1.5 * self._keepalive:g} seconds")
            return
        self._write(packets.PING)
        self._keep_alive_timer = self._loop.call_later(self._keepalive / 2, self._keep_alive)

    # requests

    async def subscribe(self, filters: Sequence[tuple[str, int]]) -> list[int]:
        """Subscribe to the topic filters, each with its QoS. Return one reason code for each filter. Raises ConnectionLost."""
        reasons: list[int] = []
        for start in range(0, len(filters), _FILTERS_A_PACKET):
            some = filters[start : start + _FILTERS_A_PACKET]
            packet_id, ack = self._expect_ack()
            self._write(packets.to_subscribe(packet_id, some, self.version))
            codes = await self._acknowledged(packet_id, ack)
            reasons += codes if len(codes) == len(some) else [FAILURE] * len(some)
        return reasons

    async def unsubscribe(self, filters: Sequence[str]) -> None:
        """Unsubscribe, and wait until the broker has acknowledged it. Raises ConnectionLost."""
        for start in range(0, len(filters), _FILTERS_A_PACKET):
            packet_id, ack = self._expect_ack()
            self._write(packets.to_unsubscribe(packet_id, filters[start : start + _FILTERS_A_PACKET], self.version))
            await self._acknowledged(packet_id, ack)

    async def wait_writable(self) -> None:
        """Wait until the next message can be published, or until the connection is lost.

        The broker limits the number of messages that it has not acknowledged yet (MQTT 5.0 §4.9).
        """
        while not self.lost.done() and (self._is_paused or len(self._unacknowledged) >= self._receive_maximum):
            self._may_write.clear()
            await self._may_write.wait()

    def publish(self, topic: str, payload: bytes, expiry: int | None = None, *, retain: bool = False) -> asyncio.Future[bytes]:
        """Send a message once. The returned future has the broker's reason code as one byte, or raises ConnectionLost.

        Call `wait_writable` directly before this method, without another `await` in between. A broker that has only QoS 0
        acknowledges nothing. With such a broker, the returned future has the code for success at once.

        With MQTT 5, the broker drops a message that it could not pass on within `expiry` seconds. This method itself raises
        ConnectionLost if the connection is already lost.
        """
        if not self._has_qos_1:
            return self._publish_unacknowledged(topic, payload, expiry, retain=retain)
        packet_id, ack = self._expect_ack()
        self._unacknowledged.add(packet_id)
        self._write(packets.to_publish(packet_id, topic, payload, self.version, expiry, retain=retain))
        return ack

    def _publish_unacknowledged(self, topic: str, payload: bytes, expiry: int | None, *, retain: bool) -> asyncio.Future[bytes]:
        if self.lost.done():
            raise ConnectionLost(self.lost.result())
        self._write(packets.to_publish(None, topic, payload, self.version, expiry, retain=retain))
        sent: asyncio.Future[bytes] = self._loop.create_future()
        sent.set_result(b"\0")
        return sent

    def _expect_ack(self) -> tuple[int, asyncio.Future[bytes]]:
        if self.lost.done():
            raise ConnectionLost(self.lost.result())
        for _ in range(_LAST_PACKET_ID):
            self._packet_id = self._packet_id % _LAST_PACKET_ID + 1
            if self._packet_id not in self._acks:
                ack = self._acks[self._packet_id] = self._loop.create_future()
                return self._packet_id, ack
        self._abort("the broker does not acknowledge messages")
        raise ConnectionLost(self.lost.result())

    async def _acknowledged(self, packet_id: int, ack: "asyncio.Future[bytes]") -> bytes:
        # An acknowledgement that has arrived counts, even if the gateway itself was busy until the timeout.
        await asyncio.wait((ack,), timeout=_ACKNOWLEDGED_WITHIN)
        if not ack.done():
            self._acks.pop(packet_id, None)
            self._abort(f"the broker did not acknowledge a subscription within {_ACKNOWLEDGED_WITHIN:g} seconds")
            raise ConnectionLost(self.lost.result())
        return ack.result()

    def _write(self, data: bytes) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(data)

    # asyncio.Protocol

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop has its own class

    def connection_lost(self, exc: Exception | None) -> None:
        self._end(self._disconnect_reason or (f"the connection failed: {exc}" if exc else "the broker closed the connection"))

    def pause_writing(self) -> None:
        self._is_paused = True

    def resume_writing(self) -> None:
        self._is_paused = False
        self._may_write.set()

    def data_received(self, data: bytes) -> None:
        self._received_at = self._loop.time()
        if self._to_skip:
            skipped = min(self._to_skip, len(data))
            self._to_skip -= skipped
            data = data[skipped:]
        try:
            self._read(self._rest + data if self._rest else data)
        except Malformed as malformed:
            self._abort(f"the broker sent invalid MQTT: {malformed}")

    def _read(self, data: bytes) -> None:
        at, end = 0, len(data)
        while end - at >= 2:
            # The length is decoded here and not in a function, because this runs for every message.
            size, start = data[at + 1], at + 2
            if size > 127:
                if end - at < 5 and not any(digit < 128 for digit in data[at + 1 : end]):
                    break
                size, start = packets.from_varint(data, at + 1)
            stop = start + size
            if size > self._largest_packet:
                if not self._acknowledge_skipped(data[at], data[start:stop], size):
                    break
                self.skipped += 1
                self._to_skip = max(0, stop - end)
                at = min(stop, end)
                continue
            if stop > end:
                break
            self._handle(data[at], data[start:stop])
            at = stop
        self._rest = data[at:]

    def _acknowledge_skipped(self, first: int, body: bytes, size: int) -> bool:
        """Acknowledge a message that is skipped because it is too large.

        `body` is the part of the body that has arrived, `size` is the size of the whole body. The broker stops sending if too
        many of its messages are not acknowledged. Return False if the packet id of the message has not arrived yet. Raises
        Malformed if the message is too short for a packet id.
        """
        if first & 0xF0 != packets.PUBLISH or not first & packets.QOS:
            return True
        at = 2 + int.from_bytes(body[:2], "big")
        if at + 2 > size:
            raise Malformed("a PUBLISH whose parts are longer than itself")
        if len(body) < at + 2:
            return False
        self._write(packets.to_puback(body[at : at + 2]))
        return True

    def _handle(self, first: int, body: bytes) -> None:
        kind = first & 0xF0
        if kind == packets.PUBLISH:
            topic, payload, packet_id = packets.from_publish(first, body, self.version)
            if packet_id is not None:
                self._write(packets.to_puback(packet_id))
            (self._deliver_retained if first & packets.RETAIN else self._deliver)(topic, payload)
        elif kind == packets.PUBACK:
            own_packet_id, reason = packets.from_ack(body, self.version)
            self._unacknowledged.discard(own_packet_id)
            self._may_write.set()
            self._acknowledge(own_packet_id, bytes((reason,)))
        elif kind in (packets.SUBACK, packets.UNSUBACK):
            self._acknowledge(*packets.from_suback(body, self.version))
        elif kind == packets.CONNACK:
            if not self._connack.done():
                self._connack.set_result(packets.from_connack(body, self.version))
        elif kind == packets.DISCONNECT:
            reason = packets.from_disconnect(body) if self.version == V5 else 0
            self._disconnect_reason = f"the broker ended the connection: {packets.words_for(reason)}" if reason else ""
        elif kind != packets.PINGRESP:
            raise Malformed(f"a packet of type 0x{kind:02x}, which was not requested")

    def _acknowledge(self, packet_id: int, codes: bytes) -> None:
        ack = self._acks.pop(packet_id, None)
        if ack is not None and not ack.done():
            ack.set_result(codes)
