"""Direct requests: the connection runs the coroutine of a read itself, and a task continues it only if it waits."""

import asyncio
import gc
import tracemalloc
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from domogate.common.http_messages import Answer, Request
from domogate.edge.direct import AT_ONCE, DirectRequests, Handler, Reply, Send, print_headers
from domogate.edge.protocol import GuardedProtocol
from domogate.edge.request_ids import current_request_id
from support.edge_server import GET, POST, Recorder, raw_connection, serving

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

    def find_handler(self, method: str, url: bytes) -> Handler | None:
        return not_called

    async def answer(self, request: Request, _: Handler, send: Send) -> None:
        self.requests.append(request)
        current_request_id.set("of-this-read")
        body = await self._answer(request)
        send((200, b"content-length: %d\r\n" % len(body), body))

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        raise AssertionError("every request of these tests is a direct request")


class UnknownStatus(DirectApp):
    """An app whose replies cannot be sent, because their status is not known."""

    def __init__(self, wait: bool) -> None:
        super().__init__(no_answer)
        self._wait = wait

    async def answer(self, request: Request, _: Handler, send: Send) -> None:
        if self._wait:
            await asyncio.sleep(0)
        send((999, b"", b""))


async def count_steady(app: DirectApp) -> int:
    """Return the number of started reads when it has not grown in 200 rounds of the event loop.

    Client and server are in this event loop. So a slow machine delays the rounds in the same way.
    """
    count = rounds = 0
    while not count or rounds < 200:
        await asyncio.sleep(0.001)
        rounds = rounds + 1 if len(app.requests) == count else 0
        count = len(app.requests)
    return count


def run(app: DirectApp, replies: list[Reply]) -> asyncio.Task[None] | None:
    reads = DirectRequests(app)
    read = reads.find("GET", b"/x", [], keep_alive=True)
    assert read is not None
    return reads.run(read, b"", ("192.0.2.1", 5), replies.append, asyncio.get_running_loop())


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

    async def test_several_may_wait_for_the_same_future(self) -> None:
        shared = asyncio.get_running_loop().create_future()

        async def answer(_: Request) -> bytes:
            body: bytes = await shared
            return body

        async def wait_in_a_task() -> bytes:
            body: bytes = await shared
            return body

        replies: list[Reply] = []
        app = DirectApp(answer)
        tasks = [run(app, replies), run(app, replies), asyncio.create_task(wait_in_a_task())]
        await asyncio.sleep(0)
        tasks.append(run(app, replies))
        shared.set_result(b"shared")  # before the last task waits
        await asyncio.gather(*[task for task in tasks if task is not None])
        assert [body for _, _, body in replies] == [b"shared"] * 3

    async def test_one_whose_future_fails_gets_the_error(self) -> None:
        shared = asyncio.get_running_loop().create_future()

        async def answer(_: Request) -> bytes:
            try:
                await shared
            except ValueError as error:
                return str(error).encode()
            return b"no error"

        replies: list[Reply] = []
        task = run(DirectApp(answer), replies)
        assert task is not None
        await asyncio.sleep(0)
        shared.set_exception(ValueError("it failed"))
        await task
        assert [body for _, _, body in replies] == [b"it failed"]


