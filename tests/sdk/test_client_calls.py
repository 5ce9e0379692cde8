"""Retries, deadlines, the cache and errors of the Python client, against a server that answers as the test says."""

import json
import time
from typing import Any

import pytest

from domogate_client import Client, Session, Tokens, faults
from domogate_client.errors import (
    DeadlineExceeded,
    DomogateError,
    LoginRequired,
    NoAnswer,
    NotFound,
    Refused,
    Unavailable,
    UnexpectedAnswer,
)
from domogate_client.models.commands import SetLight
from domogate_client.models.homeauto import Plants, SceneOrder
from support.both_clients import QUICK, Ask, both_clients
from support.ports import free_port
from support.scripted_server import Step, scripted

TOKENS = Tokens(access_token="secret-access-token", id_token="secret-id-token")
HOME, MODULE = "ca5a0001-0000-4000-8000-000000000000", "ca5a0001-0001-4000-8000-000000000001"
EMPTY = Plants(plants=[])


def list_plants(client: Any) -> Any:
    return client.homeauto.list_plants()


def run_scene(client: Any) -> Any:
    return client.homeauto.run_scene(HOME, MODULE, SceneOrder())


def command(client: Any) -> Any:
    return client.home.command_module(HOME, MODULE, SetLight(on=True))


def problem(status: int, **headers: str) -> Step:
    return Step(status, {name.replace("_", "-"): value for name, value in headers.items()}, b'{"statusCode":1,"message":"No."}')


@both_clients
class TestRetries:
    @pytest.mark.parametrize("first", [Step(drop=True), problem(503), problem(429), problem(502), problem(504)])
    def test_a_read_is_repeated(self, ask: Ask, first: Step) -> None:
        with scripted(first, Step()) as server:
            assert ask(server.url, list_plants, tokens=TOKENS, retries=QUICK) == [EMPTY]
        assert len(server.got) == 2

    def test_a_read_is_repeated_only_as_often_as_allowed(self, ask: Ask) -> None:
        with scripted(Step(drop=True)) as server, pytest.raises(NoAnswer) as raised:
            ask(server.url, list_plants, tokens=TOKENS, retries=QUICK)
        assert len(server.got) == QUICK.attempts
        assert not raised.value.may_be_done

    def test_the_client_waits_as_long_as_retry_after_says(self, ask: Ask) -> None:
        with scripted(problem(429, retry_after="1"), Step()) as server:
            ask(server.url, list_plants, tokens=TOKENS, retries=QUICK)
        first, second = server.got
        assert second.at - first.at >= 1

    def test_it_does_not_wait_longer_than_its_deadline(self, ask: Ask) -> None:
        with scripted(problem(429, retry_after="3600")) as server, pytest.raises(faults.TooManyRequests) as raised:
            ask(server.url, list_plants, tokens=TOKENS)
        assert raised.value.retry_after == 3600
        assert len(server.got) == 1

    @pytest.mark.parametrize(
        "first", [Step(drop=True), problem(503), problem(429, retry_after="0"), problem(502), problem(504)]
    )
    def test_a_command_without_an_idempotency_key_is_sent_once(self, ask: Ask, first: Step) -> None:
        with scripted(first) as server, pytest.raises(DomogateError) as raised:
            ask(server.url, run_scene, tokens=TOKENS, retries=QUICK)
        assert len(server.got) == 1
        assert raised.value.may_be_done == (first.status != 429)

    @pytest.mark.parametrize("first", [Step(drop=True), problem(503)])
    def test_a_command_with_an_idempotency_key_is_repeated_with_the_same_key(self, ask: Ask, first: Step) -> None:
        with scripted(first, problem(404)) as server, pytest.raises(NotFound):
            ask(server.url, command, tokens=TOKENS, retries=QUICK)
        sent, again = server.got
        assert sent.headers["idempotency-key"] == again.headers["idempotency-key"]
        assert sent.body == again.body == b'{"do":"set light","on":true}'

    def test_a_gateway_that_does_not_run_cannot_have_executed_a_command(self, ask: Ask) -> None:
        with pytest.raises(NoAnswer) as raised:
            ask(f"http://127.0.0.1:{free_port()}", run_scene, tokens=TOKENS, retries=QUICK)
        assert not raised.value.may_be_done


