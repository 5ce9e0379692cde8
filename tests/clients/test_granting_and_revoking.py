"""A person decides what an application may do, and can remove it at any time."""

from collections.abc import Callable, Iterator
from typing import Any

import jwt as pyjwt
import pytest
from authlib.integrations.httpx_client import OAuth2Client, OAuthError
from oauthlib.oauth2 import InvalidScopeError
from requests_oauthlib import OAuth2Session

from support.gateway import Gateway
from support.relying_party import EVERYTHING, PersonBrowser, PlainApp, Secrets, call, call_everything, find_target
from support.spec_operations import ALL_SCOPES, E20, OPERATIONS, Operation

pytestmark = pytest.mark.slow

ANNA, DARIO = "anna@example.com", "dario@example.com"
GRANTED = ("topology.read", "light.read")
MakeVisitor = Callable[[str], PersonBrowser]
MakeApp = Callable[[str], PlainApp]


def scopes_in(token: str) -> set[str]:
    """The claims as PyJWT reads them. Other tests check the signature."""
    claims: dict[str, Any] = pyjwt.decode(token, options={"verify_signature": False})
    return set(claims["scope"].split())


def token_of(tokens: dict[str, Any], operation: Operation) -> str:
    return str(tokens["access_token" if operation.token == "access" else "id_token"])


def call_all(gateway: Gateway, email: str, app: PlainApp, tokens: dict[str, Any]) -> dict[Operation, int]:
    """Every operation for which this person has a target."""
    targets = {operation: find_target(gateway, operation, email) for operation in OPERATIONS}
    return {
        operation: call(gateway, operation, target, app.bearer(token_of(tokens, operation)))
        for operation, target in targets.items()
        if target is not None
    }


