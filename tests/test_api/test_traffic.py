"""The record of requests: bounded, and without secrets."""

from typing import Any

import pytest

from domogate.edge.logs import redact_value
from domogate.test_api.traffic import MOST_BODY, MOST_BYTES, MOST_EXCHANGES, ExchangeOut, Sent, Traffic
from domogate.wire import to_datetime

EMPTY = Sent()
EPOCH = to_datetime(0.0)


def record(
    path: bytes = b"/homeauto/v1.0/plants", query: bytes = b"", asked: Sent = EMPTY, answered: Sent = EMPTY
) -> ExchangeOut:
    traffic = Traffic(redact_value)
    add(traffic, path, query, asked, answered)
    return traffic.list()[0]


def add(traffic: Traffic, path: bytes, query: bytes, asked: Sent, answered: Sent) -> None:
    facts: dict[str, Any] = {"at": EPOCH, "method": "GET", "operation": None, "status": 200, "fault": None, "ms": 1.0}
    traffic.add(path, query, asked, answered, request_id="r", **facts)


class TestRedaction:
    @pytest.mark.parametrize("name", [b"Authorization", b"cookie", b"set-cookie", b"ocp-apim-subscription-key", b"location"])
    def test_headers_with_credentials(self, name: bytes) -> None:
        shown = record(asked=Sent([(name, b"s3cret")]), answered=Sent([(name, b"s3cret")]))
        assert "s3cret" not in str(shown)

    def test_fields_of_json_that_have_the_name_of_a_secret(self) -> None:
        shown = record(answered=Sent(body=b'{"ticket":"s3cret","name":"Lamp"}'))
        assert shown.answer_body == '{"ticket":"[redacted]","name":"Lamp"}'

    def test_parameters_of_a_query(self) -> None:
        assert record(query=b"access_token=s3cret&names=true").query == "access_token=%5Bredacted%5D&names=true"

    def test_a_parameter_that_is_given_twice_is_shown_twice(self) -> None:
        assert record(b"/events", b"kind=state&kind=plant&token=a&token=b").query == (
            "kind=state&kind=plant&token=%5Bredacted%5D&token=%5Bredacted%5D"
        )

    @pytest.mark.parametrize("surface", [b"auth", b"manage", b"developer", b"tickets"])
    def test_everything_that_is_sent_to_and_by_surfaces_with_secrets(self, surface: bytes) -> None:
        shown = record(b"/" + surface + b"/x", b"code=s3cret", Sent(body=b"a=s3cret"), Sent(body=b'{"a":"s3cret"}'))
        assert "s3cret" not in str(shown)

    def test_the_ticket_in_a_path(self) -> None:
        assert record(b"/tickets/s3cret").path == "/tickets/[redacted]"


class TestBounds:
    def test_the_oldest_exchanges_are_forgotten(self) -> None:
        traffic = Traffic(redact_value)
        for _ in range(MOST_EXCHANGES + 5):
            add(traffic, b"/x", b"", Sent(), Sent())
        assert [one.number for one in traffic.list()][:: MOST_EXCHANGES - 1] == [6, MOST_EXCHANGES + 5]

    @pytest.mark.slow
    def test_large_bodies_leave_room_for_fewer_exchanges(self) -> None:
        traffic = Traffic(lambda value: value)  # redaction does not change the sizes and takes long for a thousand large bodies
        for _ in range(MOST_EXCHANGES):
            add(traffic, b"/x", b"", Sent(), Sent(body=b"x" * MOST_BODY, is_cut=True))
        assert 0 < sum(one.size for one in traffic.list()) <= MOST_BYTES
