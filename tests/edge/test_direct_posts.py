"""Direct POST requests: their whole body has arrived, and one task answers them (Decision 0106)."""

import asyncio
import gc
from typing import Any

import pytest

from domogate.common.http_messages import Answer, Request
from domogate.edge.direct import AT_ONCE, Handler, Send
from domogate.edge.guards import Limits
from domogate.edge.protocol import GuardedProtocol
from support.edge_server import PATIENT, POST, raw_connection, respond, serving

pytestmark = pytest.mark.slow

LARGEST = 16_384


def post(body: bytes, more: bytes = b"") -> bytes:
    return POST + more + b"Content-Length: %d\r\n\r\n" % len(body) + body


def all_of_type(kind: type) -> list[Any]:
    return [one for one in gc.get_objects() if type(one) is kind]


async def not_called(_: Request) -> Answer:
    raise AssertionError("the app answers by itself")


class BothWays:
    """An app that answers with the way of the request and with its body. It can hold its answers."""

    def __init__(self) -> None:
        self.may_answer = asyncio.Event()
        self.may_answer.set()
        self.started: list[bytes] = []
        self.ended: list[bytes] = []
        """The bodies of the requests that the app has carried out. A request without its whole body has an empty one."""

    def find_handler(self, _method: str, url: bytes) -> Handler | None:
        return not_called if url.startswith(b"/") else None

    async def answer(self, request: Request, _: Handler, send: Send) -> None:
        self.started.append(request.body)
        async with asyncio.timeout(60):  # This needs a task.
            await self.may_answer.wait()
        self.ended.append(request.body)
        body = b"direct " + request.method.encode() + b" " + request.body
        send((200, b"content-length: %d\r\n" % len(body), body))

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        body, more = b"", True
        await self.may_answer.wait()
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                self.ended.append(b"")
                return
            body, more = body + message["body"], message["more_body"]
        self.ended.append(body)
        await respond(send, 200, b"asgi " + scope["method"].encode() + b" " + body)


async def let_the_server_read() -> None:
    """Wait for some rounds of the event loop. Client and server are in this loop, so this does not depend on speed."""
    for _ in range(100):
        await asyncio.sleep(0)


async def ask(pieces: list[bytes], limits: Limits = PATIENT) -> bytes:
    """Send the pieces in separate packets, and return the body of the first final answer."""
    app = BothWays()
    async with serving(app, limits, direct=app) as bound, raw_connection(bound.port) as connection:
        for piece in pieces:
            await connection.send(piece)
            await let_the_server_read()
        answer = await connection.read_answer()
        return answer[3] if answer[0] == 200 else (await connection.read_answer())[3]


class TestWhichWay:
    @pytest.mark.parametrize("body", [b"", b"a", b"a\r\n\r\nb", b"x" * LARGEST])
    async def test_one_whose_body_has_arrived_is_direct(self, body: bytes) -> None:
        assert await ask([post(body)]) == b"direct POST " + body

    async def test_one_without_a_body_is_direct(self) -> None:
        assert await ask([POST + b"\r\n"]) == b"direct POST "

    async def test_one_whose_header_section_came_in_pieces_is_direct(self) -> None:
        assert await ask([post(b"abc")[:20], post(b"abc")[20:]]) == b"direct POST abc"

    @pytest.mark.parametrize(
        ("pieces", "body"),
        [
            ([post(b"abc")[:-3], b"abc"], b"abc"),
            ([post(b"abc")[:-1], b"c"], b"abc"),
            ([post(b"x" * (LARGEST + 1))], b"x" * (LARGEST + 1)),
            ([post(b"abc", b"Expect: 100-continue\r\n")], b"abc"),
            ([POST + b"Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"], b"abc"),
            ([post(b"abc").replace(b" /x ", b" http://gateway/x ")], b"abc"),
        ],
        ids=["body in the next packet", "last byte in the next packet", "long", "expect", "chunked", "whole URL"],
    )
    async def test_an_unusual_one_goes_through_asgi(self, pieces: list[bytes], body: bytes) -> None:
        assert await ask(pieces) == b"asgi POST " + body

    async def test_another_method_goes_through_asgi(self) -> None:
        assert await ask([post(b"abc").replace(b"POST", b"PUT")]) == b"asgi PUT abc"


