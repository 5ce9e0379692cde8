"""Requests that the server refuses before a family sees them, byte by byte."""

import asyncio
import json
import tracemalloc
from typing import Any

import pytest

from domogate.edge.guards import Limits
from domogate.edge.protocol import GuardedProtocol
from support.edge_server import GET, PATIENT, POST, Recorder, check_refusal, exchange, raw_connection, respond, serving

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("each_way")]

# 41 characters: longer than the longest method that is passed to the family of the URL.
LONG = b"A" * 41


class TestHost:
    @pytest.mark.parametrize(
        "host", [b"gateway", b"gateway:8080", b"127.0.0.1:1", b"[::1]:8080", b"[::1]", b"a_b.example", b"x:", b"%41.example"]
    )
    async def test_a_proper_host_is_served(self, host: bytes) -> None:
        async with serving(Recorder()) as bound:
            assert (await exchange(bound.port, b"GET /x HTTP/1.1\r\nHost: " + host + b"\r\n\r\n"))[0] == 200

    @pytest.mark.parametrize(
        "lines",
        [
            b"",
            b"Host: a\r\nHost: a\r\n",
            b"Host: a\r\nhost: b\r\n",
            b"Host:\r\n",
            b"Host: a b\r\n",
            b"Host: a/b\r\n",
            b"Host: user@a\r\n",
            b"Host: a:x\r\n",
            b"Host: [::1\r\n",
            b"Host: a:123456\r\n",
            b"Host: \xc3\xa9\r\n",
            b'Host: "a"\r\n',
            b"Host: %4\r\n",
        ],
        ids=repr,
    )
    async def test_none_two_or_an_invalid_one_is_400(self, lines: bytes) -> None:
        app = Recorder()
        async with serving(app) as bound:
            check_refusal(await exchange(bound.port, b"GET /x HTTP/1.1\r\n" + lines + b"\r\n"), 400)
        assert app.seen == []

    async def test_http_1_0_may_leave_it_out_but_not_double_it(self) -> None:
        async with serving(Recorder()) as bound:
            assert (await exchange(bound.port, b"GET /x HTTP/1.0\r\n\r\n"))[0] == 200
            check_refusal(await exchange(bound.port, b"GET /x HTTP/1.0\r\nHost: a\r\nHost: a\r\n\r\n"), 400)

    async def test_each_request_of_a_connection_needs_its_own(self) -> None:
        async with serving(Recorder()) as bound, raw_connection(bound.port) as connection:
            await connection.send(GET)
            assert (await connection.read_answer())[0] == 200
            await connection.send(b"GET /x HTTP/1.1\r\n\r\n")
            check_refusal(await connection.read_answer(), 400)
            assert await connection.is_closed()


