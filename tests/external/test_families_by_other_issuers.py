"""Families accept tokens of another provider, over real HTTP."""

import json
from collections.abc import Iterator

import pytest

from support.gateway import Gateway, running, start
from support.identity import AUDIENCE
from support.oidc_provider import OidcProvider, oidc_provider
from support.spec_operations import E1, E3, E6, E8, E9, E10, E14, E17

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def provider() -> Iterator[OidcProvider]:
    with oidc_provider() as its:
        yield its


@pytest.fixture(scope="module", params=["true", "false"], ids=["beside our own", "instead of our own"])
def gateway(
    request: pytest.FixtureRequest, provider: OidcProvider, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Gateway]:
    issuer = {
        "url": provider.url,
        "audiences": [AUDIENCE],
        "clients": {"their-app": "demo-app"},
        "default_scopes": ["topology.read", "light.read", "safety.read"],
    }
    settings = {"DOMOGATE_ISSUERS": json.dumps([issuer]), "DOMOGATE_OWN_ISSUER": request.param}
    with running(start("demo", tmp_path_factory.mktemp("issuers"), settings)) as started:
        yield started


class TestTokensOfAnotherIssuer:
    def test_its_id_token_opens_the_families_that_take_one(self, provider: OidcProvider, gateway: Gateway) -> None:
        token = provider.log_in("anna")["id_token"]
        for operation in (E6, E10, E14):
            assert gateway.api.send(operation, token=token).status_code == 200
        for operation in (E8, E9):
            target = next(target for who, target in gateway.cases(operation) if who == "anna@example.com")
            assert gateway.api.send(operation, target, token=token).status_code == 200
        assert gateway.api.send(E17, token=token).status_code == 204

    def test_its_access_token_opens_home_control_for_what_was_granted(self, provider: OidcProvider, gateway: Gateway) -> None:
        scope = "openid email topology.read"
        token = provider.log_in("anna", scope=scope, resource=AUDIENCE)["access_token"]
        for operation, status in ((E3, 200), (E1, 401)):
            target = next(target for who, target in gateway.cases(operation) if who == "anna@example.com")
            assert gateway.api.send(operation, target, token=token).status_code == status

    def test_a_person_who_is_not_known_here_is_refused(self, provider: OidcProvider, gateway: Gateway) -> None:
        assert gateway.api.send(E6, token=provider.log_in("stranger")["id_token"]).status_code == 401

    def test_our_own_tokens_count_unless_they_are_replaced(self, gateway: Gateway, request: pytest.FixtureRequest) -> None:
        expected = 200 if gateway.environment["DOMOGATE_OWN_ISSUER"] == "true" else 401
        assert gateway.send(E6, who="anna@example.com").status_code == expected
