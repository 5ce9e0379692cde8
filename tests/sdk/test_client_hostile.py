"""Servers that are broken or hostile: no answer is endless for the Python client, and no secret goes to another host."""

import collections
import itertools
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest

from domogate_client import AsyncClient, Client, Session, Tokens
from domogate_client._stream import pause_after
from domogate_client.errors import DeadlineExceeded, DomogateError, NoAnswer, Refused, UnexpectedAnswer
from domogate_client.events import EventParser
from domogate_client.models.events import Ready
from support.both_clients import QUICK, Ask, both_clients
from support.scripted_server import Step, scripted

TOKENS = Tokens(access_token="a", id_token="i")
EXPIRED = Tokens(access_token="old", id_token="old", refresh_token="refresh-1", expires_at=1.0)
NESTED = b'{"more":' + b"[" * 100_000
YEAR = 365 * 24 * 3600
SSE = {"content-type": "text/event-stream"}


def list_plants(client: Any) -> Any:
    return client.homeauto.list_plants()


@both_clients
class TestCalls:
    def test_retry_after_of_a_year_is_an_error_at_once(self, ask: Ask) -> None:
        with scripted(Step(503, {"retry-after": str(YEAR)}, b"{}")) as server, pytest.raises(Refused) as raised:
            ask(server.url, list_plants, tokens=TOKENS)
        assert raised.value.retry_after == YEAR
        assert len(server.got) == 1

    def test_retry_after_may_be_a_date(self, ask: Ask) -> None:
        late = format_datetime(datetime.now(UTC) + timedelta(hours=1), usegmt=True)
        with scripted(Step(503, {"retry-after": late}, b"{}")) as server, pytest.raises(Refused) as raised:
            ask(server.url, list_plants, tokens=TOKENS)
        assert 3000 < (raised.value.retry_after or 0) <= 3600
        assert len(server.got) == 1

    @pytest.mark.parametrize("value", ["-1", "1e9", "soon", "9" * 400, "inf"])
    def test_retry_after_with_another_form_is_ignored(self, ask: Ask, value: str) -> None:
        with scripted(Step(503, {"retry-after": value}, b"{}"), Step()) as server:
            ask(server.url, list_plants, tokens=TOKENS, retries=QUICK)
        assert len(server.got) == 2

    @pytest.mark.parametrize("status", [302, 307, 308])
    def test_a_redirect_to_another_host_gets_nothing(self, ask: Ask, status: int) -> None:
        with scripted(Step()) as other, scripted(Step(status, {"location": f"{other.url}/stolen"}, b"")) as server:
            for tokens in (TOKENS, EXPIRED):
                with pytest.raises(DomogateError):
                    ask(server.url, list_plants, session=Session(tokens=tokens))
        assert len(server.got) == 2
        assert other.got == []

    def test_an_answer_that_is_not_encoded_as_it_says(self, ask: Ask) -> None:
        plain = Step(headers={"content-encoding": "gzip"}, body=b'{"plants":[]}')
        with scripted(plain) as server, pytest.raises(UnexpectedAnswer, match="Content-Encoding") as raised:
            ask(server.url, list_plants, tokens=TOKENS)
        assert raised.value.__cause__ is None
        assert len(server.got) == 1

    @pytest.mark.parametrize(
        "step",
        [
            Step(body=NESTED),
            Step(404, body=NESTED),
            Step(404, {"x-fault": "9" * 5000}, b"{}"),
        ],
    )
    def test_an_answer_that_python_cannot_read(self, ask: Ask, step: Step) -> None:
        with scripted(step) as server, pytest.raises(DomogateError):
            ask(server.url, list_plants, tokens=TOKENS)

    def test_a_token_endpoint_whose_answer_cannot_be_read(self, ask: Ask) -> None:
        with scripted(Step(body=NESTED)) as server, pytest.raises(DomogateError):
            ask(server.url, list_plants, session=Session(tokens=EXPIRED))

    def test_a_token_that_cannot_be_sent_is_not_shown(self, ask: Ask) -> None:
        with scripted(Step()) as server, pytest.raises(DomogateError) as raised:
            ask(server.url, list_plants, tokens=Tokens(id_token="sesame\nsesame"))
        assert "sesame" not in repr(raised.value)
        assert server.got == []


def test_a_key_that_cannot_be_sent_is_not_shown() -> None:
    with Client("http://127.0.0.1:1", "sesame ü", tokens=TOKENS) as client, pytest.raises(DomogateError) as raised:
        client.homeauto.list_plants()
    assert "sesame" not in repr(raised.value)


@pytest.mark.parametrize(
    "url", ["http://user:sesame@gateway.example", "https://gateway.example?sesame", "https://a.example#sesame"]
)
def test_a_base_url_with_more_than_an_address_is_refused(url: str) -> None:
    with pytest.raises(DomogateError) as raised:
        Client(url)
    assert "sesame" not in str(raised.value)


