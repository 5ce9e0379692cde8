"""The modules of the OpenID conformance suite for the certification profile "Config OP", each re-created under its name."""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from support.certification import RelyingParty
from support.gateway import Gateway, running, start
from support.http import client
from support.tls import make_self_signed

pytestmark = pytest.mark.slow

DOCUMENT = "/auth/.well-known/openid-configuration"
ENDPOINTS = {
    "authorization_endpoint",
    "token_endpoint",
    "userinfo_endpoint",
    "jwks_uri",
    "revocation_endpoint",
    "introspection_endpoint",
    "end_session_endpoint",
}
PRIVATE = {"d", "p", "q", "dp", "dq", "qi", "oth", "k"}


@pytest.fixture(scope="module")
def public(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """A gateway with an https URL and no other setting."""
    folder = tmp_path_factory.mktemp("public")
    tls = make_self_signed(folder)
    settings = {"DOMOGATE_TLS_CERTIFICATE": str(tls.certificate), "DOMOGATE_TLS_KEY": str(tls.key)}
    with running(start("demo", folder, settings)) as gateway, client(gateway.base_url) as http:
        yield http


def read(http: httpx.Client, path: str = DOCUMENT) -> dict[str, Any]:
    answer = http.get(path)
    assert answer.status_code == 200
    assert answer.headers["content-type"].split(";")[0] == "application/json"
    document: dict[str, Any] = answer.json()
    return document


class TestDiscovery:
    def test_oidcc_discovery_endpoint_verification(self, rp: RelyingParty) -> None:
        """Required members exist and have the required values (OpenID Connect Discovery 1.0 §3)."""
        document = read(rp.http)
        assert f"{document['issuer']}/.well-known/openid-configuration" == f"{rp.gateway.base_url}{DOCUMENT}"
        assert "code" in document["response_types_supported"]
        assert document["subject_types_supported"] == ["public"]
        assert "RS256" in document["id_token_signing_alg_values_supported"]
        assert {"authorization_code", "refresh_token"} <= set(document["grant_types_supported"])
        assert "openid" in document["scopes_supported"]
        assert {"sub", "iss", "aud", "exp", "iat"} <= set(document["claims_supported"])
        assert {"client_secret_basic", "client_secret_post"} <= set(document["token_endpoint_auth_methods_supported"])
        assert document["claims_parameter_supported"] is False
        assert document["request_parameter_supported"] is False
        assert document["request_uri_parameter_supported"] is False

    def test_every_published_key_is_public_and_can_be_told_apart(self, rp: RelyingParty) -> None:
        keys = read(rp.http, "/auth/jwks")["keys"]
        assert keys
        assert len({key["kid"] for key in keys}) == len(keys)
        for key in keys:
            assert key["use"] == "sig"
            assert key["kty"] in ("RSA", "EC")
            assert not PRIVATE & key.keys()

    def test_all_endpoints_are_https_where_the_gateway_is(self, public: httpx.Client) -> None:
        document = read(public)
        assert document["issuer"].startswith("https://")
        assert {name: document[name].startswith(f"{document['issuer']}/") for name in ENDPOINTS} == dict.fromkeys(
            ENDPOINTS, True
        )

    def test_without_a_setting_es256_signs(self, public: httpx.Client) -> None:
        """Decision 0028: for certification the operator sets RS256."""
        assert read(public)["id_token_signing_alg_values_supported"] == ["ES256"]

    def test_all_advertised_endpoints_exist(self, rp: RelyingParty) -> None:
        document = read(rp.http)
        for name in ENDPOINTS:
            assert rp.http.get(document[name]).status_code != 404, name


class TestIssuer:
    def test_oidcc_discovery_issuer_not_matching_config(self, rp: RelyingParty) -> None:
        """Every copy of the document names the same issuer; there is none at other URLs (§4.3)."""
        issuer = read(rp.http)["issuer"]
        for path in (
            "/.well-known/openid-configuration/auth",
            "/.well-known/oauth-authorization-server/auth",
            "/auth/.well-known/oauth-authorization-server",
        ):
            assert read(rp.http, path)["issuer"] == issuer
        for path in (
            "/.well-known/openid-configuration",
            "/auth//.well-known/openid-configuration",
            "/auth/.well-known/openid-configuration/",
            "/AUTH/.well-known/openid-configuration",
            "/other/.well-known/openid-configuration",
        ):
            assert rp.http.get(path).status_code == 404, path

    def test_it_is_the_issuer_of_the_tokens(self, rp: RelyingParty, certified: Gateway) -> None:
        assert rp.metadata["issuer"] == certified.auth_url