@both_clients
class TestMayBeDone:
    @pytest.mark.parametrize(
        ("answer", "may_be_done"),
        [
            (problem(400), False),
            (problem(401), False),
            (problem(404), False),
            (problem(404, x_fault="4002"), True),
            (problem(408), True),
            (problem(500), True),
            (problem(500, x_fault="4003"), False),
            (problem(503), True),
            (problem(503, x_fault="4001"), False),
            (Step(307, {"location": "/"}, b""), True),
            (Step(body=b"no JSON"), True),
        ],
    )
    def test_a_command_with_an_error(self, ask: Ask, answer: Step, may_be_done: bool) -> None:
        with scripted(answer) as server, pytest.raises(DomogateError) as raised:
            ask(server.url, command, tokens=TOKENS, retries=QUICK)
        assert raised.value.may_be_done is may_be_done

    @pytest.mark.parametrize("answer", [Step(drop=True), problem(408), problem(500), problem(503), Step(body=b"no JSON")])
    def test_a_read_has_no_effect(self, ask: Ask, answer: Step) -> None:
        with scripted(answer) as server, pytest.raises(DomogateError) as raised:
            ask(server.url, list_plants, tokens=TOKENS, retries=QUICK)
        assert not raised.value.may_be_done

    @pytest.mark.parametrize("first", [Step(drop=True), problem(503)])
    def test_an_earlier_attempt_counts(self, ask: Ask, first: Step) -> None:
        with scripted(first, problem(404)) as server, pytest.raises(NotFound) as raised:
            ask(server.url, command, tokens=TOKENS, retries=QUICK)
        assert len(server.got) == 2
        assert raised.value.may_be_done

    def test_a_failed_refresh_sends_no_command(self, ask: Ask) -> None:
        expired = Tokens(access_token="a", refresh_token="r", expires_at=1.0)
        with scripted(Step(500, body=b"")) as server, pytest.raises(DomogateError) as raised:
            ask(server.url, command, session=Session(tokens=expired))
        assert not raised.value.may_be_done

    def test_503_has_its_own_class(self, ask: Ask) -> None:
        with scripted(problem(503, x_fault="5999", retry_after="60")) as server, pytest.raises(Unavailable) as raised:
            ask(server.url, command, tokens=TOKENS, deadline=20)
        assert (raised.value.status, raised.value.retry_after) == (503, 60)


@both_clients
class TestDeadline:
    @pytest.mark.parametrize("part", ["headers", "body"])
    @pytest.mark.parametrize("first", [(), (Step(),)], ids=["new connection", "used connection"])
    def test_an_answer_that_never_ends_and_always_sends_something(self, ask: Ask, part: str, first: tuple[Step, ...]) -> None:
        with scripted(*first, Step(drip=part)) as server, pytest.raises(DeadlineExceeded):
            ask(server.url, list_plants, 2, tokens=TOKENS, deadline=0.5)

    def test_a_silent_gateway(self, ask: Ask) -> None:
        with scripted(Step(pause=2)) as server, pytest.raises(DeadlineExceeded):
            ask(server.url, list_plants, tokens=TOKENS, deadline=0.3)

    def test_an_answer_that_is_too_large(self, ask: Ask) -> None:
        with scripted(Step(body=b" " * 2000)) as server, pytest.raises(UnexpectedAnswer):
            ask(server.url, list_plants, tokens=TOKENS, max_answer=1000)


@both_clients
class TestCache:
    def test_an_answer_that_has_not_changed_is_not_sent_again(self, ask: Ask) -> None:
        with scripted(Step(headers={"etag": '"1"'}), Step(304, {"etag": '"1"'}, b"")) as server:
            assert ask(server.url, list_plants, 2, tokens=TOKENS) == [EMPTY, EMPTY]
        first, second = server.got
        assert "if-none-match" not in first.headers
        assert second.headers["if-none-match"] == '"1"'


@both_clients
class TestAnswers:
    def test_204_is_an_empty_list(self, ask: Ask) -> None:
        with scripted(Step(204, {}, b"")) as server:
            assert ask(server.url, list_plants, tokens=TOKENS) == [EMPTY]

    def test_unknown_words_and_fields_of_a_newer_gateway_are_accepted(self, ask: Ask) -> None:
        plant = {"id": "1", "ownerId": "2", "name": "x", "type": "Castle", "status": "Active", "new": 1}
        body = json.dumps({"plants": [{**plant, "allowedUsers": [], "invitedUsers": []}]}).encode()
        with scripted(Step(body=body)) as server:
            (plants,) = ask(server.url, list_plants, tokens=TOKENS)
        assert plants.plants[0].type == "Castle"

    @pytest.mark.parametrize("body", [b"", b"<html>", b"[]", b'{"plants":[{}]}', b'{"plants":"\xff"}'])
    def test_another_body_is_an_error_of_the_client(self, ask: Ask, body: bytes) -> None:
        with scripted(Step(body=body)) as server, pytest.raises(UnexpectedAnswer):
            ask(server.url, list_plants, tokens=TOKENS)

    def test_a_redirect_is_not_followed_with_the_token(self, ask: Ask) -> None:
        with scripted(Step(302, {"location": "http://127.0.0.1:1/"}, b"")) as server, pytest.raises(UnexpectedAnswer):
            ask(server.url, list_plants, tokens=TOKENS)


