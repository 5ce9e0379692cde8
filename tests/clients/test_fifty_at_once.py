"""The same code or refresh token fifty times at once, over HTTP."""

from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import ExitStack, closing
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlencode, urlsplit

import httpx
import pytest

from support.gateway import Gateway
from support.http import PATIENCE
from support.relying_party import PersonBrowser, PlainApp, Secrets, call
from support.spec_operations import E3, E6

pytestmark = pytest.mark.slow

TIMES = 50
ANNA = "anna@example.com"
MakeVisitor = Callable[[str], PersonBrowser]
MakeApp = Callable[[str], PlainApp]


def send_at_once(gateway: Gateway, secrets: Secrets, form: Mapping[str, str]) -> list[httpx.Response]:
    """Each request has its own connection, opened before the first request is sent. No answer is read before all are sent."""
    address = urlsplit(gateway.base_url).netloc
    body, headers = urlencode(form), {"Content-Type": "application/x-www-form-urlencoded"}
    with ExitStack() as stack:
        connections = [stack.enter_context(closing(HTTPConnection(address, timeout=PATIENCE))) for _ in range(TIMES)]
        for connection in connections:
            connection.request("GET", "/auth/jwks")
        for connection in connections:
            connection.getresponse().read()
        for connection in connections:
            connection.request("POST", "/auth/token", body, headers)
        answers = [read(connection) for connection in connections]
    for answer in answers:
        if answer.status_code == 200:
            secrets.note_tokens(answer.json())
    return answers


def read(connection: HTTPConnection) -> httpx.Response:
    answer = connection.getresponse()
    return httpx.Response(answer.status, content=answer.read())


def is_refused(app: PlainApp, refresh_token: str) -> bool:
    answer = app.ask_token(app.refresh_form(refresh_token))
    return answer.status_code == 400 and answer.json()["error"] == "invalid_grant"


def statuses(app: PlainApp, gateway: Gateway, tokens: Mapping[str, Any]) -> list[int]:
    plant = {"plant": gateway.estate.active_plants_of(ANNA)[0].id}
    return [
        call(gateway, E3, plant, app.bearer(tokens["access_token"])),
        call(gateway, E6, {}, app.bearer(tokens["id_token"])),
    ]


class TestOneCode:
    def test_one_redemption_succeeds_and_its_tokens_die_with_the_second(
        self, gateway: Gateway, secrets: Secrets, visit: MakeVisitor, app_of: MakeApp
    ) -> None:
        app = app_of("demo-app")
        form = app.redeem_form(visit(ANNA).grant_access(app.authorization_url()))
        answers = send_at_once(gateway, secrets, form)
        assert Counter(answer.status_code for answer in answers) == {200: 1, 400: TIMES - 1}
        assert {answer.json()["error"] for answer in answers if answer.status_code == 400} == {"invalid_grant"}
        (won,) = [answer.json() for answer in answers if answer.status_code == 200]
        # The gateway cannot tell the client from a thief, so both lose their tokens (RFC 6749 §4.1.2).
        assert statuses(app, gateway, won) == [401, 401]
        assert is_refused(app, won["refresh_token"])


class TestOneRefreshToken:
    def test_all_get_the_same_successor_which_goes_on_alone(
        self, gateway: Gateway, secrets: Secrets, visit: MakeVisitor, app_of: MakeApp
    ) -> None:
        app = app_of("demo-app")
        first = app.get_tokens(visit(ANNA))["refresh_token"]
        answers = send_at_once(gateway, secrets, app.refresh_form(first))
        assert Counter(answer.status_code for answer in answers) == {200: TIMES}
        (second,) = {answer.json()["refresh_token"] for answer in answers}
        assert second != first
        # Each response is complete: the client can continue with any of them.
        assert {status for answer in answers[::10] for status in statuses(app, gateway, answer.json())} == {200}
        third = app.ask_token(app.refresh_form(second))
        assert third.status_code == 200
        assert third.json()["refresh_token"] not in (first, second)
        assert statuses(app, gateway, third.json()) == [200, 200]

    def test_one_that_is_older_than_the_predecessor_ends_the_whole_family(
        self, gateway: Gateway, secrets: Secrets, visit: MakeVisitor, app_of: MakeApp
    ) -> None:
        app = app_of("demo-app")
        first = app.get_tokens(visit(ANNA))["refresh_token"]
        answers = send_at_once(gateway, secrets, app.refresh_form(first))
        second = answers[0].json()["refresh_token"]
        third = app.ask_token(app.refresh_form(second)).json()
        assert statuses(app, gateway, third) == [200, 200]
        assert is_refused(app, first)
        assert is_refused(app, third["refresh_token"])
        assert is_refused(app, second)
        assert statuses(app, gateway, third) == [401, 401]

    def test_fifty_that_come_too_late_get_nothing_and_end_the_family(
        self, gateway: Gateway, secrets: Secrets, visit: MakeVisitor, app_of: MakeApp
    ) -> None:
        app = app_of("demo-app")
        first = app.get_tokens(visit(ANNA))["refresh_token"]
        second = app.ask_token(app.refresh_form(first)).json()["refresh_token"]
        third = app.ask_token(app.refresh_form(second)).json()
        answers = send_at_once(gateway, secrets, app.refresh_form(first))
        assert Counter(answer.status_code for answer in answers) == {400: TIMES}
        assert statuses(app, gateway, third) == [401, 401]
