"""Limits on open connections: in total and per address, and the reserve for health checks."""

import asyncio
import errno
import io
import json
import socket
import time
from collections.abc import Iterator
from contextlib import AsyncExitStack, closing, suppress
from typing import Any

import pytest

from domogate.edge import accepting
from domogate.edge.connections import RESERVE, Connections, Place
from domogate.edge.guards import Limits
from domogate.edge.server import Tls
from support.edge_server import GET, QUICK, Recorder, exchange, raw_connection, respond, serving
from support.tls import make_self_signed

HEALTH = b"GET /healthz HTTP/1.1\r\nHost: gateway\r\n\r\n"


async def answer_path(scope: Any, receive: Any, send: Any) -> None:
    await respond(send, 200, scope["path"].encode())


def open_socket(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=10)


class FakeSockets:
    """Sockets without a network."""

    def __init__(self, connections: Connections) -> None:
        self.connections = connections
        self.pairs: list[tuple[socket.socket, socket.socket]] = []

    def add(self, address: str) -> Place:
        ours, theirs = socket.socketpair()
        self.pairs.append((ours, theirs))
        theirs.setblocking(False)
        return self.connections.add(ours, address)

    def was_closed(self, number: int) -> bool:
        with suppress(BlockingIOError):
            return self.pairs[number][1].recv(1) == b""
        return False


@pytest.fixture
def opened() -> Iterator[FakeSockets]:
    opened = FakeSockets(Connections(6, 3, ("192.0.2.0/24",)))
    yield opened
    for ours, theirs in opened.pairs:
        ours.close()
        theirs.close()


class TestCounting:
    def test_an_address_has_a_limit_of_its_own(self, opened: FakeSockets) -> None:
        places = [opened.add("198.51.100.7") for _ in range(4)]
        assert [place.limit for place in places] == [None] * 3 + ["connections_most_per_address"]
        assert opened.add("198.51.100.8").limit is None

    def test_a_network_of_ipv6_is_one_address(self, opened: FakeSockets) -> None:
        limits = [opened.add(f"2001:db8::{number:x}").limit for number in range(4)]
        assert limits[-1] == "connections_most_per_address"
        assert opened.add("2001:db8:0:1::1").limit is None

    def test_a_trusted_proxy_has_only_the_total_limit(self, opened: FakeSockets) -> None:
        limits = [opened.add("192.0.2.1").limit for _ in range(7)]
        assert limits == [None] * 6 + ["connections_most"]

    def test_a_closed_connection_makes_room(self, opened: FakeSockets) -> None:
        places = [opened.add("198.51.100.7") for _ in range(4)]
        places[3].leave()  # it was in the reserve, so closing it frees no normal place
        assert opened.add("198.51.100.7").limit
        for _ in range(2):
            places[0].leave()  # the second time changes nothing
        assert opened.add("198.51.100.7").limit is None
        assert opened.add("198.51.100.7").limit

    def test_all_is_forgotten_in_the_end(self, opened: FakeSockets) -> None:
        places = [opened.add(f"198.51.100.{number}") for number in range(50)]
        for place in places:
            place.leave()
        assert len(opened.connections) == 0
        assert [opened.add("198.51.100.7").limit for _ in range(3)] == [None] * 3

    def test_the_reserve_keeps_the_newest(self, opened: FakeSockets) -> None:
        for _ in range(3 + RESERVE):
            opened.add("198.51.100.7")
        assert not any(opened.was_closed(number) for number in range(3 + RESERVE))
        opened.add("198.51.100.7")
        assert [number for number in range(4 + RESERVE) if opened.was_closed(number)] == [3]
        assert len(opened.connections) == 3 + RESERVE

    def test_refused_ones_are_counted_by_the_setting(self, opened: FakeSockets) -> None:
        for number in range(10):
            opened.add(f"198.51.100.{number}")
        for _ in range(3):
            opened.add("192.0.2.1")
        assert opened.connections.refused == {
            ("connections_most",): 7,
            ("connections_most_per_address",): 0,
            ("system",): 0,
        }

    def test_they_are_logged_once_a_minute_with_a_count(self, opened: FakeSockets, json_log: io.StringIO) -> None:
        opened.connections.log_refused(1000.0)
        for moment in range(1000, 1125):
            opened.add("198.51.100.7")
            opened.connections.log_refused(float(moment))
        lines = [json.loads(line) for line in json_log.getvalue().splitlines()]
        assert [line["count"] for line in lines] == [1, 60, 60]
        assert "198.51.100.7" not in json_log.getvalue()


