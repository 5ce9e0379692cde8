"""The unmodified npm package oidc-provider as the gateway's external issuer."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import jwt as pyjwt
import msgspec
import pytest

from domogate.app.parts import SystemClock
from domogate.domain.faults import TokenRefused
from domogate.domain.people import Client, TokenKind
from domogate.identity.external import ExternalIssuer, IssuerProfile, JsonFetcher
from domogate.identity.signing import KeyRing
from domogate.identity.tokens import TokenVerifier
from domogate.stores import SqlStore, sqlite_url
from support.identity import AUDIENCE, ISSUER
from support.oidc_provider import OidcProvider, oidc_provider
from support.stores import ANNA, SMALL

pytestmark = pytest.mark.slow

API_SCOPES = "openid email topology.read light.read plug.write"


@pytest.fixture(scope="module")
def provider() -> Iterator[OidcProvider]:
    with oidc_provider() as running:
        yield running


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqlStore]:
    store = SqlStore(sqlite_url(tmp_path / "domogate.sqlite3"), clock=SystemClock())
    await store.start()
    await store.import_estate(SMALL, prune=False)
    await store.save_client(Client("panel", "Wall panel", scopes=("topology.read", "light.read", "comfort.read")))
    yield store
    await store.stop()


@pytest.fixture
async def verifier(provider: OidcProvider, store: SqlStore) -> AsyncIterator[TokenVerifier]:
    clock = SystemClock()
    http = JsonFetcher(deadline=60.0)
    await http.start()
    profile = IssuerProfile(
        url=provider.url,
        audiences=(AUDIENCE,),
        clients={"their-app": "panel", "their-other-app": "panel", "their-third-app": "panel"},
        scope_claims=("scope", "roles"),
        scopes={"resident": ("topology.read", "light.read", "plug.write")},
        default_scopes=("topology.read",),
    )
    issuer = ExternalIssuer(profile, http, clock)
    keyring = KeyRing(store, clock)
    await keyring.start()
    verifier = TokenVerifier(keyring, store, clock, ISSUER, AUDIENCE, others=[issuer])
    store.listen(verifier.apply)
    yield verifier
    await issuer.stop()
    await http.stop()


def read(token: str) -> tuple[dict[str, Any], dict[str, Any]]:
    return pyjwt.get_unverified_header(token), pyjwt.decode(token, options={"verify_signature": False})


class TestItsTokens:
    async def test_an_access_token_for_this_gateway_opens_it_for_what_was_granted(
        self, provider: OidcProvider, verifier: TokenVerifier
    ) -> None:
        token = provider.log_in("anna", scope=API_SCOPES, resource=AUDIENCE)["access_token"]
        header, claims = read(token)
        assert (header["typ"], header["alg"], claims["aud"]) == ("at+jwt", "ES256", AUDIENCE)
        principal = await verifier.verify(token.encode())
        assert (principal.user_id, principal.client_id, principal.kind) == (ANNA.id, "panel", TokenKind.ACCESS)
        # plug.write was granted there, but the client is not registered for it here.
        assert principal.scopes == {"topology.read", "light.read"}
        assert principal.expires_at == claims["exp"]
        assert verifier.find_verified(token.encode()) is principal

    @pytest.mark.parametrize(
        ("client_id", "algorithm"), [("their-app", "RS256"), ("their-other-app", "ES256"), ("their-third-app", "PS256")]
    )
    async def test_an_id_token_opens_it_whatever_it_is_signed_with(
        self, provider: OidcProvider, verifier: TokenVerifier, client_id: str, algorithm: str
    ) -> None:
        token = provider.log_in("anna", client_id=client_id, scope="openid email roles")["id_token"]
        header, claims = read(token)
        assert (header["alg"], claims["aud"]) == (algorithm, client_id)
        principal = await verifier.verify(token.encode())
        assert (principal.user_id, principal.kind) == (ANNA.id, TokenKind.ID)
        assert principal.scopes == {"topology.read", "light.read"}

    async def test_an_id_token_without_roles_has_the_scopes_of_the_profile(
        self, provider: OidcProvider, verifier: TokenVerifier
    ) -> None:
        token = provider.log_in("anna")["id_token"]
        assert (await verifier.verify(token.encode())).scopes == {"topology.read"}

    async def test_both_tokens_of_one_login_stand_for_the_same_grant(
        self, provider: OidcProvider, verifier: TokenVerifier
    ) -> None:
        tokens = provider.log_in("anna", scope=API_SCOPES, resource=AUDIENCE)
        grants = {(await verifier.verify(tokens[name].encode())).grant_id for name in ("access_token", "id_token")}
        assert len(grants) == 1


class TestWhatIsRefused:
    async def test_an_access_token_for_another_api(self, provider: OidcProvider, verifier: TokenVerifier) -> None:
        token = provider.log_in("anna", scope=API_SCOPES, resource="https://other.example")["access_token"]
        with pytest.raises(TokenRefused, match="audience"):
            await verifier.verify(token.encode())

    async def test_an_opaque_access_token(self, provider: OidcProvider, verifier: TokenVerifier) -> None:
        token = provider.log_in("anna")["access_token"]
        with pytest.raises(TokenRefused, match="not a signed JWT"):
            await verifier.verify(token.encode())

    @pytest.mark.parametrize(("login", "word"), [("unverified", "e-mail"), ("stranger", "user")])
    async def test_a_person_who_is_not_vouched_for_or_not_known_here(
        self, provider: OidcProvider, verifier: TokenVerifier, login: str, word: str
    ) -> None:
        tokens = provider.log_in(login, scope=API_SCOPES, resource=AUDIENCE)
        for name in ("access_token", "id_token"):
            with pytest.raises(TokenRefused, match=word):
                await verifier.verify(tokens[name].encode())

    async def test_a_person_who_is_no_longer_active_here_from_the_next_call(
        self, provider: OidcProvider, verifier: TokenVerifier, store: SqlStore
    ) -> None:
        token = provider.log_in("anna")["id_token"].encode()
        await verifier.verify(token)
        await store.save_user(msgspec.structs.replace(ANNA, password_hash=None))
        assert verifier.find_verified(token) is None
        with pytest.raises(TokenRefused, match="not active"):
            await verifier.verify(token)

    async def test_a_token_with_another_ones_signature(self, provider: OidcProvider, verifier: TokenVerifier) -> None:
        first, second = (provider.log_in("anna")["id_token"].rsplit(".", 1) for _ in range(2))
        with pytest.raises(TokenRefused, match="signature"):
            await verifier.verify(f"{first[0]}.{second[1]}".encode())