class TestFewerScopesThanAskedFor:
    def test_tokens_carry_what_was_granted_and_open_nothing_else(
        self, gateway: Gateway, visit: MakeVisitor, app_of: MakeApp
    ) -> None:
        app = app_of("demo-app")
        tokens = app.get_tokens(visit(ANNA), only=GRANTED, prompt="consent")
        assert set(tokens["scope"].split()) == {"openid", *GRANTED}
        assert scopes_in(tokens["access_token"]) == scopes_in(tokens["id_token"]) == {"openid", *GRANTED}
        answers = call_all(gateway, ANNA, app, tokens)
        for operation, status in answers.items():
            opened = operation is E20 or any(scope in GRANTED for scope in operation.scopes)
            assert status == (200 if opened else 401), f"{operation}: {status}"
        assert {operation.prefix for operation, status in answers.items() if status == 401} >= {
            "/multisocket",
            "/thermostat/v2.0",
            "/emergency-lighting",
        }

    def test_a_refresh_brings_the_same_and_no_more(self, gateway: Gateway, visit: MakeVisitor, app_of: MakeApp) -> None:
        app = app_of("demo-app")
        tokens = app.get_tokens(visit(ANNA), only=GRANTED, prompt="consent")
        refreshed = app.ask_token(app.refresh_form(tokens["refresh_token"])).json()
        assert set(refreshed["scope"].split()) == {"openid", *GRANTED}
        assert scopes_in(refreshed["id_token"]) == {"openid", *GRANTED}
        widened = app.ask_token({**app.refresh_form(refreshed["refresh_token"]), "scope": "openid plug.write"})
        assert (widened.status_code, widened.json()["error"]) == (400, "invalid_scope")
        # Refused, but the same refresh token is still valid.
        assert app.ask_token(app.refresh_form(refreshed["refresh_token"])).status_code == 200

    def test_a_client_that_takes_over_the_scopes_it_was_given_goes_on(
        self, gateway: Gateway, visit: MakeVisitor, app_of: MakeApp, secrets: Secrets
    ) -> None:
        """Authlib sends its requested `scope` with every refresh, unless it is told the granted one."""
        app = app_of("demo-app")
        tokens = app.get_tokens(visit(ANNA), only=GRANTED, prompt="consent")
        token_url = f"{gateway.auth_url}/token"
        settings: dict[str, Any] = {"token": tokens, "trust_env": False, "verify": False}
        with OAuth2Client(*app.credentials.values(), scope=EVERYTHING, **settings) as client:
            with pytest.raises(OAuthError, match="invalid_scope"):
                client.refresh_token(token_url)
            client.scope = tokens["scope"]
            refreshed = client.refresh_token(token_url)
        secrets.note_tokens(refreshed)
        assert set(refreshed["scope"].split()) == {"openid", *GRANTED}

    def test_requests_oauthlib_goes_on_in_the_same_way(
        self, gateway: Gateway, visit: MakeVisitor, secrets: Secrets, app_of: MakeApp, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """By default it stops if the granted scopes differ from the requested ones. Its documentation names this option."""
        monkeypatch.setenv("OAUTHLIB_INSECURE_TRANSPORT", "1")
        monkeypatch.setenv("OAUTHLIB_RELAX_TOKEN_SCOPE", "1")
        app, token_url = app_of("demo-app"), f"{gateway.auth_url}/token"
        known = {"scope": EVERYTHING.split(), "redirect_uri": app.redirect_uri, "pkce": "S256"}
        with OAuth2Session(app.credentials["client_id"], auto_refresh_kwargs=app.credentials, **known) as session:
            session.trust_env = False
            url, _state = session.authorization_url(f"{gateway.auth_url}/authorize", prompt="consent")
            callback = visit(ANNA).grant_access(url, only=GRANTED)
            secret = app.credentials["client_secret"]
            token = session.fetch_token(token_url, authorization_response=callback, client_secret=secret)
            secrets.note_tokens(token)
            assert set(token["scope"]) == {"openid", *GRANTED}
            with pytest.raises(InvalidScopeError):
                session.refresh_token(token_url)
            session.scope = token["scope"]
            refreshed = session.refresh_token(token_url, refresh_token=token["refresh_token"])
        secrets.note_tokens(refreshed)
        assert set(refreshed["scope"]) == {"openid", *GRANTED}

    def test_a_public_client_gets_no_scope_that_it_is_not_registered_for(
        self, gateway: Gateway, visit: MakeVisitor, app_of: MakeApp
    ) -> None:
        viewer = app_of("demo-viewer")
        tokens = viewer.get_tokens(visit(ANNA))
        assert set(tokens["scope"].split()) - {"profile", "email"} == {"openid", "topology.read"}
        assert {operation.name for operation, status in call_all(gateway, ANNA, viewer, tokens).items() if status == 200} == {
            "E2",
            "E3",
            "E6",
            "E7",
            "E9",
            "E10",
            "E14",
            "E20",
        }


@pytest.fixture(scope="module")
def annas_browser(gateway: Gateway, secrets: Secrets) -> Iterator[PersonBrowser]:
    """She logs in once, and sees a question for each scope."""
    visitor = PersonBrowser(gateway, ANNA, secrets)
    yield visitor
    visitor.close()


class TestEveryScopeByItself:
    @pytest.mark.parametrize("scope", ALL_SCOPES)
    def test_it_opens_its_operations_and_no_other(
        self, gateway: Gateway, annas_browser: PersonBrowser, app_of: MakeApp, scope: str
    ) -> None:
        app = app_of("demo-app")
        tokens = app.get_tokens(annas_browser, only=(scope,), prompt="consent")
        opened = {op.name for op, status in call_all(gateway, ANNA, app, tokens).items() if status in (200, 204)}
        wanted = {op.name for op in OPERATIONS if scope in op.scopes and find_target(gateway, op, ANNA) is not None}
        assert opened == wanted | {"E20"}


class TestRevocationOnTheAccountPage:
    def test_the_next_call_of_the_application_is_refused(self, gateway: Gateway, visit: MakeVisitor, app_of: MakeApp) -> None:
        app, visitor = app_of("demo-app"), visit(DARIO)
        tokens = app.get_tokens(visitor)
        before = call_all(gateway, DARIO, app, tokens)
        assert set(before.values()) <= {200, 204}
        page = visitor.revoke("demo-app")
        assert 'value="demo-app"' not in page
        assert set(call_all(gateway, DARIO, app, tokens).values()) == {401}
        userinfo = app.http.get("/auth/userinfo", headers={"Authorization": f"Bearer {tokens['access_token']}"})
        assert userinfo.status_code == 401
        refused = app.ask_token(app.refresh_form(tokens["refresh_token"]))
        assert (refused.status_code, refused.json()["error"]) == (400, "invalid_grant")

    def test_only_that_application_of_only_that_person_is_thrown_out(
        self, gateway: Gateway, visit: MakeVisitor, app_of: MakeApp
    ) -> None:
        app, other, visitor = app_of("demo-app"), app_of("demo-classic"), visit(DARIO)
        others = other.get_tokens(visitor)
        annas = app.get_tokens(visit(ANNA))
        app.get_tokens(visitor)
        visitor.revoke("demo-app")
        call_everything(gateway, ANNA, {kind: app.bearer(annas[f"{kind}_token"]) for kind in ("access", "id")})
        assert set(call_all(gateway, DARIO, other, others).values()) <= {200, 204}
        assert other.ask_token(other.refresh_form(others["refresh_token"])).status_code == 200

    def test_it_may_get_access_again_and_the_person_is_asked_again(
        self, gateway: Gateway, visit: MakeVisitor, app_of: MakeApp
    ) -> None:
        app, visitor = app_of("demo-app"), visit(DARIO)
        app.get_tokens(visitor)
        assert visitor.open(app.authorization_url()).is_redirect, "what was granted is not asked for again"
        visitor.revoke("demo-app")
        page = visitor.open(app.authorization_url())
        assert page.status_code == 200
        assert 'name="decision"' in page.text
        tokens = app.get_tokens(visitor)
        assert set(call_all(gateway, DARIO, app, tokens).values()) <= {200, 204}


class TestAccessTokenEverywhere:
    def test_a_client_registered_for_it_opens_all_families_with_it(
        self, gateway: Gateway, visit: MakeVisitor, app_of: MakeApp
    ) -> None:
        classic = app_of("demo-classic")
        tokens = classic.get_tokens(visit(ANNA))
        send = classic.bearer(tokens["access_token"])
        call_everything(gateway, ANNA, {"access": send, "id": send})
