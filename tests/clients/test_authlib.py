"""Authlib's clients, unmodified: the one for web applications, which discovers and validates, and the bare OAuth session."""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import ExitStack
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from authlib.integrations.base_client import MismatchingStateError
from authlib.integrations.httpx_client import AsyncOAuth2Client, OAuth2Client, OAuthError
from authlib.integrations.starlette_client import OAuth, StarletteOAuth2App
from starlette.requests import Request

from support.gateway import Gateway
from support.relying_party import EVERYTHING, PersonBrowser, Secrets, Send, call_everything
from support.spec_operations import OPERATIONS

pytestmark = pytest.mark.slow

CLIENT, SECRET, CALLBACK = "demo-app", "demo-app-secret-0001", "http://127.0.0.1:8090/callback"
DIRECT: dict[str, Any] = {"trust_env": False, "verify": False}
"""No proxy from the environment. Certificates are not needed, and take long to load."""
ANNA = "anna@example.com"
MakeVisitor = Callable[[str], PersonBrowser]


def web_app(gateway: Gateway, **kwargs: Any) -> StarletteOAuth2App:
    """Registered as in Authlib's documentation: only the URL of the metadata is given."""
    oauth = OAuth()
    oauth.register(
        "home",
        client_id=CLIENT,
        client_secret=SECRET,
        server_metadata_url=f"{gateway.auth_url}/.well-known/openid-configuration",
        client_kwargs={"scope": EVERYTHING, "code_challenge_method": "S256", **DIRECT, **kwargs},
    )
    app: StarletteOAuth2App = oauth.create_client("home")
    return app


def request_of(url: str, session: dict[str, Any]) -> Request:
    """The request that a web framework gives to the application."""
    parts = urlsplit(url)
    scope = {
        "type": "http",
        "method": "GET",
        "path": parts.path,
        "query_string": parts.query.encode(),
        "headers": [],
        "session": session,
    }
    return Request(scope)


async def log_in(app: StarletteOAuth2App, visitor: PersonBrowser, secrets: Secrets, **how: Any) -> dict[str, Any]:
    """From the login button to the session. Authlib handles state, PKCE, nonce and id token."""
    session: dict[str, Any] = {}
    redirect = await app.authorize_redirect(request_of("http://127.0.0.1:8090/login", session), CALLBACK)
    callback = visitor.grant_access(redirect.headers["location"], **how)
    token: dict[str, Any] = await app.authorize_access_token(request_of(callback, session))
    secrets.note_tokens(token)
    return token


def call_all(gateway: Gateway, token: Mapping[str, Any]) -> dict[str, int]:
    """Authlib sends its access token as bearer. An application that needs id tokens stores them there."""

    def sender(bearer: str) -> Send:
        client = OAuth2Client(CLIENT, SECRET, token={"access_token": bearer, "token_type": "Bearer"}, **DIRECT)
        stack.enter_context(client)

        def send(method: str, url: str, headers: dict[str, str], body: bytes | None) -> int:
            status: int = client.request(method, url, headers=headers, content=body).status_code
            return status

        return send

    with ExitStack() as stack:
        return call_everything(gateway, ANNA, {kind: sender(token[f"{kind}_token"]) for kind in ("access", "id")})


@pytest.fixture
async def oauth_session(gateway: Gateway, visit: MakeVisitor, secrets: Secrets) -> AsyncIterator[AsyncOAuth2Client]:
    """The OAuth session after authorization code with PKCE."""
    async with AsyncOAuth2Client(
        CLIENT, SECRET, scope=EVERYTHING, redirect_uri=CALLBACK, code_challenge_method="S256", **DIRECT
    ) as session:
        well_known = f"{gateway.auth_url}/.well-known/openid-configuration"
        described = (await session.request("GET", well_known, withhold_token=True)).json()
        session.metadata.update(described)
        verifier = "authlib-" + "v" * 56
        url, state = session.create_authorization_url(described["authorization_endpoint"], code_verifier=verifier)
        callback = visit(ANNA).grant_access(url)
        token = await session.fetch_token(
            described["token_endpoint"], authorization_response=callback, state=state, code_verifier=verifier
        )
        secrets.note_tokens(token)
        yield session