class TestHeaderSize:
    async def test_up_to_the_limit_is_served_and_beyond_is_431(self) -> None:
        async with serving(Recorder()) as bound:
            head = b"GET /x HTTP/1.1\r\nHost: gateway\r\nX: %b\r\n\r\n"
            fitting = PATIENT.max_header - len(head % b"")
            assert (await exchange(bound.port, head % (b"a" * fitting)))[0] == 200
            check_refusal(await exchange(bound.port, head % (b"a" * (fitting + 1))), 431)

    @pytest.mark.parametrize(
        "start",
        [
            b"GET /",
            b"GET /x HTTP/1.1\r\nHost: a\r\nX: ",
            b"GET /x HTTP/1.1\r\nHost: a\r\nX-",
            b"GET /x HTTP/1.1\r\nHost: a\r\nX:  ",
        ],
    )
    async def test_a_url_a_name_or_a_value_without_end_is_431(self, start: bytes) -> None:
        app = Recorder()
        async with serving(app) as bound, raw_connection(bound.port) as connection:
            await connection.send(start)
            filler = b" " if start.endswith(b"  ") else b"a"
            for _ in range(30):
                await connection.send(filler * 100)
                await asyncio.sleep(0)
            check_refusal(await connection.read_answer(), 431)
            assert await connection.is_closed()
        assert app.seen == []

    async def test_many_small_headers_are_431(self) -> None:
        async with serving(Recorder()) as bound:
            check_refusal(await exchange(bound.port, GET[:-2] + b"a: b\r\n" * 500 + b"\r\n"), 431)

    @pytest.mark.parametrize("method", [b"GET", b"POST"])
    async def test_more_than_200_headers_are_431(self, method: bytes) -> None:
        app = Recorder()
        start = method + b" /x HTTP/1.1\r\nHost: gateway\r\n"
        async with serving(app, Limits()) as bound:
            assert (await exchange(bound.port, start + b"a: b\r\n" * 199 + b"\r\n"))[0] == 200
            check_refusal(await exchange(bound.port, start + b"a: b\r\n" * 200 + b"\r\n"), 431)
        assert len(app.seen) == 1

    async def test_line_ends_without_end_are_431(self) -> None:
        async with serving(Recorder()) as bound:
            check_refusal(await exchange(bound.port, b"\r\n" * 3000), 431)

    async def test_a_large_body_in_the_same_packet_is_no_header(self) -> None:
        async with serving(Recorder()) as bound:
            body = b"b" * 50_000
            status, _, _, answer = await exchange(bound.port, POST + b"Content-Length: 50000\r\n\r\n" + body)
            assert status == 200
            assert json.loads(answer)["body"] == body.decode()

    async def test_a_large_header_behind_another_request_in_the_same_packet_is_431(self) -> None:
        async with serving(Recorder()) as bound, raw_connection(bound.port) as connection:
            await connection.send(GET + GET[:-2] + b"X: " + b"a" * 3000 + b"\r\n\r\n")
            assert (await connection.read_answer())[0] == 200
            check_refusal(await connection.read_answer(), 431)

    @pytest.mark.parametrize("start", [b"3;", b"3\r\nabc\r\n0\r\nX: "], ids=["chunk extension", "trailer"])
    async def test_a_chunk_extension_or_trailer_without_end_is_refused_too(self, start: bytes) -> None:
        async with serving(Recorder()) as bound, raw_connection(bound.port) as connection:
            await connection.send(POST + b"Transfer-Encoding: chunked\r\n\r\n" + start)
            for _ in range(30):
                await connection.send(b"a" * 100)
                await asyncio.sleep(0.005)
            check_refusal(await connection.read_answer(), 431)

    async def test_memory_stays_flat_while_it_comes(self) -> None:
        async with serving(Recorder()) as bound, raw_connection(bound.port) as connection:
            await connection.send(b"GET /x HTTP/1.1\r\nHost: a\r\nX: ")
            tracemalloc.start()
            try:
                for _ in range(200):
                    try:
                        await connection.send(b"a" * 65_536)
                    except ConnectionError:
                        break
                    await asyncio.sleep(0)
                assert tracemalloc.get_traced_memory()[1] < 4_000_000
            finally:
                tracemalloc.stop()


