"""Binding, TLS, proxies, the metrics port and the drain, over real sockets."""

import asyncio
import contextlib
import io
import json
import os
import signal
import socket
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from domogate.edge import protocol, server
from domogate.edge.metrics import Metrics
from support.edge_server import exchange, raw_connection, serving
from support.tls import make_self_signed

pytestmark = pytest.mark.slow

GET = b"GET /x HTTP/1.1\r\nHost: gateway\r\n\r\n"


async def describe(scope: Any, receive: Any, send: Any) -> None:
    """Answers with the address of the client."""
    await receive()
    body = json.dumps({"client": scope["client"][0], "scheme": scope["scheme"]}).encode()
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % len(body))]})
    await send({"type": "http.response.body", "body": body})


class HeldApp:
    """An app that answers only when the test allows it."""

    def __init__(self) -> None:
        self.entered = asyncio.Event()
        self.open = asyncio.Event()
        self.cancelled = False

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.entered.set()
        try:
            await self.open.wait()
        except asyncio.CancelledError:
            self.cancelled = True
            raise
        await describe(scope, receive, send)


@pytest.fixture
def self_signed(tmp_path: Path) -> server.Tls:
    return make_self_signed(tmp_path)


class TestListening:
    async def test_port_0_is_a_free_one_and_it_is_told(self) -> None:
        async with serving(describe) as bound:
            assert 0 < bound.port < 65_536
            status, _, headers, _ = await exchange(bound.port, GET)
            assert status == 200
            assert "date" in headers
            assert "server" not in headers

    async def test_the_date_of_the_answers_is_renewed(self) -> None:
        async with serving(describe) as bound:
            first = (await exchange(bound.port, GET))[2]["date"]
            while (await exchange(bound.port, GET))[2]["date"] == first:
                await asyncio.sleep(0.05)

    async def test_a_stop_does_not_wait_for_the_next_date(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(server, "_DATE_PERIOD", 3600.0)
        async with serving(describe) as bound:
            await exchange(bound.port, GET)

    async def test_nothing_is_accepted_before_run(self) -> None:
        async with server.listen("127.0.0.1", 0, "127.0.0.1", None) as listening:
            with pytest.raises(ConnectionRefusedError):
                await asyncio.open_connection("127.0.0.1", listening.port)

    async def test_localhost_is_all_its_addresses_on_one_port(self) -> None:
        async with server.listen("localhost", 0, "127.0.0.1", None) as listening:
            assert {listener.getsockname()[1] for listener in listening.sockets} == {listening.port}

    @pytest.mark.parametrize("setting", ["port", "metrics_port"])
    async def test_a_port_in_use_names_the_setting(self, setting: str) -> None:
        with socket.socket() as other:
            other.bind(("127.0.0.1", 0))
            other.listen()
            port = other.getsockname()[1]
            ports = (port, None) if setting == "port" else (0, port)
            with pytest.raises(server.CannotListen) as caught:
                async with server.listen("127.0.0.1", ports[0], "127.0.0.1", ports[1]):
                    pytest.fail("it listens on a port of another process")
        assert str(caught.value).startswith(f"{setting}: {port} on 127.0.0.1 is already in use")
        assert f"DOMOGATE_{setting.upper()}" in str(caught.value)
        assert f"--{setting.replace('_', '-')}" in str(caught.value)

    async def test_two_gateways_that_start_at_once_are_told_apart(self) -> None:
        async with server.listen("127.0.0.1", 0, "127.0.0.1", None) as first:
            with socket.socket() as second:
                second.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                first.sockets[0].setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                second.bind(("127.0.0.1", first.port))
                second.listen()
                with pytest.raises(server.CannotListen, match="already in use"):
                    await server.run(describe, first)

    @pytest.mark.parametrize("host", ["203.0.113.7", "no such host", "a" * 300])
    async def test_a_host_that_is_not_ours_names_the_setting(self, host: str) -> None:
        with pytest.raises(server.CannotListen, match=r"^host: .*DOMOGATE_HOST"):
            async with server.listen(host, 0, "127.0.0.1", None):
                pytest.fail("it listens there")

    async def test_what_on_ready_raises_ends_the_run_and_is_raised(self) -> None:
        async def fail(_: server.Listening) -> None:
            raise LookupError("no estate")

        async with server.listen("127.0.0.1", 0, "127.0.0.1", None) as listening:
            with pytest.raises(LookupError, match="no estate"):
                await server.run(describe, listening, on_ready=fail)

    async def test_a_cancelled_run_leaves_nothing_open(self) -> None:
        async with server.listen("127.0.0.1", 0, "127.0.0.1", None) as listening:
            running = asyncio.create_task(server.run(describe, listening))
            async with raw_connection(await _accepting(listening.port)) as connection:
                running.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await running
                assert await connection.is_closed()

    def test_the_loop_is_uvloop_where_there_is_one(self) -> None:
        loop = server.loop_factory()()
        loop.close()
        assert type(loop).__module__ == "uvloop"


async def _accepting(port: int) -> int:
    async with asyncio.timeout(30):
        while True:
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
            except ConnectionRefusedError:
                await asyncio.sleep(0.02)
            else:
                writer.close()
                return port


class TestTls:
    on_both_loops = True

    async def test_it_speaks_tls_with_the_given_certificate(self, self_signed: server.Tls) -> None:
        async with serving(describe, tls=self_signed) as bound:
            context = ssl.create_default_context(cafile=str(self_signed.certificate))
            async with raw_connection(bound.port, context) as connection:
                await connection.send(GET)
                assert json.loads((await connection.read_answer())[3])["scheme"] == "https"

    async def test_the_guards_hold_there_too(self, self_signed: server.Tls) -> None:
        async with serving(describe, tls=self_signed) as bound:
            context = ssl.create_default_context(cafile=str(self_signed.certificate))
            async with raw_connection(bound.port, context) as connection:
                await connection.send(b"GET /x HTTP/1.1\r\n\r\n")
                assert (await connection.read_answer())[0] == 400
                assert await connection.is_closed()

    async def test_a_file_that_is_no_certificate_names_the_setting(self, self_signed: server.Tls) -> None:
        self_signed.certificate.write_text("nonsense")
        async with server.listen("127.0.0.1", 0, "127.0.0.1", None) as listening:
            with pytest.raises(server.CannotListen, match=r"^tls_certificate, tls_key: "):
                await server.run(describe, listening, tls=self_signed)

    async def test_a_file_that_is_gone_names_the_setting(self, self_signed: server.Tls) -> None:
        self_signed.key.unlink()
        async with server.listen("127.0.0.1", 0, "127.0.0.1", None) as listening:
            with pytest.raises(server.CannotListen, match=r"^tls_certificate, tls_key: .*No such file"):
                await server.run(describe, listening, tls=self_signed)


class TestForwardedHeaders:
    FORWARDED = GET[:-2] + b"X-Forwarded-For: 198.51.100.7\r\nX-Forwarded-Proto: https\r\n\r\n"

    async def test_nobody_is_believed_by_default(self) -> None:
        async with serving(describe) as bound:
            assert json.loads((await exchange(bound.port, self.FORWARDED))[3]) == {"client": "127.0.0.1", "scheme": "http"}

    @pytest.mark.parametrize("trusted", ["127.0.0.1", "127.0.0.0/8"])
    async def test_a_trusted_proxy_is_believed(self, trusted: str) -> None:
        async with serving(describe, trusted_proxies=(trusted,)) as bound:
            assert json.loads((await exchange(bound.port, self.FORWARDED))[3]) == {"client": "198.51.100.7", "scheme": "https"}

    async def test_another_one_is_not(self) -> None:
        async with serving(describe, trusted_proxies=("10.0.0.0/8",)) as bound:
            assert json.loads((await exchange(bound.port, self.FORWARDED))[3])["client"] == "127.0.0.1"


class TestMetricsBind:
    async def test_metrics_have_a_bind_of_their_own(self) -> None:
        metrics = Metrics()
        async with serving(describe, metrics_port=0, metrics=metrics.app) as bound:
            assert bound.metrics_port != bound.port
            metrics.count_request("E8", 200, 0.01)
            status, _, headers, body = await exchange(bound.metrics_port, GET.replace(b"/x", b"/metrics"))
            assert status == 200
            assert headers["content-type"].startswith("text/plain")
            assert b'domogate_requests_total{api="E8",operation="E8",status="200"} 1.0' in body
            assert (await exchange(bound.metrics_port, GET))[0] == 404
            assert b"domogate_requests" not in (await exchange(bound.port, GET.replace(b"/x", b"/metrics")))[3]

    async def test_without_a_port_there_is_none(self) -> None:
        async with serving(describe, metrics=Metrics().app) as bound:
            assert bound.metrics_port is None


class TestDrain:
    on_both_loops = True

    async def test_what_runs_is_finished_what_is_idle_is_closed_and_nothing_is_accepted(self) -> None:
        gate, stop, drained = HeldApp(), asyncio.Event(), asyncio.Event()
        async with (
            serving(gate, stop=stop, drain=60, on_drain=drained.set) as bound,
            raw_connection(bound.port) as busy,
            raw_connection(bound.port) as idle,
        ):
            await busy.send(GET)
            await asyncio.wait_for(gate.entered.wait(), 30)
            stop.set()
            assert await idle.is_closed()
            assert drained.is_set()
            with pytest.raises(ConnectionRefusedError):
                await asyncio.open_connection("127.0.0.1", bound.port)
            gate.open.set()
            status, _, headers, _ = await busy.read_answer()
            assert (status, headers["connection"]) == (200, "close")

    async def test_what_does_not_end_in_time_is_cut(self) -> None:
        gate, stop = HeldApp(), asyncio.Event()
        async with serving(gate, stop=stop, drain=0.2) as bound, raw_connection(bound.port) as connection:
            await connection.send(GET)
            await asyncio.wait_for(gate.entered.wait(), 30)
            stop.set()
            everything = await connection.read_all()
            assert b"200 OK" not in everything
        assert gate.cancelled

    async def test_requests_that_were_cut_are_one_line_with_a_count(self, json_log: io.StringIO) -> None:
        gates, stop = [HeldApp() for _ in range(3)], asyncio.Event()
        waiting = iter(gates)

        async def app(scope: Any, receive: Any, send: Any) -> None:
            await next(waiting)(scope, receive, send)

        async with serving(app, stop=stop, drain=0.2) as bound, contextlib.AsyncExitStack() as connections:
            for gate in gates:
                connection = await connections.enter_async_context(raw_connection(bound.port))
                await connection.send(GET)
                await asyncio.wait_for(gate.entered.wait(), 30)
            stop.set()
            assert await connection.is_closed()
        assert all(gate.cancelled for gate in gates)
        [line] = map(json.loads, json_log.getvalue().splitlines())
        assert line["event"] == "requests were cancelled because they did not end in time"
        assert line["requests"] == 3

    async def test_a_stream_that_nobody_reads_does_not_hold_it_up(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(protocol, "_STREAM_END", 0.1)
        stop, drained, stuck, ended = asyncio.Event(), asyncio.Event(), asyncio.Event(), asyncio.Event()

        async def stream(scope: Any, receive: Any, send: Any) -> None:
            scope[protocol.STREAM] = True
            await send({"type": "http.response.start", "status": 200, "headers": []})
            asyncio.get_running_loop().call_later(0.3, stuck.set)
            while not drained.is_set():
                await send({"type": "http.response.body", "body": b"x" * 65_536, "more_body": True})
            await send({"type": "http.response.body", "body": b"the end"})
            ended.set()

        async with (
            serving(stream, stop=stop, drain=60, on_drain=drained.set) as bound,
            raw_connection(bound.port) as connection,
        ):
            await connection.send(GET)
            await stuck.wait()
            stop.set()
            await asyncio.wait_for(ended.wait(), 30)

    @pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
    async def test_a_signal_drains_and_the_run_returns(self, number: signal.Signals) -> None:
        before = signal.getsignal(number)
        await self._run_until(lambda: os.kill(os.getpid(), number))
        assert signal.getsignal(number) is before

    async def test_a_second_signal_cuts_at_once(self) -> None:
        gate = HeldApp()

        async def ask_and_stop_twice(listening: server.Listening) -> None:
            async with raw_connection(listening.port) as connection:
                await connection.send(GET)
                await gate.entered.wait()
                for _ in range(2):
                    os.kill(os.getpid(), signal.SIGTERM)
                    await asyncio.sleep(0.3)

        async with server.listen("127.0.0.1", 0, "127.0.0.1", None) as listening:
            running = asyncio.create_task(server.run(gate, listening, drain=60))
            await _accepting(listening.port)
            await ask_and_stop_twice(listening)
            await asyncio.wait_for(running, 30)

    async def _run_until(self, stop: Callable[[], None]) -> None:
        async def on_ready(_: server.Listening) -> None:
            stop()

        async with server.listen("127.0.0.1", 0, "127.0.0.1", None) as listening:
            await asyncio.wait_for(server.run(describe, listening, on_ready=on_ready), 30)
