"""Direct reads: the connection runs the coroutine of a read itself, and a task continues it only if it waits."""

import asyncio
import tracemalloc
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from domogate.common.http_messages import Answer, Request
from domogate.edge.direct import DirectReads, Reader, Reply, print_headers
from domogate.edge.request_ids import current_request_id
from support.edge_server import GET, raw_connection, serving

pytestmark = pytest.mark.slow


async def not_called(_: Request) -> Answer:
    raise AssertionError("the app answers by itself")


async def no_answer(_: Request) -> bytes:
    return b""


class DirectApp:
    """An app whose reads are given by the test. Its ASGI side answers nothing."""

    def __init__(self, answer: Callable[[Request], Coroutine[Any, Any, bytes]]) -> None:
        self._answer = answer
        self.requests: list[Request] = []

    def find_reader(self, url: bytes) -> Reader | None:
        return not_called

    async def read(self, request: Request, _: Reader) -> Reply:
        self.requests.append(request)
        current_request_id.set("of-this-read")
        body = await self._answer(request)
        return 200, b"content-length: %d\r\n" % len(body), body

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        raise AssertionError("every request of these tests is a direct read")


def run(app: DirectApp, replies: list[Reply]) -> asyncio.Task[None] | None:
    reads = DirectReads(app)
    read = reads.find(b"/x", [], keep_alive=True)
    assert read is not None
    return reads.run(read, ("192.0.2.1", 5), replies.append)


class TestCoroutine:
    async def test_one_that_does_not_wait_needs_no_task(self) -> None:
        tasks: list[asyncio.Task[Any] | None] = []

        async def answer(_: Request) -> bytes:
            tasks.append(asyncio.current_task())
            return b"at once"

        replies: list[Reply] = []
        here = asyncio.current_task()
        assert run(DirectApp(answer), replies) is None
        assert [body for _, _, body in replies] == [b"at once"]
        assert tasks == [here]
        assert current_request_id.get() is None

    async def test_one_that_waits_is_continued_in_a_task_and_no_step_runs_twice(self) -> None:
        may_go_on, steps = asyncio.Event(), list[str]()

        async def answer(_: Request) -> bytes:
            steps.append("before")
            await may_go_on.wait()
            async with asyncio.timeout(60):  # This needs a task.
                await asyncio.sleep(0)
            steps.append(f"after, {current_request_id.get()}")
            return b"later"

        replies: list[Reply] = []
        task = run(DirectApp(answer), replies)
        assert task is not None
        await asyncio.sleep(0)
        assert (steps, replies) == (["before"], [])
        may_go_on.set()
        await task
        assert steps == ["before", "after, of-this-read"]
        assert [body for _, _, body in replies] == [b"later"]

    async def test_one_that_is_cancelled_may_clean_up_and_even_wait(self) -> None:
        steps: list[str] = []

        async def answer(_: Request) -> bytes:
            try:
                await asyncio.Event().wait()
            finally:
                await asyncio.sleep(0)
                steps.append("cleaned up")
            return b""

        replies: list[Reply] = []
        task = run(DirectApp(answer), replies)
        assert task is not None
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert (steps, replies) == (["cleaned up"], [])


class TestConnection:
    on_both_loops = True

    async def test_a_read_that_waits_is_answered_before_the_server_stops(self) -> None:
        stop, started, may_go_on = asyncio.Event(), asyncio.Event(), asyncio.Event()

        async def answer(_: Request) -> bytes:
            started.set()
            await may_go_on.wait()
            return b"last"

        app = DirectApp(answer)
        async with serving(app, direct=app, stop=stop, drain=60.0) as bound, raw_connection(bound.port) as connection:
            await connection.send(GET)
            await started.wait()
            stop.set()
            asyncio.get_running_loop().call_later(0.3, may_go_on.set)
            _, _, headers, body = await connection.read_answer()
            assert (headers["connection"], body) == ("close", b"last")
            assert await connection.is_closed()

    async def test_a_client_that_leaves_does_not_end_its_read(self) -> None:
        started, may_go_on, ended = asyncio.Event(), asyncio.Event(), asyncio.Event()

        async def answer(_: Request) -> bytes:
            started.set()
            await may_go_on.wait()
            ended.set()
            return b"nobody hears this"

        app = DirectApp(answer)
        async with serving(app, direct=app) as bound:
            async with raw_connection(bound.port) as connection:
                await connection.send(GET)
                await started.wait()
            may_go_on.set()
            await asyncio.wait_for(ended.wait(), 30)

    async def test_an_answer_that_the_client_does_not_take_stops_its_next_reads(self) -> None:
        async def answer(_: Request) -> bytes:
            return b" " * 400_000

        app = DirectApp(answer)
        async with serving(app, direct=app) as bound, raw_connection(bound.port, limit=1024) as connection:
            connection.writer.write(GET * 200)
            await asyncio.sleep(0.5)
            started = len(app.requests)
            assert started < 100  # as many as the system buffers, and one more
            for _ in range(200):
                assert len((await connection.read_answer())[3]) == 400_000
        assert len(app.requests) == 200

    async def test_the_address_is_that_of_the_client_behind_a_trusted_proxy(self) -> None:
        async def answer(request: Request) -> bytes:
            return request.address.encode()

        app, forwarded = DirectApp(answer), GET[:-2] + b"X-Forwarded-For: 203.0.113.9\r\n\r\n"
        for proxies, address in (((), b"127.0.0.1"), (("127.0.0.1",), b"203.0.113.9")):
            async with serving(app, direct=app, trusted_proxies=proxies) as bound, raw_connection(bound.port) as connection:
                for _ in range(2):
                    await connection.send(forwarded)
                    assert (await connection.read_answer())[3] == address


class TestKeptRequests:
    def test_they_are_bounded_by_bytes(self) -> None:
        reads = DirectReads(DirectApp(no_answer))
        tracemalloc.start()
        try:
            for number in range(20_000):
                read = reads.find(b"/%d" % number, [(b"x", b"%d" % number)], keep_alive=True)
                assert read is not None
                reads.keep(b"GET /%d" % number + b" " * 1_000, read)
            assert tracemalloc.get_traced_memory()[0] < 8_000_000
        finally:
            tracemalloc.stop()
        assert reads.find_kept(b"GET /0" + b" " * 1_000) is None
        assert reads.find_kept(b"GET /19999" + b" " * 1_000) is not None

    def test_one_that_is_used_often_does_not_displace_the_others(self) -> None:
        reads = DirectReads(DirectApp(no_answer))
        for head in (b"GET /rare", *[b"GET /often"] * 5_000):
            read = reads.find_kept(head) or reads.find(b"/x", [], keep_alive=True)
            assert read is not None
            reads.keep(head, read)
        assert reads.find_kept(b"GET /rare") is not None


class TestHeaders:
    @pytest.mark.parametrize("header", [(b"x", b"a\r\nb"), (b"x", b"a\0"), (b"x y", b"a"), (b"x:", b"a")])
    def test_one_that_could_end_its_line_is_not_printed(self, header: tuple[bytes, bytes]) -> None:
        with pytest.raises(ValueError, match="invalid header"):
            print_headers([header])