class TestFraming:
    @pytest.mark.parametrize(
        "lines",
        [
            b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n",
            b"Transfer-Encoding: chunked\r\nContent-Length: 3\r\n",
            b"Content-Length: 3\r\nContent-Length: 3\r\n",
            b"Content-Length: 3\r\nContent-Length: 4\r\n",
            b"Content-Length: 3, 3\r\n",
            b"Content-Length: -3\r\n",
            b"Content-Length: +3\r\n",
            b"Content-Length: 0x3\r\n",
            b"Content-Length:\r\n",
            b"Content-Length: 99999999999999999999999\r\n",
            b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
            b"Transfer-Encoding:\r\n",
            b"X : a\r\n",
            b"X: a\r\n b\r\n",
            b"X: a\x00b\r\n",
            b"X: a\nY: b\r\n",
            b"\xc3\xa9: a\r\n",
        ],
        ids=repr,
    )
    async def test_an_ambiguous_head_is_400_and_nobody_serves_it(self, lines: bytes) -> None:
        app = Recorder()
        async with serving(app) as bound:
            check_refusal(await exchange(bound.port, POST + lines + b"\r\n0\r\n\r\n"), 400)
        assert app.seen == []

    @pytest.mark.parametrize("coding", [b"identity", b"gzip", b"gzip, chunked", b"xchunked"], ids=repr)
    async def test_a_transfer_coding_that_is_not_chunked_is_refused(self, coding: bytes) -> None:
        app = Recorder()
        async with serving(app) as bound:
            answer = await exchange(bound.port, POST + b"Transfer-Encoding: " + coding + b"\r\n\r\n0\r\n\r\n")
            check_refusal(answer, 501)
        assert app.seen == []

    async def test_chunked_in_http_1_0_is_refused(self) -> None:
        async with serving(Recorder()) as bound:
            head = b"POST /x HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
            check_refusal(await exchange(bound.port, head), 400)

    async def test_a_broken_chunk_ends_the_request_its_app_is_reading(self) -> None:
        app = Recorder()
        async with serving(app) as bound:
            answer = await exchange(bound.port, POST + b"Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nxyz\r\n")
            check_refusal(answer, 400)
            await asyncio.wait_for(app.disconnected.wait(), 30)

    async def test_a_trailer_becomes_no_header(self) -> None:
        async with serving(Recorder()) as bound:
            chunked = b"Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nAuthorization: Bearer x\r\nHost: b\r\n\r\n"
            status, _, _, body = await exchange(bound.port, POST + chunked)
            assert status == 200
            seen = json.loads(body)
            assert seen["body"] == "abc"
            assert [name for name, _ in seen["headers"]] == ["host", "transfer-encoding"]

    @pytest.mark.parametrize(
        "head",
        [
            b"GET /x\r\n\r\n",
            b"GET /x HTTP/2.0\r\nHost: a\r\n\r\n",
            b"GET /x HTTP/1.2\r\nHost: a\r\n\r\n",
            b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
            b"GET /\xc3\xa9 HTTP/1.1\r\nHost: a\r\n\r\n",
            b"GET /a#b HTTP/1.1\r\nHost: a\r\n\r\n",
            b"GET x HTTP/1.1\r\nHost: a\r\n\r\n",
            b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
            b"GET / HTTP/1.1\nHost: a\n\n",
        ],
        ids=repr,
    )
    async def test_what_is_no_http_1_1_is_refused(self, head: bytes) -> None:
        app = Recorder()
        async with serving(app) as bound:
            check_refusal(await exchange(bound.port, head), 400)
        assert app.seen == []

    async def test_expect_100_continue_is_heard(self) -> None:
        async with serving(Recorder()) as bound, raw_connection(bound.port) as connection:
            await connection.send(POST + b"Content-Length: 3\r\nExpect: 100-continue\r\n\r\n")
            assert (await connection.read_answer())[:2] == (100, "Continue")
            await connection.send(b"abc")
            assert json.loads((await connection.read_answer())[3])["body"] == "abc"


class TestUpgrades:
    on_both_loops = True

    async def test_an_upgrade_is_not_followed_and_the_body_is_still_a_body(self) -> None:
        app = Recorder()
        async with serving(app) as bound, raw_connection(bound.port) as connection:
            asks = b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMA\r\nContent-Length: 5\r\n\r\n"
            await connection.send(POST + asks + b"he")
            await asyncio.sleep(0.05)
            await connection.send(b"llo" + GET)
            first = json.loads((await connection.read_answer())[3])
            assert first["body"] == "hello"
            assert ["content-length", "5"] in first["headers"]
            assert (await connection.read_answer())[0] == 200
        assert [record["method"] for record in app.seen] == ["POST", "GET"]

    async def test_a_request_smuggled_behind_an_upgrade_is_only_a_body(self) -> None:
        app = Recorder()
        async with serving(app) as bound:
            inner = b"DELETE /y HTTP/1.1\r\nHost: a\r\n\r\n"
            head = POST + b"Connection: upgrade\r\nUpgrade: x\r\nContent-Length: %d\r\n\r\n" % len(inner)
            _, _, _, body = await exchange(bound.port, head + inner)
            assert json.loads(body)["body"] == inner.decode()
        assert [record["path"] for record in app.seen] == ["/x"]

    async def test_a_websocket_handshake_is_an_ordinary_get(self) -> None:
        async with serving(Recorder()) as bound:
            handshake = (
                b"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAA\r\n\r\n"
            )
            assert (await exchange(bound.port, GET[:-2] + handshake))[0] == 200

    async def test_connect_is_405(self) -> None:
        async with serving(Recorder()) as bound:
            answer = await exchange(bound.port, b"CONNECT a:80 HTTP/1.1\r\nHost: a\r\n\r\n")
            check_refusal(answer, 405)
            assert "GET" in answer[2]["allow"]


