"""Requests that a client sends ahead: one is handled at a time, and the others cost the gateway nothing."""

import asyncio
import json
import socket
import tracemalloc
from contextlib import suppress
from typing import Any

import pytest

from domogate.edge.guards import Limits
from support.edge_server import GET, POST, QUICK, Recorder, check_refusal, raw_connection, respond, serving

pytestmark = pytest.mark.slow


class HeldApp:
    """Counts its requests, and answers when the test allows it. It waits for the end of its client, as streams do."""

    def __init__(self, size: int = 0) -> None:
        self.open = asyncio.Event()
        self.started = self.running = self.most = 0
        self.size = size

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.started += 1
        self.running += 1
        self.most = max(self.most, self.running)
        await receive()
        gone = asyncio.ensure_future(receive())
        await self.open.wait()
        gone.cancel()
        await respond(send, 200, scope["path"].encode() + b" " * self.size)
        self.running -= 1


class TestPipelining:
    on_both_loops = True

    @pytest.mark.usefixtures("each_way")
    async def test_requests_sent_together_are_answered_in_turn(self) -> None:
        async with serving(Recorder()) as bound, raw_connection(bound.port) as connection:
            await connection.send(b"".join(GET.replace(b"/x", b"/%d" % number) for number in range(20)))
            for number in range(20):
                assert json.loads((await connection.read_answer())[3])["path"] == f"/{number}"

    async def test_a_refusal_waits_for_the_answers_before_it(self) -> None:
        async def slow(scope: Any, receive: Any, send: Any) -> None:
            await asyncio.sleep(0.05)
            await respond(send, 200, scope["path"].encode())

        async with serving(slow) as bound, raw_connection(bound.port) as connection:
            await connection.send(GET + GET.replace(b"/x", b"/y") + b"GET /z HTTP/1.1\r\n\r\n")
            assert (await connection.read_answer())[3] == b"/x"
            assert (await connection.read_answer())[3] == b"/y"
            check_refusal(await connection.read_answer(), 400)
            assert await connection.is_closed()

    @pytest.mark.usefixtures("each_way")
    async def test_a_request_sent_ahead_with_a_broken_body_is_refused_after_the_answer_before_it(self) -> None:
        app = Recorder()
        async with serving(app) as bound, raw_connection(bound.port) as connection:
            broken = POST.replace(b"/x", b"/y") + b"Transfer-Encoding: chunked\r\n\r\nxyz\r\n"
            await connection.send(GET + broken)
            assert (await connection.read_answer())[0] == 200
            check_refusal(await connection.read_answer(), 400)
            await asyncio.wait_for(app.disconnected.wait(), 30)

    async def test_a_slow_first_answer_costs_the_half_sent_second_request_nothing(self) -> None:
        may_answer = asyncio.Event()

        async def slow(scope: Any, receive: Any, send: Any) -> None:
            await may_answer.wait()
            await respond(send, 200, scope["path"].encode())

        async with serving(slow, QUICK) as bound, raw_connection(bound.port) as connection:
            third = GET.replace(b"/x", b"/z")
            await connection.send(GET + GET.replace(b"/x", b"/y") + third[:10])
            await asyncio.sleep(2 * QUICK.header_deadline)
            await connection.send(third[10:])
            may_answer.set()
            for path in (b"/x", b"/y", b"/z"):
                assert (await connection.read_answer())[3] == path


