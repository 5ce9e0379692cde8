from collections.abc import AsyncIterator
from typing import Any

import httpx
import jwt as pyjwt
import pytest

from domogate import auth
from support.identity import AUDIENCE, ISSUER, Identity, new_identity


@pytest.fixture
async def identity() -> Identity:
    return await new_identity()


@pytest.fixture
async def browser(identity: Identity) -> AsyncIterator[httpx.AsyncClient]:
    transport = httpx.ASGITransport(auth.build(identity.signer), raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url=AUDIENCE) as client:
        yield client


class TestJwks:
    async def test_it_is_json_that_may_be_cached_by_anyone(self, browser: httpx.AsyncClient) -> None:
        answer = await browser.get("/auth/jwks")
        assert answer.status_code == 200
        assert answer.headers["content-type"] == "application/json"
        assert answer.headers["cache-control"] == "public, max-age=300"
        assert [set(key) for key in answer.json()["keys"]] == [{"kty", "crv", "x", "y", "kid", "use", "alg"}]

    async def test_it_verifies_what_the_gateway_signs(self, browser: httpx.AsyncClient, identity: Identity) -> None:
        token = await identity.mint()
        keys = pyjwt.PyJWKSet.from_dict((await browser.get("/auth/jwks")).json())
        key = keys[pyjwt.get_unverified_header(token)["kid"]]
        unchecked = {"verify_exp": False, "verify_iat": False}
        claims = pyjwt.decode(token, key, algorithms=["ES256"], audience=AUDIENCE, issuer=ISSUER, options=unchecked)
        assert claims["sub"] == identity.anna.id

    async def test_head_is_answered_as_get(self, browser: httpx.AsyncClient) -> None:
        answer = await browser.head("/auth/jwks")
        assert (answer.status_code, answer.headers["content-type"]) == (200, "application/json")

    @pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "BREW"])
    async def test_no_other_method_is_allowed(self, browser: httpx.AsyncClient, method: str) -> None:
        answer = await browser.request(method, "/auth/jwks")
        assert answer.status_code == 405
        assert "GET" in answer.headers["allow"]
        assert answer.json()["error"] == "method_not_allowed"
        assert method in answer.json()["error_description"]


class TestEverythingElse:
    @pytest.mark.parametrize(
        "path",
        [
            "/auth",
            "/auth/",
            "/auth/jwks/",
            "/auth/JWKS",
            "/auth//jwks",
            "/auth/token",
            "/jwks",
            "/auth/jwks%00",
            "/auth/%2e%2e",
        ],
    )
    async def test_is_not_found_in_json(self, browser: httpx.AsyncClient, path: str) -> None:
        answer = await browser.get(path)
        assert answer.status_code == 404
        assert answer.headers["content-type"] == "application/json"
        assert answer.headers["cache-control"] == "no-store"
        assert answer.json() == {"error": "not_found", "error_description": "There is nothing at this URL."}

    async def test_a_failure_within_is_told_without_its_cause(
        self, browser: httpx.AsyncClient, identity: Identity, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async def fail() -> dict[str, Any]:
            raise OSError("/secret/path is gone")

        monkeypatch.setattr(identity.signer, "jwks", fail)
        answer = await browser.get("/auth/jwks")
        assert answer.status_code == 500
        assert answer.json()["error"] == "server_error"
        assert "secret" not in answer.text
