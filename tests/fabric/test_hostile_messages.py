"""Messages of a stranger, or of a faulty gateway, on the NATS server of a cluster."""

import asyncio
import math
import random
from collections.abc import AsyncIterator, Callable, Iterator

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from nats.aio.client import Client
from nats.aio.msg import Msg

from domogate.domain.commands import SetLight, SwitchPlug
from domogate.domain.faults import DeviceTimeout, Internal
from domogate.domain.ids import Id
from domogate.fabric import nats as nats_fabric
from domogate.fabric.connection import NatsAccess
from domogate.fabric.messages import (
    LONGEST_WAIT,
    Answer,
    Execute,
    NotAMessage,
    Pictured,
    Read,
    Refused,
    Reported,
    Request,
    TakePicture,
    decode_answer,
    decode_request,
    encode,
)
from domogate.fabric.pictures import split_picture
from domogate.fabric.progress import NatsProgress
from domogate.identity.rate_sharing import RateSharing
from domogate.identity.rates import RateWindows, parse_rate
from support.clocks import ManualClock
from support.devices import make_id
from support.fabric_setup import LARGE, PLANT, PLUG, REPORT, SHARD, Side, connected, order_within
from support.log_lines import capture_logs
from support.nats_server import NatsServer, nats_server

SUBJECT = f"test.shard.{SHARD}"
EXECUTE = Execute("order 1", PLANT, PLUG, SwitchPlug(on=True), None, 5.0)
VALID: list[Request | Answer] = [
    EXECUTE,
    Execute("order 2", PLANT, PLUG, SetLight(on=True, level=50), make_id(3), 5.0),
    Read(PLANT, PLUG, 5.0),
    TakePicture(PLANT, PLUG, 5.0),
    Reported(REPORT),
    Pictured("image/png", b"content", 3),
    Refused("DeviceOffline", "gone"),
]
DEEP = b"\x97\xa7execute" + b"\x91" * 3_000
WRONG = [
    b"",
    b"nonsense",
    DEEP,
    encode(["explode", PLANT, PLUG, 5.0]),
    encode(["read", PLANT, PLUG]),
    encode(["read", PLANT, 7, 5.0]),
    encode(["read", "../../etc/passwd", PLUG, 5.0]),
    encode(["read", PLANT, PLUG, math.nan]),
    encode(["read", PLANT, PLUG, math.inf]),
    encode(["read", PLANT, PLUG, 2 * LONGEST_WAIT]),
    encode(["execute", "x" * 300, PLANT, PLUG, {"do": "switch plug", "on": True}, None, 5.0]),
    encode(["execute", "a\0b", PLANT, PLUG, {"do": "switch plug", "on": True}, None, 5.0]),
    encode(["execute", "order", PLANT, PLUG, {"do": "self destruct"}, None, 5.0]),
    encode(Reported(REPORT)),
    encode(EXECUTE) + bytes(10_000),
    bytes(60_000),
]


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """A valid message in which some bytes are changed, missing or added."""
    content = bytearray(encode(draw(st.sampled_from(VALID))))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(content)))
        content[start : start + draw(st.integers(0, 3))] = draw(st.binary(max_size=4))
    return bytes(content)


async def flush(client: Client) -> None:
    """Wait until the server has received all messages and subscriptions. The ping of one flush can be sent before them."""
    for _ in range(2):
        await client.flush()


