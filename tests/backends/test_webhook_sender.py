"""The webhook sender: private addresses are refused when it connects, and no response can harm it."""

import asyncio
import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from domogate.backends.names import NameResolver
from domogate.backends.webhook_sender import HttpWebhookSender
from domogate.ports import Delivered, Undelivered
from support.receivers import Receiver, receivers
from support.smtp_sink import certified

LOOPBACK = ("127.0.0.0/8",)


class FakeNameServer:
    """A fake name server: the current addresses of each name."""

    def __init__(self, **names: Sequence[str]) -> None:
        self.names = {name.replace("_", "."): list(addresses) for name, addresses in names.items()}
        self.asked = 0

    async def look_up(self, host: str) -> Sequence[str]:
        self.asked += 1
        if host not in self.names:
            raise OSError("no such name")
        return self.names[host]


@asynccontextmanager
async def webhook_sender(networks: Sequence[str] = LOOPBACK, **arguments: Any) -> AsyncIterator[HttpWebhookSender]:
    one = HttpWebhookSender(networks, **{"deadline": 60.0, **arguments})
    try:
        yield one
    finally:
        await one.stop()


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    async with receivers() as (only,):
        yield only


def named(receiver: Receiver, name: str) -> str:
    return receiver.url.replace("127.0.0.1", name)


