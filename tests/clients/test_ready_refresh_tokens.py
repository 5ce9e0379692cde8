"""A script that uses only the refresh tokens in the demo's ready file, sent as the specification shows (Spec 5)."""

import time
from collections.abc import Callable
from typing import Any

import pytest

from support.gateway import Gateway
from support.relying_party import PlainApp, Secrets, call_everything

pytestmark = pytest.mark.slow

MakeApp = Callable[[str], PlainApp]
FIELDS = {"access_token", "refresh_token", "id_token", "token_type", "expires_in", "expires_on", "scope"}


@pytest.fixture
def script(gateway: Gateway, app_of: MakeApp, secrets: Secrets) -> PlainApp:
    for user in gateway.ready["users"]:
        secrets.note_tokens(user)
    return app_of("demo-app")


def ready_user(gateway: Gateway, email: str) -> dict[str, Any]:
    return next(user for user in gateway.ready["users"] if user["email"] == email)


class TestReadyRefreshTokens:
    def test_each_user_has_one_of_their_own(self, gateway: Gateway) -> None:
        values = [user["refresh_token"] for user in gateway.ready["users"]]
        assert len(values) == len(set(values)) == len(gateway.people)

    def test_it_gets_new_tokens_with_all_that_was_decided_about_the_answer(self, gateway: Gateway, script: PlainApp) -> None:
        """Decision 0023."""
        before = ready_user(gateway, "bruno@example.com")
        asked = time.time()
        answer = script.ask_token(script.refresh_form(before["refresh_token"]))
        assert answer.status_code == 200, answer.text
        assert answer.headers["content-type"] == "application/json"
        assert answer.headers["cache-control"] == "no-store"
        tokens = answer.json()
        assert set(tokens) == FIELDS
        assert tokens["token_type"] == "Bearer"
        assert type(tokens["expires_in"]) is int
        assert type(tokens["expires_on"]) is int
        assert tokens["expires_in"] == 3600
        assert asked - 1 <= tokens["expires_on"] - tokens["expires_in"] <= time.time() + 1
        for name in ("access_token", "id_token", "refresh_token"):
            assert tokens[name] != before[name]

    def test_its_tokens_open_all_families_and_can_be_refreshed_again(self, gateway: Gateway, script: PlainApp) -> None:
        value = ready_user(gateway, "anna@example.com")["refresh_token"]
        for _ in range(3):
            tokens = script.ask_token(script.refresh_form(value)).json()
            value = tokens["refresh_token"]
        bearers = {kind: script.bearer(tokens[f"{kind}_token"]) for kind in ("access", "id")}
        call_everything(gateway, "anna@example.com", bearers)

    @pytest.mark.parametrize("name", ["access_token", "id_token", "password"])
    def test_anything_else_of_the_user_sent_as_refresh_token_answers_400(
        self, gateway: Gateway, script: PlainApp, name: str
    ) -> None:
        answer = script.ask_token(script.refresh_form(ready_user(gateway, "elena@example.com")[name]))
        assert answer.status_code == 400
        assert answer.json()["error"] == "invalid_grant"

    def test_another_client_cannot_use_it_and_does_not_harm_it(
        self, gateway: Gateway, script: PlainApp, app_of: MakeApp
    ) -> None:
        value = ready_user(gateway, "elena@example.com")["refresh_token"]
        classic = app_of("demo-classic")
        assert classic.ask_token(classic.refresh_form(value)).status_code == 400
        assert script.ask_token(script.refresh_form(value)).status_code == 200

    def test_a_form_with_parts_and_a_slash_at_the_end_are_taken_too(self, gateway: Gateway, script: PlainApp) -> None:
        """Existing clients send both."""
        value = ready_user(gateway, "fabio@example.com")["refresh_token"]
        form = script.refresh_form(value)
        answer = script.http.post("/auth/token/", files={name: (None, text) for name, text in form.items()})
        assert answer.status_code == 200, answer.text
        script.note(answer)
        assert answer.json()["refresh_token"]