class TestDecoding:
    @given(st.one_of(st.binary(max_size=200), damaged()))
    def test_bytes_are_a_valid_message_or_refused(self, content: bytes) -> None:
        try:
            request = decode_request(content)
        except NotAMessage:
            pass
        else:
            assert abs(request.left) <= LONGEST_WAIT
            assert len(request.plant_id) == len(request.module_id) == 36
        try:
            answer = decode_answer(content)
        except NotAMessage:
            return
        assert not isinstance(answer, Refused) or len(answer.fault().message) <= 1_000

    @pytest.mark.parametrize("content", WRONG)
    def test_wrong_requests_are_refused(self, content: bytes) -> None:
        with pytest.raises(NotAMessage):
            decode_request(content)

    @given(st.binary(max_size=300))
    def test_bytes_about_rates_are_ignored_if_they_are_not_valid(self, content: bytes) -> None:
        windows = RateWindows()
        RateSharing(windows, ManualClock(), lambda _: None).receive(content)
        assert len(windows) == 0

    @pytest.mark.slow
    def test_counts_for_any_number_of_keys_take_bounded_memory(self) -> None:
        windows, rate = RateWindows(), parse_rate("5/day")
        own = windows.find("own", rate)
        for number in range(100_100):
            windows.add(f"key {number}", rate, 1.0, 1)
        windows.add("own", rate, 1.0, 3)
        assert len(windows) == 100_000
        assert own.count(1.0) == 3, "a key in use here is still counted"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NatsServer]:
    with nats_server(tmp_path_factory.mktemp("nats")) as running:
        yield running


@pytest.fixture
async def a(server: NatsServer) -> AsyncIterator[Side]:
    async with connected(NatsAccess(servers=(server.url,))) as side:
        yield side


@pytest.fixture
async def stranger(server: NatsServer) -> AsyncIterator[Client]:
    client = Client()
    await client.connect(server.url)
    yield client
    await client.close()


@pytest.fixture
async def b(server: NatsServer) -> AsyncIterator[Side]:
    async with connected(NatsAccess(servers=(server.url,))) as side:
        side.fabric.hold((SHARD,))
        await side.settle()
        yield side


async def publish_raw(server: NatsServer, lines: bytes) -> None:
    """Send lines of the protocol that the library refuses to send."""
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(b'CONNECT {"verbose":false}\r\n' + lines + b"PING\r\n")
    while not (await reader.readline()).startswith(b"PONG"):
        pass
    writer.close()