class TestOneAtATime:
    on_both_loops = True

    async def test_the_others_are_not_parsed_and_take_no_memory(self) -> None:
        gate = HeldApp()
        requests = GET * 2_000
        async with serving(gate) as bound, raw_connection(bound.port) as connection:
            tracemalloc.start()
            try:
                connection.writer.write(requests)
                await asyncio.sleep(0.5)
                assert gate.started == 1
                assert tracemalloc.get_traced_memory()[0] < 1_000_000
            finally:
                tracemalloc.stop()
            gate.open.set()
            for _ in range(2_000):
                assert (await connection.read_answer())[0] == 200
        assert gate.most == 1

    async def test_reading_stops_while_an_answer_is_due(self) -> None:
        gate = HeldApp()
        async with serving(gate) as bound:
            with socket.socket() as client:
                client.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 65_536)
                client.connect(("127.0.0.1", bound.port))
                client.setblocking(False)
                sent = 0
                for _ in range(200):
                    with suppress(BlockingIOError):
                        while sent < 50_000_000:
                            sent += client.send(GET * 1_000)
                    await asyncio.sleep(0.005)
                assert sent < 2_000_000
            gate.open.set()

    async def test_a_client_that_does_not_take_its_answers_gets_no_more_of_them(self) -> None:
        gate = HeldApp(size=200_000)
        gate.open.set()
        async with serving(gate) as bound, raw_connection(bound.port, limit=1024) as connection:
            connection.writer.write(GET * 300)
            started = 0
            async with asyncio.timeout(60):
                while not started or gate.started != started:
                    started = gate.started
                    await asyncio.sleep(0.5)
            assert started < 100  # as many as the system buffers, and one more
            for _ in range(300):
                assert (await connection.read_answer())[0] == 200
        assert gate.started == 300

    async def test_the_next_request_waits_until_the_client_has_taken_its_answer(self) -> None:
        gate = HeldApp(size=20_000_000)
        gate.open.set()
        async with serving(gate) as bound, raw_connection(bound.port, limit=1024) as connection:
            connection.writer.write(GET)
            while not gate.started or gate.running:
                await asyncio.sleep(0.01)
            connection.writer.write(GET)
            await asyncio.sleep(0.3)
            assert gate.started == 1
            for _ in range(2):
                assert (await connection.read_answer())[0] == 200
        assert gate.started == 2

    async def test_the_idle_time_begins_when_the_client_has_taken_its_answer(self) -> None:
        gate = HeldApp(size=20_000_000)
        gate.open.set()
        limits = Limits(max_header=2048, header_deadline=20, body_deadline=20, keep_alive=1)
        async with serving(gate, limits) as bound, raw_connection(bound.port, limit=1024) as connection:
            connection.writer.write(GET)
            await asyncio.sleep(2.5)
            assert (await connection.read_answer())[0] == 200
            connection.writer.write(GET)
            assert (await connection.read_answer())[0] == 200, "the connection was closed as idle before its answer was taken"

    @pytest.mark.usefixtures("each_way")
    async def test_a_client_that_goes_away_is_noticed(self) -> None:
        app = Recorder()
        async with serving(app) as bound:
            async with raw_connection(bound.port) as connection:
                await connection.send(POST + b"Content-Length: 5\r\n\r\nhel")
                await asyncio.sleep(0.1)
            await asyncio.wait_for(app.disconnected.wait(), 30)


class TestPieces:
    """A request may be cut into packets at any byte."""

    TOGETHER = (
        b"GET /0 HTTP/1.1\r\nHost: a\r\n\r\n"
        b"POST /1 HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\na\r\n\r\nGET "
        b"POST /2 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n6\r\nb\r\n\r\nc\r\n0\r\nX: y\r\n\r\n"
        b"PUT /3 HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n"
        b"\r\nBREW /4 HTTP/1.1\r\nHost: a\r\n\r\n"
    )
    SEEN = [
        ("GET", "/0", ""),
        ("POST", "/1", "a\r\n\r\nGET "),
        ("POST", "/2", "b\r\n\r\nc"),
        ("PUT", "/3", ""),
    ]

    async def answers(self, port: int, *pieces: bytes) -> list[tuple[str, str, str]]:
        async with raw_connection(port) as connection:
            for piece in pieces:
                await connection.send(piece)
                await asyncio.sleep(0.002)
            records = [json.loads((await connection.read_answer())[3]) for _ in self.SEEN]
        return [(record["method"], record["path"], record["body"]) for record in records]

    @pytest.mark.usefixtures("each_way")
    async def test_two_pieces(self) -> None:
        async with serving(Recorder()) as bound:
            for cut in range(1, len(self.TOGETHER)):
                assert await self.answers(bound.port, self.TOGETHER[:cut], self.TOGETHER[cut:]) == self.SEEN, cut

    @pytest.mark.parametrize("size", [1, 2, 3, 5, 1000])
    @pytest.mark.usefixtures("each_way")
    async def test_pieces_of_one_size(self, size: int) -> None:
        pieces = [self.TOGETHER[at : at + size] for at in range(0, len(self.TOGETHER), size)]
        async with serving(Recorder()) as bound:
            assert await self.answers(bound.port, *pieces) == self.SEEN
