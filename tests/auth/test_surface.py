"""The published signing keys, and unknown URLs."""

from typing import Any

import pytest

from domogate.domain.faults import Internal
from domogate.ports import StoreNotWritable, StoreTimeout, StoreUnavailable
from support.identity import AUDIENCE
from support.oauth import Browser, Provider


class TestJwks:
    async def test_it_is_json_that_may_be_cached_by_anyone(self, browser: Browser) -> None:
        answer = await browser.http.get("/auth/jwks")
        assert answer.status_code == 200
        assert answer.headers["content-type"] == "application/json"
        assert answer.headers["cache-control"] == "public, max-age=300"
        assert [set(key) for key in answer.json()["keys"]] == [{"kty", "crv", "x", "y", "kid", "use", "alg"}]

    async def test_it_verifies_what_the_gateway_signs(self, browser: Browser, provider: Provider) -> None:
        tokens = await browser.get_tokens()
        assert (await provider.claims(tokens["access_token"], AUDIENCE))["sub"] == provider.anna.id

    async def test_head_is_answered_as_get(self, browser: Browser) -> None:
        answer = await browser.http.head("/auth/jwks")
        assert (answer.status_code, answer.headers["content-type"]) == (200, "application/json")

    @pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "BREW"])
    async def test_no_other_method_is_allowed(self, browser: Browser, method: str) -> None:
        answer = await browser.http.request(method, "/auth/jwks")
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
            "/auth/Token",
            "/auth/token//",
            "/auth/authorize/",
            "/auth/userinfo/",
            "/token",
            "/jwks",
            "/auth/jwks%00",
            "/auth/%2e%2e",
            "/auth/.well-known/",
        ],
    )
    async def test_is_not_found_in_json(self, browser: Browser, path: str) -> None:
        answer = await browser.http.get(path)
        assert answer.status_code == 404
        assert answer.headers["content-type"] == "application/json"
        assert answer.headers["cache-control"] == "no-store"
        assert answer.json() == {"error": "not_found", "error_description": "There is nothing at this URL."}

    async def test_a_failure_within_is_told_without_its_cause(
        self, browser: Browser, provider: Provider, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async def fail(*_: Any) -> dict[str, Any]:
            raise OSError("/secret/path is gone")

        monkeypatch.setattr(provider.signer, "jwks", fail)
        answer = await browser.http.get("/auth/jwks")
        assert answer.status_code == 500
        assert answer.json()["error"] == "server_error"
        assert "secret" not in answer.text


class TestAStoreThatFails:
    @pytest.mark.parametrize(
        ("error", "description"),
        [
            (StoreUnavailable("/secret/path"), "The gateway cannot reach its database; send the request again later."),
            (StoreTimeout("/secret/path"), "The gateway cannot reach its database; send the request again later."),
            (
                StoreNotWritable("/secret/path"),
                "The gateway cannot write to its disk, and has changed nothing; its operator must act.",
            ),
            (Internal("this gateway has old data", is_temporary=True), "This gateway has old data."),
        ],
        ids=lambda it: type(it).__name__ if isinstance(it, Exception) else "",
    )
    async def test_the_answer_is_503_and_names_the_reason(
        self, browser: Browser, provider: Provider, monkeypatch: pytest.MonkeyPatch, error: Exception, description: str
    ) -> None:
        async def fail(*_: Any) -> None:
            raise error

        monkeypatch.setattr(provider.signer, "jwks", fail)
        monkeypatch.setattr(provider.authorization.clients, "authenticate", fail)
        form = {"grant_type": "refresh_token", "refresh_token": "x", "client_id": "app"}
        for answer in (await browser.http.get("/auth/jwks"), await browser.http.post("/auth/token", data=form)):
            assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
            assert answer.json() == {"error": "temporarily_unavailable", "error_description": description}


class TestAnUnfinishedForm:
    @pytest.mark.parametrize("path", ["/auth/token", "/auth/revoke", "/auth/introspect"])
    async def test_is_refused_and_is_not_an_error_of_the_gateway(self, provider: Provider, path: str) -> None:
        messages = [{"type": "http.request", "body": b"grant_type=", "more_body": True}, {"type": "http.disconnect"}]
        sent: list[Any] = []

        async def receive() -> Any:
            return messages.pop(0)

        async def send(message: Any) -> None:
            sent.append(message)

        scope = {
            "type": "http",
            "method": "POST",
            "path": path,
            "raw_path": path.encode(),
            "query_string": b"",
            "headers": [(b"content-type", b"application/x-www-form-urlencoded"), (b"content-length", b"100")],
            "client": ("127.0.0.1", 1),
        }
        await provider.app()(scope, receive, send)
        assert sent[0]["status"] == 400
        assert b"invalid_request" in sent[1]["body"]
