"""After a stop, every request that has arrived is answered (Decision 0104), over real sockets and on both ways."""

import asyncio
import contextlib
import errno
import os
import signal
import socket
import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from domogate.edge import accepting, protocol, server
from domogate.edge.listening import hold_new_connections
from support.edge_server import GET, POST, RawConnection, Recorder, exchange, raw_connection, serving
from support.tls import make_self_signed

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("each_way")]

LONG = 30.0
NEVER = 3_600.0


async def adopt(client: socket.socket) -> RawConnection:
    """Read from a socket that the test opened without the event loop."""
    client.setblocking(False)
    return RawConnection(*await asyncio.open_connection(sock=client))


async def wait_refused(port: int) -> None:
    """Wait until the server does not listen any more."""
    async with asyncio.timeout(LONG):
        while True:
            with contextlib.suppress(ConnectionResetError):
                try:
                    _, writer = await asyncio.open_connection("127.0.0.1", port)
                except ConnectionRefusedError:
                    return
                writer.close()
            await asyncio.sleep(0.02)


def is_last(answer: tuple[int, str, dict[str, str], bytes]) -> bool:
    return (answer[0], answer[2].get("connection")) == (200, "close")


class TestARequestThatHasArrived:
    on_both_loops = True

    async def test_on_a_connection_that_is_not_accepted_yet_is_answered(self) -> None:
        stop, clients = asyncio.Event(), list[socket.socket]()

        def connect() -> None:
            for _ in range(3 * accepting._AT_ONCE):
                clients.append(socket.create_connection(("127.0.0.1", bound.port)))
                clients[-1].sendall(GET)

        async with serving(Recorder(), stop=stop, drain=LONG, on_drain=connect) as bound:
            stop.set()
            while not clients:
                await asyncio.sleep(0.01)
            for client in clients:
                connection = await adopt(client)
                assert is_last(await connection.read_answer())
                assert await connection.is_closed()
                connection.writer.close()

    async def test_on_a_connection_for_which_the_system_has_no_free_file_yet_is_answered(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(accepting, "_PAUSE", 0.01)
        accept, stop, no_free_file = socket.socket.accept, asyncio.Event(), asyncio.Event()

        def accept_if_possible(listener: socket.socket) -> Any:
            if no_free_file.is_set():
                raise OSError(errno.EMFILE, "Too many open files")
            return accept(listener)

        def connect() -> None:
            no_free_file.set()
            client.connect(("127.0.0.1", bound.port))
            client.sendall(GET)

        monkeypatch.setattr(socket.socket, "accept", accept_if_possible)
        client = socket.socket()
        async with (
            serving(Recorder(), stop=stop, drain=LONG, on_drain=connect) as bound,
            raw_connection(bound.port) as idle,
        ):
            await idle.send(GET)
            assert (await idle.read_answer())[0] == 200
            stop.set()
            assert await idle.is_closed()
            no_free_file.clear()
            connection = await adopt(client)
            assert is_last(await connection.read_answer())
            connection.writer.close()

    async def test_on_a_connection_that_was_used_before_is_answered(self) -> None:
        stop = asyncio.Event()
        client = socket.socket()
        async with serving(Recorder(), stop=stop, drain=LONG, on_drain=lambda: client.sendall(GET)) as bound:
            client.connect(("127.0.0.1", bound.port))
            client.sendall(GET)
            connection = await adopt(client.dup())
            assert (await connection.read_answer())[2].get("connection") is None
            stop.set()
            assert is_last(await connection.read_answer())
            assert await connection.is_closed()
            connection.writer.close()
        client.close()

    async def test_in_part_is_answered_when_the_rest_arrives(self) -> None:
        stop = asyncio.Event()
        async with (
            serving(Recorder(), stop=stop, drain=LONG) as bound,
            raw_connection(bound.port) as head,
            raw_connection(bound.port) as body,
        ):
            await head.send(GET[:10])
            await body.send(POST + b"Content-Length: 4\r\n\r\nab")
            assert (await exchange(bound.port, GET))[0] == 200, "the server has read all bytes"
            stop.set()
            await wait_refused(bound.port)
            await head.send(GET[10:])
            await body.send(b"cd")
            assert is_last(await head.read_answer())
            assert is_last(await body.read_answer())

    async def test_in_part_is_refused_if_the_rest_does_not_arrive_soon(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(protocol, "_LAST_HEADER_DEADLINE", 0.2)
        stop = asyncio.Event()
        async with serving(Recorder(), stop=stop, drain=NEVER) as bound, raw_connection(bound.port) as connection:
            await connection.send(GET[:10])
            assert (await exchange(bound.port, GET))[0] == 200, "the server has read all bytes"
            stop.set()
            assert (await connection.read_answer())[0] == 408


class TestAConnection:
    on_both_loops = True

    async def test_that_is_new_gets_time_to_send_its_request(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(protocol, "_QUIET", NEVER)
        stop = asyncio.Event()
        async with serving(Recorder(), stop=stop, drain=NEVER) as bound, raw_connection(bound.port) as connection:
            stop.set()
            await wait_refused(bound.port)
            await connection.send(GET)
            assert is_last(await connection.read_answer())

    async def test_that_is_quiet_is_closed(self) -> None:
        stop = asyncio.Event()
        async with (
            serving(Recorder(), stop=stop, drain=NEVER) as bound,
            raw_connection(bound.port) as new,
            raw_connection(bound.port) as used,
        ):
            await used.send(GET)
            assert (await used.read_answer())[0] == 200
            stop.set()
            assert await new.is_closed()
            assert await used.is_closed()

    async def test_is_accepted_after_the_stop_until_a_second_signal(self) -> None:
        drained, app = asyncio.Event(), Recorder()
        direct = app if app.answers_directly else None
        async with server.listen("127.0.0.1", 0, "127.0.0.1", None) as listening:
            running = asyncio.create_task(
                server.run(app, listening, direct=direct, drain=NEVER, notice=NEVER, on_drain=drained.set)
            )
            async with asyncio.timeout(LONG):
                while not running.done() and not app.seen:
                    with contextlib.suppress(ConnectionRefusedError):
                        await exchange(listening.port, GET)
                os.kill(os.getpid(), signal.SIGTERM)
                await drained.wait()
                for _ in range(2):
                    assert is_last(await exchange(listening.port, GET))
                os.kill(os.getpid(), signal.SIGTERM)
                await running

    async def test_with_an_unfinished_tls_handshake_is_answered(self, tmp_path: Path) -> None:
        tls, stop = make_self_signed(tmp_path), asyncio.Event()
        context = ssl.create_default_context(cafile=str(tls.certificate))
        async with serving(Recorder(), stop=stop, drain=NEVER, tls=tls) as bound:
            reader, writer = await asyncio.open_connection("127.0.0.1", bound.port)
            stop.set()
            await wait_refused(bound.port)
            await writer.start_tls(context, server_hostname="127.0.0.1")
            connection = RawConnection(reader, writer)
            await connection.send(GET)
            assert is_last(await connection.read_answer())
            writer.close()


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield listener


class TestNewConnections:
    def test_wait_while_they_are_held_and_the_earlier_ones_work(self, listener: socket.socket) -> None:
        with socket.create_connection(listener.getsockname()) as earlier:
            hold_new_connections(listener)
            with pytest.raises(TimeoutError):
                socket.create_connection(listener.getsockname(), timeout=0.2)
            accepted, _ = listener.accept()
            with accepted:
                earlier.sendall(b"request")
                assert accepted.recv(10) == b"request"
                accepted.sendall(b"answer")
                assert earlier.recv(10) == b"answer"

    async def test_that_were_held_go_to_another_process(self, listener: socket.socket) -> None:
        hold_new_connections(listener)
        connecting = asyncio.create_task(asyncio.open_connection(*listener.getsockname()))
        await asyncio.sleep(0.1)
        with socket.socket() as other:
            other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            other.bind(listener.getsockname())
            other.listen()
            listener.close()
            _, writer = await asyncio.wait_for(connecting, LONG)
            writer.close()