class TestPosting:
    async def test_the_body_and_the_headers_arrive_as_they_are(self, receiver: Receiver) -> None:
        async with webhook_sender() as one:
            answer = await one.post(receiver.url, b'{"a": 1}', {"content-type": "application/cloudevents+json", "x-y": "z"})
        assert answer == Delivered(200)
        (got,) = receiver.got
        assert got.body == b'{"a": 1}'
        assert (got.headers["content-type"], got.headers["x-y"]) == ("application/cloudevents+json", "z")
        assert got.headers["user-agent"] == "domogate"

    @pytest.mark.parametrize("status", [204, 301, 400, 410, 429, 500])
    async def test_any_answer_is_told_by_its_status(self, receiver: Receiver, status: int) -> None:
        receiver.answer = status
        async with webhook_sender() as one:
            assert (await one.post(receiver.url, b"{}", {})).status == status

    @pytest.mark.parametrize(
        ("value", "seconds"), [("120", 120.0), ("Thu, 01 Jan 1970 00:00:00 GMT", 0.0), ("soon", None), ("-5", None), ("", None)]
    )
    async def test_when_to_come_again_is_read(self, receiver: Receiver, value: str, seconds: float | None) -> None:
        receiver.answer = lambda _: web.Response(status=503, headers={"Retry-After": value})
        async with webhook_sender() as one:
            assert await one.post(receiver.url, b"{}", {}) == Delivered(503, seconds)

    async def test_a_connection_is_used_again(self, receiver: Receiver) -> None:
        names = FakeNameServer(receiver_example=["127.0.0.1"])
        async with webhook_sender(lookup=names.look_up) as one:
            for _ in range(3):
                await one.post(named(receiver, "receiver.example"), b"{}", {})
        assert names.asked == 1

    async def test_no_cookie_is_kept(self, receiver: Receiver) -> None:
        receiver.answer = lambda _: web.Response(headers={"Set-Cookie": "a=b"})
        async with webhook_sender() as one:
            for _ in range(2):
                await one.post(receiver.url, b"{}", {})
        assert ["cookie" in got.headers for got in receiver.got] == [False, False]

    async def test_proxies_of_the_environment_are_not_used(self, receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
        monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
        async with webhook_sender() as one:
            assert (await one.post(receiver.url, b"{}", {})).status == 200

    async def test_an_endless_answer_is_cut_off(self, receiver: Receiver) -> None:
        receiver.answer = lambda _: web.Response(body=b"x" * 1_000_000)
        async with webhook_sender() as one:
            assert (await one.post(receiver.url, b"{}", {})).status == 200


class TestSilence:
    async def test_a_receiver_that_does_not_answer_in_time(self, receiver: Receiver) -> None:
        receiver.delay = 3600.0
        async with webhook_sender(deadline=0.1) as one:
            with pytest.raises(Undelivered, match=r"did not answer within 0\.1 s") as away:
                await one.post(receiver.url, b"{}", {})
        assert not away.value.forbidden

    async def test_one_that_sends_its_answer_drop_by_drop(self) -> None:
        over = asyncio.Event()

        async def drip(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
            try:
                while True:
                    writer.write(b".")
                    await writer.drain()
                    await asyncio.sleep(0.02)
            except ConnectionError:
                writer.close()
                over.set()

        server = await asyncio.start_server(drip, "127.0.0.1", 0)
        async with server, webhook_sender(deadline=0.2) as one:
            with pytest.raises(Undelivered, match="did not answer within"):
                await one.post(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/", b"{}", {})
            await over.wait()

    @pytest.mark.parametrize("said", [b"", b"nonsense\r\n\r\n", b"HTTP/1.1 200 OK\r\nX: " + b"y" * 100_000 + b"\r\n\r\n"])
    async def test_one_that_speaks_no_http(self, said: bytes) -> None:
        async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(said)
            writer.close()

        server = await asyncio.start_server(speak, "127.0.0.1", 0)
        async with server, webhook_sender() as one:
            with pytest.raises(Undelivered, match=r"valid HTTP response|without an answer"):
                await one.post(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/", b"{}", {})

    async def test_nobody_listens_there(self) -> None:
        with socket.socket() as held:
            held.bind(("127.0.0.1", 0))
            async with webhook_sender() as one:
                with pytest.raises(Undelivered, match="connection to the receiver failed"):
                    await one.post(f"http://127.0.0.1:{held.getsockname()[1]}/", b"{}", {})

    async def test_a_name_that_is_not_there(self) -> None:
        async with webhook_sender(lookup=FakeNameServer().look_up) as one:
            for ask in (one.check_url("https://nowhere.example/"), one.post("https://nowhere.example/", b"", {})):
                with pytest.raises(Undelivered, match=r"nowhere\.example cannot be found") as unknown:
                    await ask
                assert not unknown.value.forbidden

    async def test_a_name_server_that_takes_its_time(self) -> None:
        async def never(_: str) -> Sequence[str]:
            await asyncio.sleep(60)
            return ()

        async with webhook_sender(lookup=never, deadline=0.05) as one:
            with pytest.raises(Undelivered, match="not found within"):
                await one.check_url("https://slow.example/")

    async def test_after_the_stop_nothing_is_sent(self, receiver: Receiver) -> None:
        async with webhook_sender() as one:
            pass
        with pytest.raises(Undelivered, match="stopping"):
            await one.post(receiver.url, b"{}", {})
        assert receiver.got == []


class TestPrivateNetworks:
    @pytest.mark.parametrize(
        "host",
        [
            *("127.0.0.1", "10.0.0.1", "169.254.169.254", "[::1]", "[::ffff:10.0.0.1]", "[::ffff:127.0.0.1]", "[fd00::1]"),
            *("2130706433", "0x7f000001", "0177.0.0.1", "127.1", "[64:ff9b::7f00:1]", "0.0.0.0", "[::]"),
        ],
    )
    async def test_a_private_address_is_refused_at_registration_and_at_every_post(self, host: str) -> None:
        async with webhook_sender(networks=()) as one:
            for scheme in ("http", "https"):
                for ask in (one.check_url(f"{scheme}://{host}/"), one.post(f"{scheme}://{host}/", b"", {})):
                    with pytest.raises(Undelivered) as refused:
                        await ask
                    assert refused.value.forbidden

    @pytest.mark.parametrize("addresses", [["127.0.0.1"], ["8.8.8.8", "10.0.0.1"], ["::1"], ["::ffff:192.168.0.1"]])
    async def test_a_name_with_one_private_address_is_refused(self, addresses: list[str]) -> None:
        async with webhook_sender(networks=(), lookup=FakeNameServer(inside_example=addresses).look_up) as one:
            for ask in (one.check_url("https://inside.example/"), one.post("https://inside.example/", b"", {})):
                with pytest.raises(Undelivered, match="webhook_networks") as refused:
                    await ask
                assert refused.value.forbidden
                assert not any(address in str(refused.value) for address in addresses)

    async def test_a_name_that_changes_its_address_after_the_check_is_refused_at_the_post(self, receiver: Receiver) -> None:
        names = FakeNameServer(turning_example=["8.8.8.8"])
        async with webhook_sender(networks=(), lookup=names.look_up) as one:
            await one.check_url("https://turning.example/")
            names.names["turning.example"] = ["127.0.0.1"]
            with pytest.raises(Undelivered) as refused:
                await one.post(named(receiver, "turning.example").replace("http:", "https:"), b"{}", {})
        assert refused.value.forbidden
        assert receiver.got == []

    async def test_localhost_is_refused_by_the_system_s_own_names(self) -> None:
        async with webhook_sender(networks=()) as one:
            with pytest.raises(Undelivered) as refused:
                await one.check_url("https://localhost/")
        assert refused.value.forbidden

    async def test_a_redirect_into_the_house_is_an_answer_and_nothing_more(self, receiver: Receiver) -> None:
        async with receivers() as (inside,):
            receiver.answer = lambda _: web.Response(status=307, headers={"Location": inside.url})
            async with webhook_sender() as one:
                assert (await one.post(receiver.url, b"{}", {})).status == 307
            assert inside.got == []

    async def test_only_networks_of_the_operator_may_be_called_without_tls(self, receiver: Receiver) -> None:
        names = FakeNameServer(outside_example=["8.8.8.8"], here_example=["127.0.0.1"])
        async with webhook_sender(lookup=names.look_up) as one:
            await one.check_url(receiver.url)
            assert (await one.post(named(receiver, "here.example"), b"{}", {})).status == 200
            for url in ("http://outside.example/", "http://8.8.8.8/"):
                for ask in (one.check_url(url), one.post(url, b"", {})):
                    with pytest.raises(Undelivered, match="https://") as refused:
                        await ask
                    assert refused.value.forbidden
            await one.check_url("https://outside.example/")


class TestTls:
    async def test_a_certificate_is_verified(self, tmp_path: Path) -> None:
        server, trusting = certified(tmp_path)
        async with receivers(tls=server) as (receiver,):
            async with webhook_sender(tls=trusting) as one:
                assert (await one.post(receiver.url, b"{}", {})).status == 200
            async with webhook_sender() as one:
                with pytest.raises(Undelivered, match="certificate is not accepted"):
                    await one.post(receiver.url, b"{}", {})
            async with webhook_sender(tls=trusting, lookup=FakeNameServer(other_example=["127.0.0.1"]).look_up) as one:
                with pytest.raises(Undelivered, match="certificate is not accepted"):
                    await one.post(named(receiver, "other.example"), b"{}", {})

    async def test_a_receiver_without_tls_is_no_secure_one(self, receiver: Receiver) -> None:
        async with webhook_sender() as one:
            with pytest.raises(Undelivered, match="TLS"):
                await one.post(receiver.url.replace("http:", "https:"), b"{}", {})


class TestNames:
    async def test_a_name_that_is_being_looked_up_is_looked_up_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        asked = []

        def addresses(host: str) -> Sequence[str]:
            asked.append(host)
            return ["8.8.8.8"]

        monkeypatch.setattr("domogate.backends.names._addresses_of", addresses)
        names = NameResolver()
        found = await asyncio.gather(*(names.look_up("receiver.example") for _ in range(5)))
        assert found == [["8.8.8.8"]] * 5
        assert asked == ["receiver.example"]
        await names.look_up("receiver.example")
        assert len(asked) == 2
        names.close()

    async def test_an_invalid_name_is_not_found(self) -> None:
        names = NameResolver()
        with pytest.raises(OSError, match="not a host name"):
            await names.look_up("a" * 70 + ".example")
        names.close()