def test_a_list_whose_pages_never_end() -> None:
    page = Step(body=b'{"items":[],"next":"a"}')
    with (
        scripted(page) as server,
        Client(server.url, tokens=TOKENS) as client,
        pytest.raises(UnexpectedAnswer, match="names itself"),
    ):
        list(client.management.iterate_users())
    assert len(server.got) == 2


class TestStreams:
    @pytest.mark.parametrize(
        "text",
        [
            *(f"event: {name}\ndata: {data}\n\n".encode() for name in ("ready", "reset", "end") for data in ("[]", "{", '"x"')),
            b'event: ready\nid: \xff\ndata: {"cursor":1}\n\n',
            b"event: \xff\ndata: {}\n\n",
            b"data: " + NESTED + b"\n\n",
        ],
    )
    def test_a_malformed_message_is_an_error_of_the_client(self, text: bytes) -> None:
        with (
            scripted(Step(200, SSE, text)) as server,
            Client(server.url, "key", tokens=TOKENS) as client,
            client.events.listen() as stream,
            pytest.raises(UnexpectedAnswer),
        ):
            next(stream)

    def test_it_waits_at_most_an_hour(self) -> None:
        assert pause_after(0, 2.0, YEAR) == 3600
        assert pause_after(0, 1e12, 0.0) == 3600

    def test_it_gives_up_at_once_if_it_may_not_wait_so_long(self) -> None:
        with (
            scripted(Step(503, {"retry-after": str(YEAR)}, b"{}")) as server,
            Client(server.url, tokens=TOKENS, reconnect_for=60) as client,
            client.events.listen() as stream,
            pytest.raises(NoAnswer, match="no stream"),
        ):
            next(stream)
        assert len(server.got) == 1

    def test_a_redirect_is_an_error(self) -> None:
        with (
            scripted(Step(307, {"location": "http://127.0.0.1:1/"}, b"")) as server,
            Client(server.url, tokens=TOKENS) as client,
            client.events.listen() as stream,
            pytest.raises(UnexpectedAnswer, match="redirect"),
        ):
            next(stream)
        assert len(server.got) == 1

    def test_it_continues_when_the_token_endpoint_was_not_available_for_a_while(self) -> None:
        ready = b'retry: 1\nid: 1\nevent: ready\ndata: {"cursor":1}\n\n'
        down = [Step(503, body=b"")] * 3
        fresh = Step(body=b'{"access_token":"new","expires_in":3600}')
        ended = Step(headers=SSE, body=ready + b'event: end\ndata: {"code":"token","detail":""}\n\n')
        session = Session(tokens=Tokens(access_token="old", refresh_token="r"))
        with (
            scripted(ended, *down, fresh, Step(headers=SSE, body=ready)) as server,
            Client(server.url, session=session) as client,
            client.events.listen() as stream,
        ):
            items = list(itertools.islice(stream, 2))
        assert [type(item) for item in items] == [Ready, Ready]

    @pytest.mark.parametrize(
        "step", [Step(drip="headers"), Step(drip="body"), Step(503, body=b""), Step(headers=SSE, body=b"")]
    )
    @both_clients
    def test_listening_ends_at_its_deadline(self, ask: Ask, step: Step) -> None:
        def listen(client: Any) -> Any:
            stream = client.events.listen(deadline=0.3)
            return anext(stream) if isinstance(client, AsyncClient) else next(stream)

        with scripted(step) as server, pytest.raises(DeadlineExceeded, match=r"deadline of 0\.3 s"):
            ask(server.url, listen, tokens=TOKENS)

    @pytest.mark.parametrize("text", [b"x", b"data: x\n", b"data\n"])
    def test_an_endless_event_is_refused(self, text: bytes) -> None:
        parser = EventParser()
        chunk = text * (65_536 // len(text))
        with pytest.raises(UnexpectedAnswer, match="too large"):
            collections.deque(map(parser.feed, itertools.repeat(chunk, 1000)), maxlen=0)

    def test_fields_without_a_meaning_are_not_kept(self) -> None:
        parser = EventParser()
        for number in range(1000):
            parser.feed(b"field%d: x\n" % number)
        assert parser._fields == {}
        assert [message.data for message in parser.feed(b"data: a\ndata\ndata: b\n\n")] == [b"a\n\nb"]

    @pytest.mark.parametrize(("value", "seconds"), [(b"9" * 5000, None), (b"1" * 20, None), (b"1500", 1.5)])
    def test_a_pause_with_too_many_digits_is_ignored(self, value: bytes, seconds: float | None) -> None:
        parser = EventParser()
        parser.feed(b"retry: " + value + b"\n\n")
        assert parser.retry == seconds