@both_clients
class TestErrors:
    @pytest.mark.parametrize(
        ("step", "kind"),
        [
            (problem(403), "Forbidden"),
            (problem(404), "NotFound"),
            (problem(404, x_fault="4001"), "DeviceOffline"),
            (problem(404, x_fault="99999"), "NotFound"),
            (problem(442), "ValueOutOfRange"),
            (problem(469), "PasswordToRenew"),
            (problem(500), "GatewayFailed"),
            (problem(418), "InvalidRequest"),
            (problem(401, www_authenticate='SubscriptionKey realm="domogate"'), "KeyRefused"),
            (problem(401, www_authenticate='Bearer realm="domogate", error="insufficient_scope", scope="x"'), "ScopeMissing"),
            (Step(404, {}, b'{"errors":[{"userMessage":"No.","internalMessage":"","code":2002}]}'), "NoSuchPlant"),
            (Step(409, {}, b'{"title":"","status":409,"detail":"No.","type":"urn:domogate:ticket:used"}'), "Conflict"),
            (Step(503, {"retry-after": "3600"}, b'{"detail":"No.","reason":"device_offline"}'), "DeviceOffline"),
            (Step(404, {}, b"not JSON"), "NotFound"),
            (Step(404, {}, b'{"errors":[{"userMessage":"No.","internalMessage":"","code":[2002]}]}'), "NotFound"),
        ],
    )
    def test_each_has_its_class(self, ask: Ask, step: Step, kind: str) -> None:
        with scripted(step) as server, pytest.raises(Refused) as raised:
            ask(server.url, list_plants, tokens=TOKENS)
        assert type(raised.value).__name__ == kind
        assert raised.value.status == step.status
        assert raised.value.operation == "homeauto.listPlants"

    def test_they_have_the_text_and_the_request_id(self, ask: Ask) -> None:
        with scripted(problem(404, x_request_id="abc-1")) as server, pytest.raises(NotFound, match=r"No\. .*abc-1") as raised:
            ask(server.url, list_plants, tokens=TOKENS)
        assert raised.value.request_id == "abc-1"
        assert raised.value.message == "No."

    def test_without_a_token_the_person_must_log_in(self, ask: Ask) -> None:
        with scripted(Step()) as server, pytest.raises(LoginRequired):
            ask(server.url, list_plants)
        assert server.got == []

    @pytest.mark.parametrize(
        "step", [Step(drop=True), problem(401, www_authenticate='Bearer error="invalid_token"'), problem(500)]
    )
    def test_no_error_leads_to_a_secret(self, ask: Ask, step: Step) -> None:
        with scripted(step) as server, pytest.raises(DomogateError) as raised:
            ask(server.url, list_plants, tokens=TOKENS, retries=QUICK)
        error: BaseException | None = raised.value
        assert error is not None
        assert error.__cause__ is None
        assert error.__context__ is None
        assert "secret" not in f"{error!r} {error} {vars(error)}"


class TestIds:
    @pytest.mark.parametrize("spelling", [HOME, HOME.replace("-", ""), HOME.upper()])
    def test_they_are_written_as_the_family_needs_them(self, spelling: str) -> None:
        with scripted(problem(404)) as server, Client(server.url, "key", tokens=TOKENS) as client:
            for read in (client.homectl.read_topology, client.homeauto.read_topology):
                with pytest.raises(NotFound):
                    read(spelling)
        hexadecimal, dashed = (request.path.lower() for request in server.got)
        assert hexadecimal == f"/homectl/api/v1.0/plants/{HOME.replace('-', '')}/topology"
        assert dashed == f"/homeauto/v1.0/plants/{HOME}/topology"

    def test_a_text_cannot_leave_its_place_in_the_path(self) -> None:
        with scripted(problem(404)) as server, Client(server.url, "key", tokens=TOKENS) as client, pytest.raises(NotFound):
            client.homeauto.read_topology("../../auth?x=#")
        assert server.got[0].path == "/homeauto/v1.0/plants/..%2F..%2Fauth%3Fx%3D%23/topology"

    @pytest.mark.parametrize("text", ["", ".", ".."])
    def test_a_text_that_would_change_the_path_is_not_sent(self, text: str) -> None:
        with scripted(Step(204)) as server, Client(server.url, "key", tokens=TOKENS) as client:
            with pytest.raises(DomogateError, match="cannot be part of a path"):
                client.management.revoke_grant(HOME, text)
            assert server.got == []


class TestTexts:
    def test_no_object_shows_a_secret(self) -> None:
        with Client("http://127.0.0.1:1", "secret-key", tokens=TOKENS) as client:
            assert "secret" not in f"{client!r} {client.session!r} {TOKENS!r} {TOKENS}"

    @pytest.mark.parametrize("url", ["gateway.example", "ftp://gateway.example", "https://", ""])
    def test_a_wrong_base_url_is_refused_at_once(self, url: str) -> None:
        with pytest.raises(DomogateError, match="base_url"):
            Client(url)

    def test_a_call_takes_its_own_deadline(self) -> None:
        with scripted(Step(pause=2)) as server, Client(server.url, "key", tokens=TOKENS) as client:
            begin = time.monotonic()
            with pytest.raises(DeadlineExceeded):
                client.homeauto.list_plants(deadline=0.2)
        assert time.monotonic() - begin >= 0.2