class TestConnection:
    on_both_loops = True

    async def test_a_read_that_waits_is_answered_before_the_server_stops(self) -> None:
        stop, started, may_go_on = asyncio.Event(), asyncio.Event(), asyncio.Event()
        options: dict[str, Any] = {"stop": stop, "drain": 60.0, "on_drain": may_go_on.set}

        async def answer(_: Request) -> bytes:
            started.set()
            await may_go_on.wait()
            return b"last"

        app = DirectApp(answer)
        async with serving(app, direct=app, **options) as bound, raw_connection(bound.port) as connection:
            await connection.send(GET)
            await started.wait()
            stop.set()
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
            assert await count_steady(app) < 100  # as many as the system buffers, and one more
            for _ in range(200):
                assert len((await connection.read_answer())[3]) == 400_000
        assert len(app.requests) == 200

    @pytest.mark.parametrize("answered", [0, AT_ONCE], ids=["at once", "in the next round"])
    @pytest.mark.parametrize("waits", [False, True], ids=["before it waits", "while it waits"])
    async def test_a_read_that_is_cancelled_closes_its_connection(self, answered: int, waits: bool) -> None:
        shared, waiting = asyncio.get_running_loop().create_future(), asyncio.Event()
        if not waits:
            shared.cancel()

        async def answer(_: Request) -> bytes:
            if len(app.requests) > answered:
                waiting.set()
                await shared
            return b"answered"

        app = DirectApp(answer)
        async with serving(app, direct=app) as bound, raw_connection(bound.port) as connection:
            await connection.send(GET * (answered + 2))
            for _ in range(answered):
                assert (await connection.read_answer())[3] == b"answered"
            await asyncio.wait_for(waiting.wait(), 60)
            shared.cancel()
            assert await connection.is_closed()
        assert len(app.requests) == answered + 1

    async def test_a_reply_that_cannot_be_sent_closes_its_connection(self, caplog: pytest.LogCaptureFixture) -> None:
        for wait in (False, True):
            app = UnknownStatus(wait)
            async with serving(app, direct=app) as bound, raw_connection(bound.port) as connection:
                await connection.send(GET)
                assert await connection.is_closed()
        assert caplog.text.count("a request failed without an answer") == 2

    @pytest.mark.parametrize("answers_directly", [True, False])
    async def test_an_idle_connection_does_not_keep_the_bytes_of_a_request(self, answers_directly: bool) -> None:
        app = Recorder()
        app.answers_directly = answers_directly
        post = POST + b"Content-Length: 2\r\n\r\nab"
        async with serving(app) as bound, raw_connection(bound.port) as connection:
            for pieces in ([GET], [GET], [post], [GET[:9], GET[9:]]):
                for piece in pieces:
                    await connection.send(piece)
                assert (await connection.read_answer())[0] == 200
                assert {one.head for one in gc.get_objects() if type(one) is GuardedProtocol} == {b""}

    async def test_the_address_is_that_of_the_client_behind_a_trusted_proxy(self) -> None:
        async def answer(request: Request) -> bytes:
            return request.address.encode()

        app, forwarded = DirectApp(answer), GET[:-2] + b"X-Forwarded-For: 203.0.113.9\r\n\r\n"
        for proxies, address in (((), b"127.0.0.1"), (("127.0.0.1",), b"203.0.113.9")):
            async with serving(app, direct=app, trusted_proxies=proxies) as bound, raw_connection(bound.port) as connection:
                for _ in range(2):
                    await connection.send(forwarded)
                    assert (await connection.read_answer())[3] == address


def test_a_large_answer_pauses_its_connection_in_every_version_of_python(monkeypatch: pytest.MonkeyPatch) -> None:
    def write_without_pause(transport: Any, pieces: Any) -> None:
        """Fail, because in some versions of Python this method never pauses the protocol (CVE-2024-12254)."""
        raise AssertionError("writelines was called")

    async def answer(_: Request) -> bytes:
        return b" " * 400_000

    async def read() -> None:
        app = DirectApp(answer)
        async with serving(app, direct=app) as bound, raw_connection(bound.port) as connection:
            # Client and server have transports of the same class.
            monkeypatch.setattr(type(connection.writer.transport), "writelines", write_without_pause)
            await connection.send(GET)
            assert len((await connection.read_answer())[3]) == 400_000

    with asyncio.Runner(loop_factory=asyncio.new_event_loop) as runner:  # The classes of uvloop cannot be changed.
        runner.run(read())


class TestKeptRequests:
    @pytest.mark.parametrize(("requests", "headers"), [(20_000, 1), (1_000, 200)])
    def test_they_are_bounded_by_bytes(self, requests: int, headers: int) -> None:
        reads = DirectRequests(DirectApp(no_answer))
        tracemalloc.start()
        try:
            for number in range(requests):
                read = reads.find(
                    "GET", b"/%d" % number, [(b"x%d" % i, b"%d" % number) for i in range(headers)], keep_alive=True
                )
                assert read is not None
                reads.keep(b"GET /%d" % number + b" " * 1_000, read)
            assert tracemalloc.get_traced_memory()[0] < 8_000_000
        finally:
            tracemalloc.stop()
        assert reads.find_kept(b"GET /0" + b" " * 1_000) is None
        assert reads.find_kept(b"GET /%d" % (requests - 1) + b" " * 1_000) is not None

    def test_one_that_is_used_often_does_not_displace_the_others(self) -> None:
        reads = DirectRequests(DirectApp(no_answer))
        for head in (b"GET /rare", *[b"GET /often"] * 5_000):
            read = reads.find_kept(head) or reads.find("GET", b"/x", [], keep_alive=True)
            assert read is not None
            reads.keep(head, read)
        assert reads.find_kept(b"GET /rare") is not None


class TestHeaders:
    @pytest.mark.parametrize("header", [(b"x", b"a\r\nb"), (b"x", b"a\0"), (b"x y", b"a"), (b"x:", b"a")])
    def test_one_that_could_end_its_line_is_not_printed(self, header: tuple[bytes, bytes]) -> None:
        with pytest.raises(ValueError, match="invalid header"):
            print_headers([header])