class TestKeptHeaderSections:
    async def test_each_request_has_its_own_body(self) -> None:
        app = BothWays()
        async with serving(app, direct=app) as bound, raw_connection(bound.port) as connection:
            for body in (b"one", b"two", b"six"):
                await connection.send(post(body) * 2)
                for _ in range(2):
                    assert (await connection.read_answer())[3] == b"direct POST " + body

    async def test_one_whose_body_comes_later_goes_through_asgi(self) -> None:
        app = BothWays()
        async with serving(app, direct=app) as bound, raw_connection(bound.port) as connection:
            for _ in range(2):
                await connection.send(post(b"abc"))
                assert (await connection.read_answer())[3] == b"direct POST abc"
                await connection.send(post(b"abc")[:-2])
                await let_the_server_read()
                await connection.send(b"bc")
                assert (await connection.read_answer())[3] == b"asgi POST abc"


class TestConnection:
    on_both_loops = True

    async def test_requests_that_are_sent_together_are_answered_in_turn(self) -> None:
        app = BothWays()
        bodies = [b"%d" % number for number in range(3 * AT_ONCE)]
        async with serving(app, direct=app) as bound, raw_connection(bound.port) as connection:
            await connection.send(b"".join(map(post, bodies)))
            for body in bodies:
                assert (await connection.read_answer())[3] == b"direct POST " + body
        assert app.started == bodies

    async def test_the_next_one_starts_only_after_the_answer_to_the_one_before(self) -> None:
        app = BothWays()
        app.may_answer.clear()
        async with serving(app, direct=app) as bound, raw_connection(bound.port) as connection:
            await connection.send(post(b"first") + post(b"second"))
            while not app.started:
                await asyncio.sleep(0.001)
            await let_the_server_read()
            assert app.started == [b"first"]
            app.may_answer.set()
            for body in (b"first", b"second"):
                assert (await connection.read_answer())[3] == b"direct POST " + body

    async def test_one_that_runs_is_answered_before_the_server_stops(self) -> None:
        stop, app = asyncio.Event(), BothWays()
        app.may_answer.clear()
        options: dict[str, Any] = {"stop": stop, "drain": 60.0, "on_drain": app.may_answer.set}
        async with serving(app, direct=app, **options) as bound, raw_connection(bound.port) as connection:
            await connection.send(post(b"last"))
            while not app.started:
                await asyncio.sleep(0.001)
            stop.set()
            _, _, headers, body = await connection.read_answer()
            assert (headers["connection"], body) == ("close", b"direct POST last")
            assert await connection.is_closed()

    async def test_one_that_asks_to_close_is_closed(self) -> None:
        app = BothWays()
        async with serving(app, direct=app) as bound, raw_connection(bound.port) as connection:
            await connection.send(post(b"last", b"Connection: close\r\n") + post(b"too late"))
            _, _, headers, body = await connection.read_answer()
            assert (headers["connection"], body) == ("close", b"direct POST last")
            assert await connection.is_closed()
        assert app.started == [b"last"]

    @pytest.mark.parametrize("target", [b"/x", b"http://gateway/x"], ids=["direct", "ASGI"])
    async def test_one_whose_client_has_left_is_carried_out(self, target: bytes) -> None:
        app = BothWays()
        app.may_answer.clear()
        async with serving(app, direct=app) as bound:
            async with raw_connection(bound.port) as connection:
                await connection.send(post(b"abc").replace(b"/x", target))
                await let_the_server_read()
            await let_the_server_read()
            app.may_answer.set()
            while not app.ended:
                await asyncio.sleep(0.001)
        assert app.ended == [b"abc"]

    async def test_half_a_body_whose_client_has_left_is_not_carried_out(self) -> None:
        app = BothWays()
        async with serving(app, direct=app) as bound:
            async with raw_connection(bound.port) as connection:
                await connection.send(post(b"abc")[:-1])
                await let_the_server_read()
            while not app.ended:
                await asyncio.sleep(0.001)
        assert app.ended == [b""]

    async def test_an_idle_connection_does_not_keep_the_body(self) -> None:
        app = BothWays()
        # Connections of earlier tests may still be in memory.
        earlier = all_of_type(GuardedProtocol)
        async with serving(app, direct=app) as bound, raw_connection(bound.port) as connection:
            for _ in range(2):
                await connection.send(post(b"secret"))
                await connection.read_answer()
                kept = [one for one in all_of_type(GuardedProtocol) if not any(one is other for other in earlier)]
                assert [(one.head, one.body) for one in kept] == [(b"", b"")]