class TestLogin:
    async def test_it_knows_the_auth_url_alone_and_gets_an_id_token_that_it_can_validate(
        self, gateway: Gateway, visit: MakeVisitor, secrets: Secrets
    ) -> None:
        token = await log_in(web_app(gateway), visit(ANNA), secrets)
        claims = token["userinfo"]
        assert claims["iss"] == gateway.auth_url
        assert claims["nonce"]
        assert claims["at_hash"]
        assert isinstance(claims["auth_time"], int)
        assert token["token_type"] == "Bearer"
        assert set(token["scope"].split()) == set(EVERYTHING.split())

    async def test_an_id_token_with_another_nonce_is_refused_by_it(
        self, gateway: Gateway, visit: MakeVisitor, secrets: Secrets
    ) -> None:
        """Shows that the nonce is really compared."""
        app = web_app(gateway)
        token = await log_in(app, visit(ANNA), secrets)
        with pytest.raises(Exception, match="nonce"):
            await app.parse_id_token(token, nonce="of somebody else")

    async def test_userinfo_is_about_the_same_person(self, gateway: Gateway, visit: MakeVisitor, secrets: Secrets) -> None:
        app = web_app(gateway)
        token = await log_in(app, visit(ANNA), secrets)
        told = await app.userinfo(token=token)
        assert told["sub"] == token["userinfo"]["sub"]
        assert told["email"] == ANNA
        assert told["name"] == "Anna Bianchi"

    async def test_the_secret_may_be_sent_as_a_form_field(self, gateway: Gateway, visit: MakeVisitor, secrets: Secrets) -> None:
        app = web_app(gateway, token_endpoint_auth_method="client_secret_post")
        assert (await log_in(app, visit(ANNA), secrets))["access_token"]

    async def test_a_person_who_says_no_is_reported_to_the_application(
        self, gateway: Gateway, visit: MakeVisitor, secrets: Secrets
    ) -> None:
        app = web_app(gateway, prompt="consent")
        with pytest.raises(OAuthError, match="access_denied"):
            await log_in(app, visit("fabio@example.com"), secrets, decision="deny")

    async def test_the_answer_to_another_state_is_refused_by_it(self, gateway: Gateway, visit: MakeVisitor) -> None:
        app, session = web_app(gateway), dict[str, Any]()
        redirect = await app.authorize_redirect(request_of("http://127.0.0.1:8090/login", session), CALLBACK)
        callback = visit(ANNA).grant_access(redirect.headers["location"])
        state = parse_qs(urlsplit(callback).query)["state"][0]
        with pytest.raises(MismatchingStateError):
            await app.authorize_access_token(request_of(callback.replace(state, "other"), session))


class TestFamilies:
    async def test_all_nine_open_with_the_tokens_it_got(self, gateway: Gateway, visit: MakeVisitor, secrets: Secrets) -> None:
        token = await log_in(web_app(gateway), visit(ANNA), secrets)
        answers = call_all(gateway, token)
        called = {name.partition(" ")[0] for name in answers}
        assert called == {operation.name for operation in OPERATIONS} - {"E18"}, "Anna has everything but a site"