@pytest.mark.slow
class TestOverSockets:
    on_both_loops = True

    async def test_one_beyond_the_limit_gets_503_and_health_is_still_answered(self) -> None:
        async with serving(answer_path, connections=Connections(6, 2)) as bound, AsyncExitStack() as stack:
            first, second = [await stack.enter_async_context(raw_connection(bound.port)) for _ in range(2)]
            for connection in (first, second):
                await connection.send(GET)
                assert (await connection.read_answer())[0] == 200
            status, _, headers, body = await exchange(bound.port, GET)
            assert (status, headers["retry-after"], headers["connection"]) == (503, "1", "close")
            assert b"connections_most_per_address" in body
            for path in (b"/healthz", b"/readyz", b"/healthz?x"):
                status, _, headers, _ = await exchange(bound.port, HEALTH.replace(b"/healthz", path))
                assert (status, headers["connection"]) == (200, "close")
            await first.send(GET)
            assert (await first.read_answer())[0] == 200

    async def test_a_closed_one_makes_room(self) -> None:
        connections = Connections(6, 1)
        async with serving(answer_path, connections=connections) as bound:
            for _ in range(5):
                assert (await exchange(bound.port, GET))[0] == 200
                async with asyncio.timeout(10):
                    while len(connections):
                        await asyncio.sleep(0.01)

    async def test_a_trusted_proxy_may_have_more(self) -> None:
        proxies = ("127.0.0.1",)
        connections = Connections(60, 1, proxies)
        async with serving(answer_path, connections=connections, trusted_proxies=proxies) as bound, AsyncExitStack() as stack:
            for _ in range(20):
                connection = await stack.enter_async_context(raw_connection(bound.port))
                await connection.send(GET)
                assert (await connection.read_answer())[0] == 200

    async def test_hundreds_of_silent_ones_leave_health_checks_alone(self) -> None:
        connections = Connections(20, 10)
        slow = Limits(header_deadline=60, body_deadline=60, keep_alive=60)
        async with serving(Recorder(), slow, connections=connections) as bound:
            silent = []
            for _ in range(10):
                silent += [open_socket(bound.port) for _ in range(30)]
                started = time.monotonic()
                assert (await exchange(bound.port, HEALTH))[0] == 200
                assert time.monotonic() - started < slow.header_deadline / 2
                assert len(connections) <= 10 + RESERVE
            for client in silent:
                client.close()

    async def test_those_that_are_closed_are_gone(self) -> None:
        connections = Connections(20, 10)
        async with serving(Recorder(), QUICK, connections=connections) as bound:
            silent = [open_socket(bound.port) for _ in range(60)]
            async with asyncio.timeout(20):
                while len(connections):
                    await asyncio.sleep(0.05)
            for client in silent:
                with closing(client):
                    assert await asyncio.to_thread(client.recv, 1) == b""


class FullSocket(socket.socket):
    """A listening socket of a system that has no free file at first."""

    refused = 0

    def accept(self) -> Any:
        self.refused += 1
        if self.refused < 3:
            raise OSError(errno.EMFILE, "Too many open files")
        return super().accept()


class Greeting(asyncio.Protocol):
    def connection_made(self, transport: Any) -> None:
        transport.write(b"hello")
        transport.close()


class TestASystemThatAcceptsNothing:
    on_both_loops = True

    async def test_is_asked_again_after_a_pause_and_counted(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(accepting, "_PAUSE", 0.01)
        connections = Connections()
        with FullSocket() as listener:
            listener.bind(("127.0.0.1", 0))
            listener.setblocking(False)
            listener.listen()
            acceptor = accepting.Acceptor(listener, lambda _: Greeting(), connections, None, 1.0)
            reader, writer = await asyncio.open_connection(*listener.getsockname())
            assert await asyncio.wait_for(reader.read(), 10) == b"hello"
            writer.close()
            acceptor.close()
            await acceptor.wait_closed()
        assert connections.refused[("system",)] == 2


@pytest.mark.slow
class TestTls:
    on_both_loops = True

    @pytest.fixture
    def tls(self, tmp_path: Any) -> Tls:
        return make_self_signed(tmp_path)

    async def test_a_client_that_does_not_begin_tls_is_counted_and_closed(self, tls: Tls) -> None:
        connections = Connections(20, 10)
        async with serving(Recorder(), QUICK, connections=connections, tls=tls) as bound:
            silent = [open_socket(bound.port) for _ in range(60)]
            async with asyncio.timeout(20):
                while not len(connections):
                    await asyncio.sleep(0.01)
                assert len(connections) <= 10 + RESERVE
                while len(connections):
                    await asyncio.sleep(0.05)
            for client in silent:
                client.close()

    async def test_one_that_sends_something_else_makes_room(self, tls: Tls) -> None:
        connections = Connections(20, 10)
        async with serving(Recorder(), connections=connections, tls=tls) as bound:
            for _ in range(30):
                with open_socket(bound.port) as client:
                    client.sendall(GET)
                    with suppress(OSError):
                        await asyncio.to_thread(client.recv, 100)
            async with asyncio.timeout(20):
                while len(connections):
                    await asyncio.sleep(0.05)
