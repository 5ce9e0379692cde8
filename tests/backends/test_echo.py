"""The echo backend over real HTTP, and its failures."""

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest
from aiohttp import web
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from domogate.backends.echo import HttpEchoBackend
from domogate.backends.embedded_echo import FAILING, SLEEPING, EmbeddedEcho
from domogate.domain.faults import EchoTimeout, EchoUnreachable

DOCUMENT = "<resource><vehicleType>car é &amp; co</vehicleType></resource>".encode()


@asynccontextmanager
async def connected(url: str, deadline: float = 60.0, max_answer: int = 1000) -> AsyncIterator[HttpEchoBackend]:
    backend = HttpEchoBackend(url, deadline, max_answer)
    try:
        yield backend
    finally:
        await backend.stop()


@asynccontextmanager
async def answering(handler: Callable[[web.Request], Awaitable[web.StreamResponse]]) -> AsyncIterator[str]:
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", handler)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}/"
    finally:
        await runner.cleanup()


@asynccontextmanager
async def embedded(stall: float | None = None) -> AsyncIterator[str]:
    echo = EmbeddedEcho(stall=stall)
    try:
        yield await echo.start()
    finally:
        await echo.stop()


class TestEmbeddedEcho:
    async def test_it_answers_with_the_document_it_got(self) -> None:
        async with embedded() as url, connected(url) as backend:
            assert await backend.send(DOCUMENT) == (DOCUMENT, "application/xml")

    async def test_it_listens_on_loopback_only(self) -> None:
        async with embedded() as url:
            assert url.startswith("http://127.0.0.1:")

    async def test_after_stop_nobody_answers(self) -> None:
        echo = EmbeddedEcho()
        url = await echo.start()
        await echo.stop()
        await echo.stop()
        async with connected(url) as backend:
            with pytest.raises(EchoUnreachable):
                await backend.send(DOCUMENT)

    @pytest.mark.slow
    async def test_it_fails_on_demand_only_in_the_demo(self) -> None:
        async with embedded(stall=60.0) as url:
            async with connected(url) as backend:
                with pytest.raises(EchoUnreachable, match="status 503"):
                    await backend.send(FAILING)
            async with connected(url, deadline=0.2) as backend:
                with pytest.raises(EchoTimeout):
                    await backend.send(SLEEPING)
        async with embedded() as url, connected(url) as backend:
            for document in (FAILING, SLEEPING):
                assert (await backend.send(document))[0] == document

    async def test_many_at_once_get_their_own(self) -> None:
        async with embedded() as url, connected(url) as backend:
            answers = await asyncio.gather(*(backend.send(b"<a>%d</a>" % number) for number in range(100)))
            assert [body for body, _ in answers] == [b"<a>%d</a>" % number for number in range(100)]

    @given(st.binary(max_size=800))
    @settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    def test_any_bytes_come_back_as_they_went(self, document: bytes) -> None:
        async def round_trip() -> bytes:
            async with embedded() as url, connected(url) as backend:
                return (await backend.send(document))[0]

        assert asyncio.run(round_trip()) == document


class TestFailures:
    async def test_a_closed_port_is_unreachable_and_the_address_stays_secret(self) -> None:
        with socket.socket() as unused:
            unused.bind(("127.0.0.1", 0))
            port = unused.getsockname()[1]
        async with connected(f"http://127.0.0.1:{port}/") as backend:
            with pytest.raises(EchoUnreachable) as caught:
                await backend.send(DOCUMENT)
        assert str(port) not in caught.value.message

    @pytest.mark.parametrize("status", [201, 204, 302, 400, 404, 500, 503])
    async def test_any_status_but_200_is_unreachable(self, status: int) -> None:
        async def refuse(_: web.Request) -> web.Response:
            return web.Response(status=status, headers={"Location": "/elsewhere"} if status == 302 else {})

        async with answering(refuse) as url, connected(url) as backend:
            with pytest.raises(EchoUnreachable, match=str(status)):
                await backend.send(DOCUMENT)

    async def test_a_redirect_is_not_followed(self) -> None:
        paths: list[str] = []

        async def redirect(request: web.Request) -> web.Response:
            paths.append(request.path)
            return web.Response(status=307, headers={"Location": "/elsewhere"})

        async with answering(redirect) as url, connected(url) as backend:
            with pytest.raises(EchoUnreachable):
                await backend.send(DOCUMENT)
        assert paths == ["/"]

    async def test_slow_to_begin_is_a_timeout(self) -> None:
        async def sleep(_: web.Request) -> web.Response:
            await asyncio.sleep(3600)
            return web.Response()

        async with answering(sleep) as url, connected(url, deadline=0.2) as backend:
            with pytest.raises(EchoTimeout, match=r"0\.2 s"):
                await backend.send(DOCUMENT)

    async def test_slow_to_end_is_a_timeout_too(self) -> None:
        async def drip(request: web.Request) -> web.StreamResponse:
            answer = web.StreamResponse()
            await answer.prepare(request)
            for _ in range(900):  # fewer than an answer may have
                await answer.write(b"x")
                await asyncio.sleep(0.05)
            return answer

        async with answering(drip) as url, connected(url, deadline=0.3) as backend:
            with pytest.raises(EchoTimeout):
                await backend.send(DOCUMENT)

    async def test_an_answer_without_end_is_unreachable(self) -> None:
        async def flood(request: web.Request) -> web.StreamResponse:
            answer = web.StreamResponse()
            await answer.prepare(request)
            while True:
                await answer.write(b"x" * 1000)

        async with answering(flood) as url, connected(url) as backend:
            with pytest.raises(EchoUnreachable, match="1000 bytes"):
                await backend.send(DOCUMENT)

    async def test_one_that_hangs_up_is_unreachable(self) -> None:
        async def hang_up(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.close()

        rude = await asyncio.start_server(hang_up, "127.0.0.1", 0)
        async with rude, connected(f"http://127.0.0.1:{rude.sockets[0].getsockname()[1]}/") as backend:
            with pytest.raises(EchoUnreachable):
                await backend.send(DOCUMENT)

    async def test_one_that_speaks_no_http_is_unreachable(self) -> None:
        async def babble(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(b"hello\r\n\r\n")
            writer.close()

        odd = await asyncio.start_server(babble, "127.0.0.1", 0)
        async with odd, connected(f"http://127.0.0.1:{odd.sockets[0].getsockname()[1]}/") as backend:
            with pytest.raises(EchoUnreachable):
                await backend.send(DOCUMENT)

    async def test_after_the_stop_it_is_unreachable(self) -> None:
        backend = HttpEchoBackend("http://127.0.0.1:1/", 1.0)
        await backend.stop()
        with pytest.raises(EchoUnreachable, match="stopping"):
            await backend.send(DOCUMENT)

    async def test_without_a_url_the_first_document_starts_the_embedded_echo(self) -> None:
        backend = HttpEchoBackend(None, 60.0)
        try:
            answers = await asyncio.gather(*(backend.send(DOCUMENT) for _ in range(3)))
        finally:
            await backend.stop()
        assert [body for body, _ in answers] == [DOCUMENT] * 3

    async def test_the_request_is_xml_and_carries_nothing_of_the_environment(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
        seen: dict[str, str] = {}

        async def note(request: web.Request) -> web.Response:
            seen.update(request.headers, method=request.method)
            return web.Response(body=b"<a/>", content_type="text/xml")

        async with answering(note) as url, connected(url) as backend:
            assert await backend.send(DOCUMENT) == (b"<a/>", "text/xml")
        assert (seen["method"], seen["Content-Type"]) == ("POST", "application/xml")
        assert "Authorization" not in seen