class TestRefresh:
    async def test_it_rotates_and_the_new_tokens_open_all_families(
        self, gateway: Gateway, oauth_session: AsyncOAuth2Client, secrets: Secrets
    ) -> None:
        before = dict(oauth_session.token)
        after = await oauth_session.refresh_token(oauth_session.metadata["token_endpoint"])
        secrets.note_tokens(after)
        assert after["refresh_token"] != before["refresh_token"]
        assert after["access_token"] != before["access_token"]
        assert after["id_token"] != before["id_token"]
        assert set(after["scope"].split()) == set(before["scope"].split())
        call_all(gateway, after)

    async def test_a_token_that_has_run_out_is_refreshed_by_itself(
        self, gateway: Gateway, oauth_session: AsyncOAuth2Client, secrets: Secrets
    ) -> None:
        before = dict(oauth_session.token)
        oauth_session.token = {**before, "expires_at": 1}
        told = (await oauth_session.get(oauth_session.metadata["userinfo_endpoint"])).json()
        secrets.note_tokens(oauth_session.token)
        assert told["email"] == ANNA
        assert oauth_session.token["refresh_token"] != before["refresh_token"]

    async def test_an_unknown_refresh_token_is_an_invalid_grant(self, oauth_session: AsyncOAuth2Client) -> None:
        for wrong in (oauth_session.token["access_token"], oauth_session.token["id_token"], "made-up"):
            with pytest.raises(OAuthError) as refused:
                await oauth_session.refresh_token(oauth_session.metadata["token_endpoint"], refresh_token=wrong)
            assert refused.value.error == "invalid_grant"


class TestRevocation:
    async def test_a_revoked_refresh_token_takes_all_tokens_of_its_grant_with_it(
        self, gateway: Gateway, oauth_session: AsyncOAuth2Client
    ) -> None:
        metadata, token = oauth_session.metadata, dict(oauth_session.token)
        told = (await oauth_session.introspect_token(metadata["introspection_endpoint"])).json()
        assert told["active"] is True
        answer = await oauth_session.revoke_token(metadata["revocation_endpoint"], token_type_hint="refresh_token")
        assert answer.status_code == 200
        assert (await oauth_session.get(metadata["userinfo_endpoint"])).status_code == 401
        for value in (token["access_token"], token["id_token"], token["refresh_token"]):
            told = (await oauth_session.introspect_token(metadata["introspection_endpoint"], token=value)).json()
            assert told == {"active": False}
        with pytest.raises(OAuthError, match="invalid_grant"):
            await oauth_session.refresh_token(metadata["token_endpoint"])

    async def test_revoking_again_changes_nothing_and_is_no_error(self, oauth_session: AsyncOAuth2Client) -> None:
        endpoint = oauth_session.metadata["revocation_endpoint"]
        assert [(await oauth_session.revoke_token(endpoint)).status_code for _ in range(2)] == [200, 200]


class TestLogout:
    async def test_the_application_logs_the_person_out_and_gets_its_state_back(
        self, gateway: Gateway, visit: MakeVisitor, secrets: Secrets, farewell: str
    ) -> None:
        app, visitor, session = web_app(gateway), visit(ANNA), dict[str, Any]()
        token = await log_in(app, visitor, secrets)
        assert visitor.is_logged_in()
        redirect = await app.logout_redirect(
            request_of("http://127.0.0.1:8090/logout", session),
            post_logout_redirect_uri=farewell,
            id_token_hint=token["id_token"],
        )
        answer = visitor.open(redirect.headers["location"])
        assert answer.is_redirect
        assert answer.headers["location"].startswith(f"{farewell}?")
        data = await app.validate_logout_response(request_of(answer.headers["location"], session))
        assert data == {"post_logout_redirect_uri": farewell}
        assert not visitor.is_logged_in()

    async def test_an_address_that_is_not_registered_is_not_gone_to(
        self, gateway: Gateway, visit: MakeVisitor, secrets: Secrets
    ) -> None:
        app, visitor = web_app(gateway), visit(ANNA)
        token = await log_in(app, visitor, secrets)
        wanted = await app.create_logout_url("http://127.0.0.1:8090/elsewhere", id_token_hint=token["id_token"])
        answer = visitor.open(wanted["url"])
        assert answer.status_code == 400
        assert visitor.is_logged_in()
