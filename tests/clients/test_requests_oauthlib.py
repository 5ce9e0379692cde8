"""requests-oauthlib, unmodified: authorization code with PKCE, and its automatic refresh."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from oauthlib.oauth2 import InvalidGrantError, MismatchingStateError, OAuth2Error
from requests.auth import HTTPBasicAuth
from requests_oauthlib import OAuth2Session, TokenUpdated

from support.gateway import Gateway
from support.relying_party import EVERYTHING, PersonBrowser, Secrets, Send, call, call_everything
from support.spec_operations import E3, E6

pytestmark = pytest.mark.slow

CLIENT, SECRET, CALLBACK = "demo-app", "demo-app-secret-0001", "http://127.0.0.1:8090/callback"
ANNA = "anna@example.com"
MakeVisitor = Callable[[str], PersonBrowser]


@pytest.fixture(autouse=True)
def on_loopback(monkeypatch: pytest.MonkeyPatch) -> None:
    """The library allows http only in development mode."""
    monkeypatch.setenv("OAUTHLIB_INSECURE_TRANSPORT", "1")


class LibraryApp:
    """An application as in the library's documentation, with auto-refresh and a token store."""

    def __init__(self, gateway: Gateway, secrets: Secrets, scope: str = EVERYTHING) -> None:
        self.token_url = f"{gateway.auth_url}/token"
        self.authorization_url = f"{gateway.auth_url}/authorize"
        self.secrets = secrets
        self.updates: list[dict[str, Any]] = []
        self.session = OAuth2Session(
            CLIENT,
            scope=scope.split(),
            redirect_uri=CALLBACK,
            pkce="S256",
            auto_refresh_url=self.token_url,
            auto_refresh_kwargs={"client_id": CLIENT, "client_secret": SECRET},
            token_updater=self.keep,
        )
        self.session.trust_env = False

    def keep(self, token: dict[str, Any]) -> None:
        self.updates.append(token)
        self.secrets.note_tokens(token)

    def log_in(self, visitor: PersonBrowser, **how: Any) -> dict[str, Any]:
        url, _state = self.session.authorization_url(self.authorization_url)
        token = self.session.fetch_token(
            self.token_url, authorization_response=visitor.grant_access(url), client_secret=SECRET, **how
        )
        self.secrets.note_tokens(token)
        return dict(token)

    def send(self, method: str, url: str, headers: dict[str, str], body: bytes | None) -> int:
        """With the access token, which the library adds itself."""
        return int(self.session.request(method, url, headers=headers, data=body, timeout=30).status_code)

    def send_id_token(self, method: str, url: str, headers: dict[str, str], body: bytes | None) -> int:
        headers = {**headers, "Authorization": f"Bearer {self.session.token['id_token']}"}
        answer = self.session.request(method, url, headers=headers, data=body, withhold_token=True, timeout=30)
        return int(answer.status_code)

    @property
    def senders(self) -> dict[str, Send]:
        return {"access": self.send, "id": self.send_id_token}


@pytest.fixture
def home(gateway: Gateway, secrets: Secrets) -> Iterator[LibraryApp]:
    home = LibraryApp(gateway, secrets)
    with home.session:
        yield home


class TestLogin:
    def test_code_and_pkce_bring_all_tokens_and_the_scopes_that_were_asked_for(
        self, home: LibraryApp, visit: MakeVisitor
    ) -> None:
        token = home.log_in(visit(ANNA))
        assert {"access_token", "id_token", "refresh_token", "expires_in", "expires_on"} <= token.keys()
        assert set(token["scope"]) == set(EVERYTHING.split())

    def test_the_secret_may_go_into_the_form(self, home: LibraryApp, visit: MakeVisitor) -> None:
        assert home.log_in(visit(ANNA), include_client_id=True)["access_token"]

    def test_another_verifier_is_an_invalid_grant(self, home: LibraryApp, visit: MakeVisitor) -> None:
        url, _state = home.session.authorization_url(home.authorization_url)
        callback = visit(ANNA).grant_access(url)
        home.session.authorization_url(home.authorization_url, state=home.session._state)  # makes a new verifier
        with pytest.raises(InvalidGrantError):
            home.session.fetch_token(home.token_url, authorization_response=callback, client_secret=SECRET)

    def test_an_answer_to_another_request_is_refused_by_it(self, home: LibraryApp, visit: MakeVisitor) -> None:
        url, _state = home.session.authorization_url(home.authorization_url)
        callback = visit(ANNA).grant_access(url)
        home.session.authorization_url(home.authorization_url)  # makes a new state
        with pytest.raises(MismatchingStateError):
            home.session.fetch_token(home.token_url, authorization_response=callback, client_secret=SECRET)

    def test_a_wrong_secret_is_an_invalid_client(self, home: LibraryApp, visit: MakeVisitor) -> None:
        url, _state = home.session.authorization_url(home.authorization_url)
        callback = visit(ANNA).grant_access(url)
        with pytest.raises(OAuth2Error, match="invalid_client"):
            home.session.fetch_token(home.token_url, authorization_response=callback, client_secret="not-the-secret-0001")


