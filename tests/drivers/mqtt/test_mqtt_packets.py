"""Packets, and a connection that receives them in any pieces, and invalid data."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domogate.drivers.mqtt import packets
from domogate.drivers.mqtt.connection import BrokerRefused, Connection, ConnectionLost
from domogate.drivers.mqtt.packets import V5, V311, Malformed
from support.mosquitto import _publication

TOPICS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0+#"), min_size=1, max_size=40)


class RecordingTransport(asyncio.Transport):
    """A transport that records the written data."""

    def __init__(self) -> None:
        super().__init__()
        self.written = b""
        self.closed = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.written += bytes(data)

    def is_closing(self) -> bool:
        return self.closed

    def close(self) -> None:
        self.closed = True

    abort = close


class FedConnection:
    """A connection with such a transport, and the messages that it delivered."""

    def __init__(self, version: int = V5, largest_packet: int = 1000) -> None:
        self.delivered: list[tuple[bytes, bytes]] = []
        self.connection = Connection(
            lambda topic, payload: self.delivered.append((topic, payload)),
            version=version,
            keepalive=30,
            largest_packet=largest_packet,
        )
        self.wire = RecordingTransport()
        self.connection.connection_made(self.wire)


def feed(pieces: list[bytes], **how: int) -> FedConnection:
    async def run() -> FedConnection:
        fed = FedConnection(**how)
        for piece in pieces:
            fed.connection.data_received(piece)
        return fed

    return asyncio.run(run())


def publish(topic: str, payload: bytes) -> bytes:
    """As a broker sends it with MQTT 5.0: QoS 0, no properties."""
    encoded = topic.encode()
    body = len(encoded).to_bytes(2, "big") + encoded + b"\x00" + payload
    return b"\x30" + packets.to_varint(len(body)) + body


class TestNumbers:
    @given(st.integers(0, 268_435_455), st.binary(max_size=3))
    def test_a_number_is_read_as_it_was_written(self, number: int, before: bytes) -> None:
        written = packets.to_varint(number)
        assert packets.from_varint(before + written, len(before)) == (number, len(before) + len(written))

    # MQTT 5.0 §1.5.5, table 1-1.
    @pytest.mark.parametrize(
        ("number", "written"), [(127, b"\x7f"), (128, b"\x80\x01"), (16_383, b"\xff\x7f"), (16_384, b"\x80\x80\x01")]
    )
    def test_the_standard_s_own_examples(self, number: int, written: bytes) -> None:
        assert packets.to_varint(number) == written

    @pytest.mark.parametrize("endless", [b"", b"\x80", b"\xff\xff\xff\xff", b"\xff\xff\xff\xff\x01"])
    def test_a_number_that_does_not_end_is_malformed(self, endless: bytes) -> None:
        with pytest.raises(Malformed):
            packets.from_varint(endless, 0)


class TestReading:
    @given(st.lists(st.tuples(TOPICS, st.binary(max_size=300)), max_size=6), st.lists(st.integers(1, 400), max_size=20))
    def test_messages_are_the_same_in_whatever_pieces_they_come(
        self, messages: list[tuple[str, bytes]], cuts: list[int]
    ) -> None:
        stream, pieces = b"".join(publish(*message) for message in messages), []
        for cut in cuts:
            pieces.append(stream[:cut])
            stream = stream[cut:]
        fed = feed([*pieces, stream])
        assert fed.delivered == [(topic.encode(), payload) for topic, payload in messages]

    @given(st.lists(st.binary(max_size=200), max_size=5), st.sampled_from((V5, V311)))
    def test_any_bytes_at_all_end_the_connection_at_worst(self, pieces: list[bytes], version: int) -> None:
        feed(pieces, version=version)

    @given(st.integers(1, 5000))
    def test_what_is_larger_than_allowed_is_passed_over_without_being_kept(self, cut: int) -> None:
        stream = publish("big", b"x" * 4000) + publish("small", b"y")
        fed = feed([stream[:cut], stream[cut:]])
        assert fed.delivered == [(b"small", b"y")]
        assert fed.connection.skipped == 1

    def test_properties_of_a_message_are_passed_over(self) -> None:
        # Payload format indicator (0x01) and message expiry interval (0x02), as in MQTT 5.0 §3.3.2.3.
        body = b"\x00\x01t" + b"\x07\x01\x01\x02\x00\x00\x00\x3c" + b"payload"
        assert feed([b"\x31" + bytes((len(body),)) + body]).delivered == [(b"t", b"payload")]

    def test_a_message_of_quality_1_is_acknowledged(self) -> None:
        fed = feed([b"\x32\x07\x00\x01t\x12\x34\x00p"])
        assert fed.delivered == [(b"t", b"p")]
        assert fed.wire.written == b"\x40\x02\x12\x34"

    def test_version_3_1_1_has_no_properties(self) -> None:
        assert feed([_publication(b"t", b"\x00p")], version=V311).delivered == [(b"t", b"\x00p")]


class TestLoggingIn:
    @pytest.mark.parametrize(
        ("version", "connack", "words"),
        [
            (V5, b"\x20\x03\x00\x86\x00", "bad user name or password"),
            (V5, b"\x20\x03\x00\x87\x00", "not authorized"),
            (V5, b"\x20\x02\x00\x01", "unsupported protocol version"),
            (V311, b"\x20\x02\x00\x05", "not authorized"),
        ],
    )
    async def test_a_refusal_has_words(self, version: int, connack: bytes, words: str) -> None:
        fed = FedConnection(version)
        asyncio.get_running_loop().call_soon(fed.connection.data_received, connack)
        with pytest.raises(BrokerRefused, match=words):
            await fed.connection.log_in("me", None, None)

    async def test_it_starts_clean_and_its_session_ends_with_the_connection(self) -> None:
        fed = FedConnection()
        asyncio.get_running_loop().call_soon(fed.connection.data_received, b"\x20\x03\x00\x00\x00")
        await fed.connection.log_in("me", "anna", "secret")
        flags, properties = fed.wire.written[9], fed.wire.written[12:23]
        assert flags == 0xC2, "user name, password, clean start, no will"
        assert properties[1:6] == b"\x11\x00\x00\x00\x00"
        fed.connection.close()

    async def test_a_goodbye_of_the_broker_says_why(self) -> None:
        fed = FedConnection()
        fed.connection.data_received(b"\xe0\x02\x8e\x00")
        fed.connection.connection_lost(None)
        assert "taken over" in await fed.connection.lost

    async def test_a_caller_that_waits_for_an_acknowledgement_learns_that_the_connection_is_lost(self) -> None:
        fed = FedConnection()
        ack = fed.connection.publish("t", b"p", 5)
        fed.connection.connection_lost(OSError("reset"))
        with pytest.raises(ConnectionLost, match="reset"):
            await ack
        with pytest.raises(ConnectionLost):
            fed.connection.publish("t", b"p", 5)


class TestRetained:
    def test_retained_messages_can_go_elsewhere(self) -> None:
        async def run() -> tuple[list[bytes], list[bytes]]:
            usual: list[bytes] = []
            retained: list[bytes] = []
            connection = Connection(
                lambda _, payload: usual.append(payload),
                version=V311,
                keepalive=30,
                largest_packet=100,
                deliver_retained=lambda _, payload: retained.append(payload),
            )
            connection.connection_made(RecordingTransport())
            message = _publication(b"topic", b"new")
            connection.data_received(message + bytes((message[0] | packets.RETAIN,)) + _publication(b"topic", b"old")[1:])
            return usual, retained

        assert asyncio.run(run()) == ([b"new"], [b"old"])

    @pytest.mark.parametrize("version", [V5, V311])
    def test_a_retained_message_without_an_expiry(self, version: int) -> None:
        packet = packets.to_publish(7, "a", b"x", version, None, retain=True)
        assert packet[0] == packets.PUBLISH | 0x02 | packets.RETAIN
        assert packets.from_publish(packet[0], packet[2:], version) == (b"a", b"x", b"\x00\x07")