class TestMethods:
    @pytest.mark.parametrize("method", ["BREW", "get", "FOO-BAR", "X", "TRACE", "PATCH", "SEARCH"])
    async def test_a_method_nobody_knows_reaches_the_app_under_its_own_name(self, method: str) -> None:
        async with serving(Recorder()) as bound:
            head = b"%b /x HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi" % method.encode()
            status, _, _, body = await exchange(bound.port, head)
            assert status == 200
            assert json.loads(body)["method"] == method
            assert json.loads(body)["body"] == "hi"

    async def test_the_next_request_has_its_own_method_again(self) -> None:
        async with serving(Recorder()) as bound, raw_connection(bound.port) as connection:
            await connection.send(b"BREW /x HTTP/1.1\r\nHost: a\r\n\r\n" + GET)
            assert json.loads((await connection.read_answer())[3])["method"] == "BREW"
            assert json.loads((await connection.read_answer())[3])["method"] == "GET"

    async def test_one_behind_another_request_too(self) -> None:
        async with serving(Recorder()) as bound, raw_connection(bound.port) as connection:
            await connection.send(GET + b"BREW /x HTTP/1.1\r\nHost: a\r\n\r\n")
            assert json.loads((await connection.read_answer())[3])["method"] == "GET"
            assert json.loads((await connection.read_answer())[3])["method"] == "BREW"

    @pytest.mark.parametrize(
        ("start", "status"),
        [
            *((start, 200) for start in (b"BREW ", b"get ", b"GETT ", b"\r\nBREW ", b"\r\n\r\nGET ", b"GET ")),
            *((start, 400) for start in (b"BR\0W ", b"hello\r\n", b" GET ", LONG + b" ", b"GE\xc3 ", b"{} ")),
        ],
        ids=repr,
    )
    async def test_packets_do_not_change_the_answer(self, start: bytes, status: int) -> None:
        request = start + b"/x HTTP/1.1\r\nHost: a\r\n\r\n"
        async with serving(Recorder()) as bound:
            for cut in range(len(start) + 2):
                async with raw_connection(bound.port) as connection:
                    await connection.send(request[:cut])
                    await asyncio.sleep(0.002)
                    await connection.send(request[cut:])
                    assert (await connection.read_answer())[0] == status, cut


class TestReasonPhrases:
    @pytest.mark.parametrize(
        ("status", "reason"),
        [
            (442, "Unexpected Parameter Value"),
            (469, "Password Renewal Required"),
            (470, "Terms Acceptance Required"),
            (404, "Not Found"),
        ],
    )
    async def test_the_contract_s_own_statuses_have_one(self, status: int, reason: str) -> None:
        async def app(scope: Any, receive: Any, send: Any) -> None:
            await respond(send, status)

        async with serving(app) as bound:
            assert (await exchange(bound.port, GET))[:2] == (status, reason)


class TestCounting:
    async def test_what_is_refused_is_told(self) -> None:
        refused: list[int] = []
        async with serving(Recorder(), on_refused=refused.append) as bound:
            await exchange(bound.port, GET)
            await exchange(bound.port, b"GET / HTTP/1.1\r\n\r\n")
            await exchange(bound.port, b"GET /" + b"a" * 3000)
        assert refused == [400, 431]

    def test_uvicorn_still_has_what_we_build_on(self) -> None:
        for name in ("on_response_complete", "on_headers_complete", "on_header", "on_body", "shutdown", "_start_asgi_task"):
            assert getattr(GuardedProtocol.__mro__[1], name)
