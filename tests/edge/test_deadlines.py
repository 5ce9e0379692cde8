"""Timeouts of clients. Delays by the gateway, or by an earlier answer, do not count against a client."""

import asyncio
import time
from collections.abc import Iterable
from itertools import chain, count
from typing import Any

import msgspec
import pytest

from domogate.edge import protocol
from domogate.edge.connections import Connections
from domogate.edge.guards import CHECKED_AT_ONCE, Guards, Limits
from domogate.edge.protocol import GuardedProtocol
from domogate.edge.writing import WRITER
from support.edge_server import (
    GET,
    POST,
    QUICK,
    RawConnection,
    Recorder,
    check_refusal,
    exchange,
    raw_connection,
    respond,
    serving,
)

pytestmark = pytest.mark.slow


async def keep_sending(connection: RawConnection, piece: bytes = b"more") -> None:
    for _ in range(200):
        await connection.send(piece)
        await asyncio.sleep(0.05)


class TestDeadlines:
    on_both_loops = True

    @pytest.mark.parametrize("start", [b"G", b"\r\nG", b"GET /x HTTP/1.1\r\nHost: a\r\nX:"], ids=repr)
    @pytest.mark.usefixtures("each_way")
    async def test_a_header_section_that_does_not_end_is_408_and_the_end(self, start: bytes) -> None:
        app = Recorder()
        async with serving(app, QUICK) as bound, raw_connection(bound.port) as connection:
            await connection.send(start)
            check_refusal(await connection.read_answer(), 408)
            assert await connection.is_closed()
        assert app.seen == []

    @pytest.mark.usefixtures("each_way")
    async def test_an_empty_line_after_a_request_leaves_the_connection_idle(self) -> None:
        """Some clients send an empty line after the body of a POST request (RFC 9112 §2.2)."""
        limits = Limits(header_deadline=0.4, body_deadline=20, keep_alive=20)
        async with serving(Recorder(), limits) as bound, raw_connection(bound.port) as connection:
            await connection.send(POST + b"Content-Length: 2\r\n\r\nhi" + b"\r\n")
            assert (await connection.read_answer())[0] == 200
            await connection.send(b"\r")
            await connection.send(b"\n")
            await asyncio.sleep(1.2)  # longer than the header deadline and two sweeps
            await connection.send(GET)
            assert (await connection.read_answer())[0] == 200

    @pytest.mark.parametrize("used", [False, True])
    async def test_empty_lines_do_not_keep_a_connection_open(self, *, used: bool) -> None:
        limits = Limits(header_deadline=0.4, body_deadline=20, keep_alive=0.4)
        async with serving(Recorder(), limits) as bound, raw_connection(bound.port) as connection:
            if used:
                await connection.send(GET)
                assert (await connection.read_answer())[0] == 200
            sender = asyncio.create_task(keep_sending(connection, b"\r\n"))
            assert await connection.is_closed()
            sender.cancel()
            await asyncio.gather(sender, return_exceptions=True)

    @pytest.mark.usefixtures("each_way")
    async def test_dripping_does_not_extend_it(self) -> None:
        limits = Limits(header_deadline=0.4, body_deadline=20, keep_alive=20)
        async with serving(Recorder(), limits) as bound, raw_connection(bound.port) as connection:
            await connection.send(b"GET /x HTTP/1.1\r\nHost: a\r\nX: ")
            answer = asyncio.create_task(connection.read_answer())
            for _ in range(100):
                await connection.send(b"a")
                await asyncio.sleep(0.05)
                if answer.done():
                    break
            check_refusal(await answer, 408)

    @pytest.mark.usefixtures("each_way")
    async def test_a_body_that_does_not_end_is_408_and_its_app_is_told(self) -> None:
        app = Recorder()
        async with serving(app, QUICK) as bound, raw_connection(bound.port) as connection:
            await connection.send(POST + b"Content-Length: 5\r\n\r\nhel")
            check_refusal(await connection.read_answer(), 408)
            assert await connection.is_closed()
            await asyncio.wait_for(app.disconnected.wait(), 30)

    async def test_a_body_cut_after_the_answer_began_is_a_plain_close(self) -> None:
        async def early(scope: Any, receive: Any, send: Any) -> None:
            await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"4")]})
            await send({"type": "http.response.body", "body": b"ab", "more_body": True})
            while (await receive())["type"] != "http.disconnect":
                pass

        async with serving(early, QUICK) as bound, raw_connection(bound.port) as connection:
            await connection.send(POST + b"Content-Length: 5\r\n\r\nhel")
            everything = await connection.read_all()
            assert everything.endswith(b"\r\n\r\nab")
            assert b"408" not in everything

    async def test_a_body_that_comes_after_its_answer_is_dropped_and_the_connection_lives(self) -> None:
        async def early(scope: Any, receive: Any, send: Any) -> None:
            await respond(send, 413, scope["path"].encode())

        async with serving(early) as bound, raw_connection(bound.port) as connection:
            await connection.send(POST + b"Content-Length: 5\r\n\r\nhel")
            assert (await connection.read_answer())[0] == 413
            await connection.send(b"lo" + GET.replace(b"/x", b"/next"))
            assert (await connection.read_answer())[3] == b"/next"

    async def test_one_that_never_ends_after_its_answer_is_cut(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(protocol, "_LINGER", 0.3)

        async def early(scope: Any, receive: Any, send: Any) -> None:
            await respond(send, 413)

        async with serving(early) as bound, raw_connection(bound.port) as connection:
            await connection.send(POST + b"Transfer-Encoding: chunked\r\n\r\n")
            assert (await connection.read_answer())[0] == 413
            with pytest.raises(ConnectionError):
                await keep_sending(connection, b"4\r\nmore\r\n")

    @pytest.mark.parametrize("head", [GET.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"), b"GET /x HTTP/1.0\r\n\r\n"])
    async def test_a_client_that_does_not_read_the_last_answer_of_its_connection_is_cut(self, head: bytes) -> None:
        answered = asyncio.Event()

        async def answer(scope: Any, receive: Any, send: Any) -> None:
            scope[WRITER].transport.set_write_buffer_limits(high=1 << 30)  # So few bytes wait that writing is not paused.
            await respond(send, 200, b" " * 20_000_000)
            answered.set()

        connections = Connections()
        limits = Limits(header_deadline=20, body_deadline=0.4, keep_alive=20)
        async with (
            serving(answer, limits, connections=connections) as bound,
            raw_connection(bound.port, limit=1024) as connection,
        ):
            await connection.send(head)
            await asyncio.wait_for(answered.wait(), 30)
            assert len(connections) == 1
            async with asyncio.timeout(30):
                while len(connections):
                    await asyncio.sleep(0.05)

    @pytest.mark.usefixtures("each_way")
    async def test_a_connection_that_sends_nothing_is_closed_at_the_header_deadline(self) -> None:
        limits = Limits(header_deadline=0.4, body_deadline=600, keep_alive=600)
        async with serving(Recorder(), limits) as bound, raw_connection(bound.port) as connection:
            assert await connection.is_closed()

    async def test_one_answered_before_its_body_came_is_closed_after_keep_alive_too(self) -> None:
        async def early(scope: Any, receive: Any, send: Any) -> None:
            await respond(send, 413)

        async with serving(early, QUICK) as bound, raw_connection(bound.port) as connection:
            await connection.send(POST + b"Content-Length: 5\r\n\r\nhel")
            assert (await connection.read_answer())[0] == 413
            await connection.send(b"lo")
            assert await connection.is_closed()

    @pytest.mark.usefixtures("each_way")
    async def test_an_idle_connection_is_closed_without_a_word_after_keep_alive(self) -> None:
        async with serving(Recorder(), QUICK) as bound, raw_connection(bound.port) as connection:
            await connection.send(GET)
            assert (await connection.read_answer())[0] == 200
            assert await connection.is_closed()

    async def test_a_slow_app_is_not_cut(self) -> None:
        async def slow(scope: Any, receive: Any, send: Any) -> None:
            await asyncio.sleep(1.0)  # longer than all limits of QUICK
            await respond(send, 200)

        async with serving(slow, QUICK) as bound:
            assert (await exchange(bound.port, GET))[0] == 200

    async def test_an_app_that_does_not_read_is_not_the_client_s_fault(self) -> None:
        async def late(scope: Any, receive: Any, send: Any) -> None:
            await asyncio.sleep(1.0)
            size = 0
            while True:
                message = await receive()
                size += len(message["body"])
                if not message["more_body"]:
                    break
            await respond(send, 200, str(size).encode())

        async with serving(late, QUICK) as bound, raw_connection(bound.port) as connection:
            body = b"b" * 2_000_000
            connection.writer.write(POST + b"Content-Length: %d\r\n\r\n" % len(body) + body)
            status, _, _, answer = await connection.read_answer()
            assert (status, answer) == (200, b"2000000")

    async def test_the_time_in_which_nobody_read_is_not_counted(self) -> None:
        may_read, all_but_one = asyncio.Event(), asyncio.Event()

        async def late(scope: Any, receive: Any, send: Any) -> None:
            await may_read.wait()
            size, more = 0, True
            while more:
                message = await receive()
                size, more = size + len(message["body"]), message["more_body"]
                if size == 100_000:
                    all_but_one.set()
            await respond(send, 200)

        async with serving(late, QUICK) as bound, raw_connection(bound.port) as connection:
            await connection.send(POST + b"Content-Length: 100001\r\n\r\n" + b"b" * 100_000)
            await asyncio.sleep(2 * QUICK.body_deadline)
            may_read.set()
            await asyncio.wait_for(all_but_one.wait(), 30)
            await connection.send(b"b")
            assert (await connection.read_answer())[0] == 200

    @pytest.mark.usefixtures("each_way")
    async def test_the_time_in_which_the_gateway_stood_still_is_not_counted(self) -> None:
        limits = msgspec.structs.replace(QUICK, header_deadline=1.0)  # six sweeps; at most four happen here
        async with serving(Recorder(), limits) as bound, raw_connection(bound.port) as connection:
            await connection.send(GET[:10])
            await asyncio.sleep(2 * Guards(limits).sweep_interval)
            time.sleep(1.5 * limits.header_deadline)
            await asyncio.sleep(0.01)  # a sweep comes first
            await connection.send(GET[10:])
            assert (await connection.read_answer())[0] == 200

    async def test_a_client_that_does_not_take_its_answer_is_cut(self) -> None:
        ended = asyncio.Event()

        async def endless(scope: Any, receive: Any, send: Any) -> None:
            await send({"type": "http.response.start", "status": 200, "headers": []})
            try:
                for _ in range(10_000):
                    await send({"type": "http.response.body", "body": b"x" * 65_536, "more_body": True})
            finally:
                ended.set()

        async with serving(endless, QUICK) as bound, raw_connection(bound.port, limit=1024) as connection:
            await connection.send(GET)
            await asyncio.wait_for(ended.wait(), 30)

    @pytest.mark.usefixtures("each_way")
    async def test_a_refused_client_that_never_leaves_is_cut(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(protocol, "_LINGER", 0.3)
        async with serving(Recorder()) as bound, raw_connection(bound.port) as connection:
            await connection.send(b"nonsense\r\n\r\n")
            check_refusal(await connection.read_answer(), 400)
            with pytest.raises(ConnectionError):
                await keep_sending(connection)


class GuardedConnection(GuardedProtocol):
    """A connection that only has a deadline."""

    def __init__(self, deadline: float) -> None:
        self.deadline = self.write_deadline = deadline
        self.expired_at: float | None = None

    def expire(self, now: float) -> None:
        self.expired_at = now


class TestSweeps:
    LIMITS = Limits(header_deadline=10)

    async def sweep(self, connection: GuardedConnection, moments: Iterable[float]) -> float | None:
        guards = Guards(self.LIMITS)
        for moment in moments:
            await guards.sweep([connection], moment)
            if connection.expired_at is not None:
                break
        return connection.expired_at

    async def test_they_come_early_rather_than_late(self) -> None:
        assert Guards(Limits()).sweep_interval == 0.5
        assert Guards(Limits(header_deadline=0.1)).sweep_interval == 0.05
        assert await self.sweep(GuardedConnection(110.0), count(100.0, 0.5)) == 109.5

    async def test_one_that_is_late_does_not_count_for_more_than_one(self) -> None:
        assert await self.sweep(GuardedConnection(110.0), [100.0, 160.0]) is None
        assert await self.sweep(GuardedConnection(110.0), chain([100.0], count(160.0, 0.5))) == 169.0

    async def test_a_gateway_that_is_always_late_still_cuts(self) -> None:
        assert await self.sweep(GuardedConnection(110.0), count(100.0, 2.0)) == 138.0

    async def test_other_tasks_run_during_a_sweep_of_many_connections(self) -> None:
        connections = {GuardedConnection(0.0) for _ in range(3 * CHECKED_AT_ONCE)}
        sweeping = asyncio.create_task(Guards(self.LIMITS).sweep(connections, 100.0))
        await asyncio.sleep(0)
        ended = [connection for connection in connections if connection.expired_at is not None]
        closed = next(connection for connection in connections if connection.expired_at is None)
        connections.remove(closed)
        assert len(ended) == CHECKED_AT_ONCE
        await sweeping
        assert closed.expired_at is None
        assert {connection.expired_at for connection in connections} == {100.0}
