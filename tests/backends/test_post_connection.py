"""The HTTP client of webhooks against servers that do not keep the rules of HTTP."""

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from domogate.backends import post_connection, webhook_sender
from domogate.backends.webhook_sender import HttpWebhookSender
from domogate.ports import Delivered, Undelivered

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
_WAIT = 60.0

Script = Callable[["Peer"], Awaitable[None]]


class Peer:
    """The server's end of one connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self.requests: list[bytes] = []

    async def read_request(self) -> bytes:
        head = await self._reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
        self.requests.append(head + await self._reader.readexactly(length))
        return self.requests[-1]

    async def send(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()

    async def until_closed(self) -> None:
        try:
            while await self._reader.read(65_536):
                pass
        except ConnectionError:
            pass

    def close(self) -> None:
        self._writer.close()


class Server:
    """Runs one script for each connection; the last script also for all later connections."""

    def __init__(self, *scripts: Script) -> None:
        self._scripts = scripts
        self.peers: list[Peer] = []
        self.ended = asyncio.Semaphore(0)
        self.url = ""

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        peer = Peer(reader, writer)
        self.peers.append(peer)
        try:
            await self._scripts[min(len(self.peers), len(self._scripts)) - 1](peer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # the client closed the connection
        finally:
            peer.close()
            self.ended.release()

    @property
    def requests(self) -> list[bytes]:
        return [request for peer in self.peers for request in peer.requests]


@asynccontextmanager
async def serving(*scripts: Script, deadline: float = _WAIT) -> AsyncIterator[tuple[Server, HttpWebhookSender]]:
    served = Server(*scripts)
    listening = await asyncio.start_server(served.handle, "127.0.0.1", 0)
    served.url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/hook?a=b"
    sender = HttpWebhookSender(("127.0.0.0/8",), deadline)
    async with listening:
        yield served, sender
        await sender.stop()


def says(*answers: bytes, closes: bool = False) -> Script:
    """Answer each request with the next answer. Then close the connection, or wait until the client closes it."""

    async def script(peer: Peer) -> None:
        for answer in answers:
            await peer.read_request()
            await peer.send(answer)
        if not closes:
            await peer.until_closed()

    return script


class TestAnswers:
    @pytest.mark.parametrize(
        ("said", "answer"),
        [
            (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", Delivered(200)),
            (b"HTTP/1.1 204 No Content\r\n\r\n", Delivered(204)),
            (b"HTTP/1.1 503 Wait\r\nretry-AFTER: 7\r\nContent-Length: 2\r\n\r\nno", Delivered(503, 7.0)),
            (b"HTTP/1.1 100 Continue\r\n\r\n" + OK, Delivered(200)),
            (b"HTTP/1.1 103 Early\r\nRetry-After: 9\r\n\r\n" * 3 + OK, Delivered(200)),
        ],
        ids=["chunked", "no body", "retry after", "100 continue", "early hints"],
    )
    async def test_after_a_complete_answer_the_connection_is_used_again(self, said: bytes, answer: Delivered) -> None:
        async with serving(says(said, said)) as (server, sender):
            for _ in range(2):
                assert await sender.post(server.url, b"{}", {}) == answer
        assert len(server.peers) == 1
        assert len(server.requests) == 2

    @pytest.mark.parametrize(
        "said",
        [
            b"HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
            OK + OK,
            OK + b"nonsense",
            b"HTTP/1.1 200 OK\r\nContent-Length: 900000\r\n\r\n" + b"x" * 900_000,
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + b"1;" + b"y" * 90_000,
        ],
        ids=["HTTP/1.0", "close", "a second answer", "more than the answer", "huge body", "huge chunk extension"],
    )
    async def test_after_any_other_answer_the_connection_is_closed(self, said: bytes) -> None:
        async with serving(says(said)) as (server, sender):
            for number in range(1, 3):
                assert (await sender.post(server.url, b"{}", {})).status == 200
                async with asyncio.timeout(_WAIT):
                    await server.ended.acquire()
                assert len(server.peers) == number

    async def test_the_end_of_the_connection_ends_a_body_without_a_length(self) -> None:
        async with serving(says(b"HTTP/1.1 202 Accepted\r\n\r\nsome text", closes=True)) as (server, sender):
            assert (await sender.post(server.url, b"{}", {})).status == 202

    async def test_a_redirect_is_an_answer(self) -> None:
        async with serving(says(b"HTTP/1.1 302 Found\r\nLocation: /other\r\nContent-Length: 0\r\n\r\n")) as (server, sender):
            assert (await sender.post(server.url, b"{}", {})).status == 302
        assert len(server.requests) == 1

    async def test_a_request_has_only_the_expected_lines(self) -> None:
        async with serving(says(OK)) as (server, sender):
            await sender.post(server.url, b"{}", {"x-a": "b"})
            with pytest.raises(ValueError, match="line end"):
                await sender.post(server.url, b"{}", {"x-a": "b\r\nHost: other"})
        lines = server.requests[0].split(b"\r\n")
        assert lines[0] == b"POST /hook?a=b HTTP/1.1"
        assert lines[1] == b"Host: " + server.url.encode().split(b"/")[2]
        assert sorted(line.partition(b":")[0] for line in lines[2:-2]) == sorted(
            [b"User-Agent", b"Accept", b"Accept-Encoding", b"x-a", b"Content-Length"]
        )


class TestBrokenServers:
    @pytest.mark.parametrize(
        "said",
        [
            b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab",
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab",
            b"HTTP/1.1 200 OK\r\nContent-Le",
            b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nabcde",
            b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
            b"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n",
            b"HTTP/1.1 100 Continue\r\n\r\n",
            b"\x16\x03\x01nonsense\r\n\r\n",
        ],
        ids=[
            *("short body", "short chunk", "half a head", "two lengths", "length and chunks", "negative length", "bad chunk"),
            *("upgrade", "only 100", "TLS bytes"),
        ],
    )
    async def test_an_answer_that_is_not_valid_is_a_failure(self, said: bytes) -> None:
        async with serving(says(said, closes=True)) as (server, sender):
            with pytest.raises(Undelivered, match="valid HTTP response"):
                await sender.post(server.url, b"{}", {})

    @pytest.mark.parametrize("piece", [b"HTTP/1.1 100 Continue\r\n\r\n", b"X-Y: z\r\n"], ids=["interim answers", "headers"])
    async def test_an_endless_head_is_cut_off(self, piece: bytes) -> None:
        async def endless(peer: Peer) -> None:
            await peer.read_request()
            await peer.send(b"HTTP/1.1 103 Early\r\n\r\n" if b"HTTP" in piece else b"HTTP/1.1 200 OK\r\n")
            while True:
                await peer.send(piece * 100)

        async with serving(endless) as (server, sender):
            with pytest.raises(Undelivered, match="valid HTTP response"):
                await sender.post(server.url, b"{}", {})
            async with asyncio.timeout(_WAIT):
                await server.ended.acquire()

    @pytest.mark.parametrize("begun", [b"", b"HTTP/1.1 200", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n"])
    async def test_a_slow_answer_ends_at_the_deadline(self, begun: bytes) -> None:
        async with serving(says(begun), deadline=0.1) as (server, sender):
            with pytest.raises(Undelivered, match=r"did not answer within 0\.1 s"):
                await sender.post(server.url, b"{}", {})
            async with asyncio.timeout(_WAIT):
                await server.ended.acquire()

    async def test_the_deadline_also_holds_on_a_connection_that_is_used_again(self) -> None:
        async with serving(says(OK, b""), deadline=0.3) as (server, sender):
            await sender.post(server.url, b"{}", {})
            with pytest.raises(Undelivered, match="did not answer within"):
                await sender.post(server.url, b"{}", {})
        assert len(server.peers) == 1

    async def test_a_cancelled_post_closes_its_connection(self) -> None:
        got = asyncio.Event()

        async def silent(peer: Peer) -> None:
            await peer.read_request()
            got.set()
            await peer.until_closed()

        async with serving(silent) as (server, sender), asyncio.timeout(_WAIT):
            post = asyncio.create_task(sender.post(server.url, b"{}", {}))
            await got.wait()
            post.cancel()
            with pytest.raises(asyncio.CancelledError):
                await post
            await server.ended.acquire()


class TestConnectionsThatAreUsedAgain:
    async def test_a_connection_that_the_server_closes_meanwhile_is_replaced(self) -> None:
        async def closes_at_the_second(peer: Peer) -> None:
            await peer.read_request()
            await peer.send(OK)
            await peer.read_request()

        async with serving(closes_at_the_second, says(OK)) as (server, sender):
            for _ in range(2):
                assert await sender.post(server.url, b"{}", {}) == Delivered(200)
        first, again = server.requests[1:]
        assert first == again
        assert len(server.peers) == 2

    async def test_a_request_is_repeated_only_once(self) -> None:
        async with serving(says(OK, b"", closes=True), says(b"", closes=True)) as (server, sender):
            await sender.post(server.url, b"{}", {})
            with pytest.raises(Undelivered, match="without an answer"):
                await sender.post(server.url, b"{}", {})
        assert len(server.peers) == 2

    async def test_a_request_whose_answer_has_begun_is_not_repeated(self) -> None:
        async with serving(says(OK, b"HTTP/1.1 2", closes=True)) as (server, sender):
            await sender.post(server.url, b"{}", {})
            with pytest.raises(Undelivered, match="valid HTTP response"):
                await sender.post(server.url, b"{}", {})
        assert len(server.requests) == 2

    async def test_an_answer_without_a_request_closes_the_connection(self) -> None:
        async with serving(says(OK), says(OK)) as (server, sender), asyncio.timeout(_WAIT):
            await sender.post(server.url, b"{}", {})
            await server.peers[0].send(OK)
            await server.ended.acquire()
            assert await sender.post(server.url, b"{}", {}) == Delivered(200)
        assert len(server.peers) == 2

    async def test_an_idle_connection_is_closed_after_a_time(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(post_connection, "_IDLE", 0.05)
        async with serving(says(OK)) as (server, sender), asyncio.timeout(_WAIT):
            await sender.post(server.url, b"{}", {})
            await server.ended.acquire()

    async def test_too_many_idle_connections_are_closed(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(webhook_sender, "_MOST_IDLE", 1)
        both = asyncio.Barrier(2)

        async def together(peer: Peer) -> None:
            await peer.read_request()
            await both.wait()
            await peer.send(OK)
            await peer.until_closed()

        async with serving(together) as (server, sender), asyncio.timeout(_WAIT):
            await asyncio.gather(*(sender.post(server.url, b"{}", {}) for _ in range(2)))
            await server.ended.acquire()
            assert server.ended.locked()

    async def test_the_next_address_of_a_name_is_tried(self) -> None:
        async def look_up(_: str) -> list[str]:
            return ["127.0.0.2", "127.0.0.1"]

        async with serving(says(OK)) as (server, _):
            sender = HttpWebhookSender(("127.0.0.0/8",), _WAIT, lookup=look_up)
            with socket.socket() as closed:  # bound, but not listening: a connection to this address is refused
                closed.bind(("127.0.0.2", int(server.url.split(":")[2].split("/")[0])))
                assert await sender.post(server.url.replace("127.0.0.1", "receiver.example"), b"{}", {}) == Delivered(200)
            await sender.stop()