class TestFamilies:
    def test_all_nine_open_with_the_tokens_it_got(self, gateway: Gateway, home: LibraryApp, visit: MakeVisitor) -> None:
        home.log_in(visit(ANNA))
        call_everything(gateway, ANNA, home.senders)

    def test_the_kinds_are_told_apart(self, gateway: Gateway, home: LibraryApp, visit: MakeVisitor) -> None:
        home.log_in(visit(ANNA))
        plant = {"plant": gateway.estate.active_plants_of(ANNA)[0].id}
        assert call(gateway, E3, plant, home.send_id_token) == 401
        assert call(gateway, E6, {}, home.send) == 401


class TestRefresh:
    def test_a_token_that_has_run_out_is_refreshed_before_the_call(
        self, gateway: Gateway, home: LibraryApp, visit: MakeVisitor
    ) -> None:
        before = home.log_in(visit(ANNA))
        home.session.token = {**before, "expires_in": -30, "expires_at": 1}
        plant = {"plant": gateway.estate.active_plants_of(ANNA)[0].id}
        assert call(gateway, E3, plant, home.send) == 200
        (after,) = home.updates
        assert after["refresh_token"] != before["refresh_token"]
        assert after["access_token"] != before["access_token"]
        call_everything(gateway, ANNA, home.senders)

    def test_it_can_go_on_so_for_long(self, gateway: Gateway, home: LibraryApp, visit: MakeVisitor) -> None:
        home.log_in(visit(ANNA))
        plant = {"plant": gateway.estate.active_plants_of(ANNA)[0].id}
        for _ in range(5):
            home.session.token = {**home.session.token, "expires_in": -30, "expires_at": 1}
            assert call(gateway, E3, plant, home.send) == 200
        assert len({token["refresh_token"] for token in home.updates}) == 5

    def test_without_a_place_to_keep_it_the_new_token_comes_as_a_warning(
        self, gateway: Gateway, home: LibraryApp, visit: MakeVisitor
    ) -> None:
        before = home.log_in(visit(ANNA))
        home.session.token_updater = None
        home.session.token = {**before, "expires_in": -30, "expires_at": 1}
        with pytest.raises(TokenUpdated) as updated:
            home.session.get(f"{gateway.auth_url}/userinfo")
        home.secrets.note_tokens(updated.value.token)
        assert updated.value.token["refresh_token"] != before["refresh_token"]

    def test_an_access_token_sent_as_refresh_token_is_an_invalid_grant(self, home: LibraryApp, visit: MakeVisitor) -> None:
        token = home.log_in(visit(ANNA))
        with pytest.raises(InvalidGrantError):
            home.session.refresh_token(home.token_url, refresh_token=token["access_token"])


class TestRevocation:
    def test_a_revoked_access_token_and_its_refresh_token_are_of_no_more_use(
        self, gateway: Gateway, home: LibraryApp, visit: MakeVisitor
    ) -> None:
        token = home.log_in(visit(ANNA))
        userinfo = f"{gateway.auth_url}/userinfo"
        assert home.session.get(userinfo).json()["email"] == ANNA
        # The library only prepares this request; the application sends it.
        url, headers, body = home.session._client.prepare_token_revocation_request(
            "https://the.gateway/revoke", token["access_token"]
        )
        assert url == "https://the.gateway/revoke"
        answer = home.session.post(
            f"{gateway.auth_url}/revoke",
            data=body,
            headers=headers,
            auth=HTTPBasicAuth(CLIENT, SECRET),
            withhold_token=True,
        )
        assert answer.status_code == 200
        assert home.session.get(userinfo).status_code == 401
        with pytest.raises(InvalidGrantError):
            home.session.refresh_token(home.token_url)