class TestAStranger:
    async def test_does_not_stop_the_messages_between_gateways(
        self, a: Side, b: Side, stranger: Client, server: NatsServer
    ) -> None:
        asked: list[str] = []
        answers: list[Id] = []
        progress = NatsProgress(b.connection, "test")
        await progress.start(lambda asker, _cursor: asked.append(asker), lambda member_id, _cursor: answers.append(member_id))
        sharing = RateSharing(RateWindows(), ManualClock(), lambda _: None)
        await b.fabric.on_usage(sharing.receive)
        woken = 0

        def wake() -> None:
            nonlocal woken
            woken += 1

        await b.fabric.on_feed(wake)
        await b.connection.flush()
        progress.ask(1)  # The subject for answers is random. A stranger who listens can see it.
        subjects = [SUBJECT, "test.usage", "test.progress", "test.feed"]
        with capture_logs() as logs:
            choose = random.Random(7)
            for number in range(4_000):
                content = choose.choice([*WRONG, choose.randbytes(50)])
                reply = choose.choice(["", "nobody.listens", SUBJECT, "test.feed", "_INBOX.nobody"])
                await stranger.publish(subjects[number % 4], content, reply)
            for subject in (SUBJECT, "test.shards", "secret.subject", "test.progress.x y", "x" * 900):
                await stranger.publish("test.progress", msgspec.msgpack.encode([subject, 1 << 62]))
            await stranger.publish("test.progress", msgspec.msgpack.encode(["test.progress." + "0" * 16, 7]))
            await flush(stranger)
            await publish_raw(server, b"PUB test.feed \xff\xfe 2\r\nhi\r\nPUB test.feed 2\r\nhi\r\n")
            async with asyncio.timeout(60):
                while woken < 1_001 or not asked:
                    await asyncio.sleep(0.01)
            assert await a.fabric.execute(order_within(60)) == REPORT
            assert await a.fabric.take_picture(PLANT, PLUG, order_within(60).deadline) == LARGE
        assert asked == ["test.progress." + "0" * 16], "answers go only to gateways"
        assert [order.command for order in b.host.orders] == [SwitchPlug(on=True)]
        warnings = [entry for entry in logs if entry["log_level"] != "debug"]
        assert {entry["event"] for entry in warnings} == {
            "messages of other gateways are not valid",
            "messages about the progress of gateways are not valid",
            "messages about rates are not valid",
        }
        assert len(warnings) == 3, "each problem is logged once a minute, and the connection was not lost"
        assert max(len(str(entry)) for entry in warnings) < 500

    async def test_cannot_answer_with_a_long_id(self, b: Side, stranger: Client) -> None:
        requests: asyncio.Queue[Msg] = asyncio.Queue()
        await stranger.subscribe("test.progress", cb=requests.put)
        await flush(stranger)
        answers: asyncio.Queue[Id] = asyncio.Queue()
        progress = NatsProgress(b.connection, "test")
        await progress.start(lambda _asker, _cursor: None, lambda member_id, _cursor: answers.put_nowait(member_id))
        await b.connection.flush()
        async with asyncio.timeout(60):
            progress.ask(1)
            inbox = msgspec.msgpack.decode((await requests.get()).data)[0]
            for sender in ("x" * 101, make_id(1)):
                await stranger.publish(inbox, msgspec.msgpack.encode([sender, 1]))
            assert await answers.get() == make_id(1)

    async def test_sends_requests_without_a_reply_subject_in_vain(self, a: Side, b: Side, stranger: Client) -> None:
        await stranger.publish(SUBJECT, encode(EXECUTE))
        await flush(stranger)
        order = order_within(60)
        assert await a.fabric.execute(order) == REPORT
        assert {executed.id for executed in b.host.orders} == {order.id}

    async def test_cannot_fill_the_memory_with_requests_that_wait(
        self, b: Side, stranger: Client, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(nats_fabric, "_MOST_ANSWERING", 5)
        b.host.hangs = True
        refused: asyncio.Queue[Msg] = asyncio.Queue()
        await stranger.subscribe("answers", cb=refused.put)
        for number in range(50):
            await stranger.publish(SUBJECT, encode(msgspec.structs.replace(EXECUTE, id=f"order {number}")), "answers")
        async with asyncio.timeout(60):
            for _ in range(45):
                answer = decode_answer((await refused.get()).data)
                assert isinstance(answer, Refused)
                assert isinstance(answer.fault(), DeviceTimeout)
        assert len(b.host.orders) == 5


def first_and_parts() -> tuple[bytes, list[bytes]]:
    first, parts = split_picture(LARGE, 100_000)
    return encode(first), parts


def swap(parts: list[bytes]) -> list[bytes]:
    return [parts[1], parts[0], *parts[2:]]


class TestAFaultyAnswer:
    @pytest.mark.parametrize(
        "content",
        [
            b"",
            b"\xff" * 100,
            encode(Pictured("image/png", b"", 0)),
            encode(Reported(msgspec.structs.replace(REPORT, module_id=make_id(9)))),
            encode(["reported", {"plant_id": PLANT}]),
            encode(EXECUTE),
        ],
    )
    async def test_becomes_an_error_of_the_gateway(self, a: Side, stranger: Client, content: bytes) -> None:
        async def answer(message: Msg) -> None:
            await message.respond(content)

        holder = await stranger.subscribe(SUBJECT, cb=answer)
        await flush(stranger)
        with pytest.raises(Internal, match="not valid"):
            await a.fabric.execute(order_within(60))
        await holder.unsubscribe()

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("spoil", "fault"),
        [
            (swap, Internal),
            (lambda parts: [parts[0], *parts], Internal),
            (lambda parts: [b"" for _ in parts], Internal),
            (lambda parts: [bytes(900_000), *parts], Internal),
            (lambda parts: parts[:-1], DeviceTimeout),
        ],
    )
    async def test_with_wrong_parts_is_not_shown_as_a_picture(
        self, a: Side, stranger: Client, spoil: Callable[[list[bytes]], list[bytes]], fault: type[Exception]
    ) -> None:
        async def answer(message: Msg) -> None:
            first, parts = first_and_parts()
            for content in (first, *spoil(parts)):
                await stranger.publish(message.reply, content)

        holder = await stranger.subscribe(SUBJECT, cb=answer)
        await flush(stranger)
        seconds = 60.0 if fault is Internal else 1.0
        with pytest.raises(fault):
            await a.fabric.take_picture(PLANT, PLUG, order_within(seconds).deadline)
        await holder.unsubscribe()
