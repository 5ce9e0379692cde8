"""{auth_url}/authorize: which requests are accepted, and where the answer goes."""

from typing import Any
from urllib.parse import urlencode, urlsplit

import hypothesis.strategies as st
import msgspec
import pytest
from hypothesis import HealthCheck, given, settings

from support.examples import examples
from support.identity import ISSUER
from support.oauth import (
    CLASSIC,
    DESK,
    NATIVE,
    PAGE,
    VERIFIER,
    WEB,
    Browser,
    Provider,
    authorization_request,
    is_back_at,
    returned,
)
from support.pkce import challenge_of

pytestmark = pytest.mark.slow

BACK = WEB.redirect_uris[0]


class TestTheClient:
    @pytest.mark.parametrize("client_id", [None, "", "nobody", "WEB", "web ", "<script>alert(1)</script>", "web\r\nX: y"])
    async def test_an_unknown_one_gets_an_error_page_and_no_redirect(self, browser: Browser, client_id: str | None) -> None:
        await browser.log_in()
        answer = await browser.authorize(client_id=client_id)
        assert answer.status_code == 400
        assert "location" not in answer.headers
        assert "client_id" in answer.json()["problem"]

    async def test_two_of_them_are_no_client(self, browser: Browser) -> None:
        query = urlencode([*authorization_request(WEB).items(), ("client_id", "web")])
        answer = await browser.http.get(f"/auth/authorize?{query}")
        assert (answer.status_code, answer.json()["page"]) == (400, "error")

    async def test_a_client_without_the_code_grant_gets_an_error(self, browser: Browser, provider: Provider) -> None:
        await provider.store.save_client(msgspec.structs.replace(WEB, grants=()))
        assert returned(await browser.authorize())["error"] == "unauthorized_client"


class TestTheRedirectUri:
    @pytest.mark.parametrize(
        "uri",
        [
            "https://evil.example/back",
            "https://web.example/back/",
            "https://web.example/back/more",
            "https://web.example/bac",
            "https://web.example/back?x=1",
            "https://web.example/back?",
            "https://web.example/back#",
            "https://web.example/back#x",
            "https://web.example:443/back",
            "https://web.example:8443/back",
            "http://web.example/back",
            "HTTPS://web.example/back",
            "https://WEB.example/back",
            "https://web.example/%62ack",
            "https://web.example@evil.example/back",
            "https://web.example/back\r\nSet-Cookie: a=b",
            "https://web.example/back%0d%0aSet-Cookie:%20a=b",
            "https://web.example/other",
            "//web.example/back",
            "javascript:alert(1)",
            " https://web.example/back",
            "https://web.example/back\x00",
        ],
    )
    async def test_any_other_than_registered_gets_an_error_page_and_no_redirect(self, browser: Browser, uri: str) -> None:
        await browser.log_in()
        answer = await browser.authorize(redirect_uri=uri)
        assert answer.status_code == 400
        assert "location" not in answer.headers
        assert "set-cookie" not in answer.headers
        assert "redirect_uri" in answer.json()["problem"]
        assert answer.json()["advice"]

    @pytest.mark.parametrize(
        ("uri", "said"),
        [
            ("https://web.example:8443/back", "another port"),
            ("https://web.example/back#x", "fragment"),
            ("https://web.example/back?x=1", "without '?x=1' at its end"),
            ("https://evil.example/", "https://evil.example/ is not registered for Web app"),
        ],
    )
    async def test_the_page_says_what_exactly_is_wrong(self, browser: Browser, uri: str, said: str) -> None:
        assert said in (await browser.authorize(redirect_uri=uri)).json()["problem"]

    async def test_one_that_is_registered_with_a_fragment_is_not_used(self, browser: Browser, provider: Provider) -> None:
        await provider.store.save_client(msgspec.structs.replace(CLASSIC, redirect_uris=("https://classic.example/#/back",)))
        assert (await browser.authorize(CLASSIC, redirect_uri="https://classic.example/#/back")).status_code == 400

    async def test_it_may_be_left_out_when_one_is_registered(self, browser: Browser) -> None:
        assert (await browser.grant_access(CLASSIC, redirect_uri=None))["code"]

    async def test_it_may_not_be_left_out_when_several_are(self, browser: Browser) -> None:
        answer = await browser.authorize(redirect_uri=None)
        assert (answer.status_code, answer.json()["page"]) == (400, "error")

    async def test_a_client_without_any_has_nowhere_to_go(self, browser: Browser, provider: Provider) -> None:
        await provider.store.save_client(msgspec.structs.replace(CLASSIC, redirect_uris=()))
        assert (await browser.authorize(CLASSIC)).status_code == 400

    async def test_two_of_them_are_refused(self, browser: Browser) -> None:
        query = urlencode([*authorization_request(WEB).items(), ("redirect_uri", BACK)])
        assert (await browser.http.get(f"/auth/authorize?{query}")).status_code == 400

    async def test_a_query_of_its_own_is_kept(self, browser: Browser) -> None:
        await browser.log_in()
        answer = await browser.authorize(redirect_uri="https://web.example/other?kept=1", scope="nonsense")
        assert answer.headers["location"].startswith("https://web.example/other?kept=1&error=")

    @pytest.mark.parametrize("uri", ["http://127.0.0.1:1/back", "http://127.0.0.1:65535/back", "http://[::1]:51004/back"])
    async def test_a_native_application_listens_on_any_port_of_the_loopback_address(self, browser: Browser, uri: str) -> None:
        assert is_back_at(await browser.authorize(NATIVE, redirect_uri=uri, scope="nonsense"), f"{uri}?error=")

    @pytest.mark.parametrize(
        "uri",
        [
            "http://127.0.0.1:0/back",
            "http://127.0.0.1:65536/back",
            "http://127.0.0.1:080/back",
            "http://127.0.0.1:8080/other",
            "http://127.0.0.1:8080@evil.example/back",
            "http://127.0.0.2:8080/back",
            "http://localhost:8080/back",
            "https://127.0.0.1:8080/back",
            "app.example:8080/back",
        ],
    )
    async def test_but_nowhere_else(self, browser: Browser, uri: str) -> None:
        assert (await browser.authorize(NATIVE, redirect_uri=uri)).status_code == 400

    async def test_a_port_that_is_registered_is_the_only_one(self, browser: Browser, provider: Provider) -> None:
        with_port = msgspec.structs.replace(NATIVE, redirect_uris=("http://127.0.0.1:8090/back",))
        await provider.store.save_client(with_port)
        assert (await browser.authorize(with_port, redirect_uri="http://127.0.0.1:8091/back")).status_code == 400
        assert (await browser.authorize(with_port)).status_code == 303

    async def test_a_client_with_a_secret_is_no_native_application(self, browser: Browser, provider: Provider) -> None:
        server = msgspec.structs.replace(WEB, redirect_uris=("http://127.0.0.1/back",))
        await provider.store.save_client(server)
        assert (await browser.authorize(server, redirect_uri="http://127.0.0.1:9/back")).status_code == 400


class TestTheRest:
    """All other errors are sent to the application."""

    @pytest.mark.parametrize(
        ("changed", "error"),
        [
            ({"response_type": None}, "invalid_request"),
            ({"response_type": "nonsense"}, "unsupported_response_type"),
            ({"response_type": "token"}, "unsupported_response_type"),
            ({"response_type": "code id_token"}, "unsupported_response_type"),
            ({"response_type": "none"}, "unsupported_response_type"),
            ({"response_type": "CODE"}, "unsupported_response_type"),
            ({"response_mode": "form_post"}, "invalid_request"),
            ({"scope": "nonsense"}, "invalid_scope"),
            ({"scope": "LIGHT.READ"}, "invalid_scope"),
            ({"scope": "light.readx gateway.manage"}, "invalid_scope"),
            ({"code_challenge": None, "code_challenge_method": None}, "invalid_request"),
            ({"code_challenge": None}, "invalid_request"),
            ({"code_challenge_method": None}, "invalid_request"),
            ({"code_challenge_method": "plain"}, "invalid_request"),
            ({"code_challenge_method": "s256"}, "invalid_request"),
            ({"code_challenge": VERIFIER}, "invalid_request"),
            ({"code_challenge": challenge_of(VERIFIER) + "="}, "invalid_request"),
            ({"code_challenge": challenge_of(VERIFIER)[:-1] + "+"}, "invalid_request"),
            ({"code_challenge": challenge_of(VERIFIER)[:-1]}, "invalid_request"),
            ({"prompt": "nonsense"}, "invalid_request"),
            ({"prompt": "none login"}, "invalid_request"),
            ({"max_age": "-1"}, "invalid_request"),
            ({"max_age": "soon"}, "invalid_request"),
            ({"max_age": "٣"}, "invalid_request"),
            ({"request": "e30.e30."}, "request_not_supported"),
            ({"request_uri": "https://web.example/request"}, "request_uri_not_supported"),
            ({"registration": "{}"}, "registration_not_supported"),
            ({"nonce": "n" * 513}, "invalid_request"),
        ],
    )
    async def test_is_told_at_the_redirect_uri(self, browser: Browser, changed: dict[str, Any], error: str) -> None:
        await browser.log_in()
        answer = await browser.authorize(**changed)
        assert is_back_at(answer, BACK)
        mode = "fragment" if changed.get("response_type") in ("token", "code id_token") else "query"
        said = returned(answer, mode)
        assert (said["error"], said["state"], said["iss"]) == (error, "xyz", ISSUER)
        assert said["error_description"].isascii()
        assert not set('"\\') & set(said["error_description"])
        assert "code" not in said

    @pytest.mark.parametrize("name", sorted(set(authorization_request(WEB)) - {"client_id", "redirect_uri"}))
    async def test_a_parameter_that_is_there_twice_is_refused(self, browser: Browser, name: str) -> None:
        asked = authorization_request(WEB)
        query = urlencode([*asked.items(), (name, asked[name])])
        said = returned(await browser.http.get(f"/auth/authorize?{query}"))
        assert (said["error"], said["iss"]) == ("invalid_request", ISSUER)
        assert name in said["error_description"]

    async def test_a_state_that_is_there_twice_is_not_echoed(self, browser: Browser) -> None:
        query = urlencode([*authorization_request(WEB).items(), ("state", "other")])
        assert "state" not in returned(await browser.http.get(f"/auth/authorize?{query}"))

    async def test_a_parameter_without_a_value_is_as_if_it_were_not_there(self, browser: Browser) -> None:
        await browser.log_in()
        assert (await browser.authorize(nonce="", prompt="", max_age="")).json()["page"] == "consent"

    async def test_unknown_parameters_are_ignored(self, browser: Browser) -> None:
        await browser.log_in()
        answer = await browser.authorize(nonsense="1", display="touch", claims="{}", acr_values="2", ui_locales="it en")
        assert answer.json()["page"] == "consent"

    async def test_however_often_it_is_there(self, browser: Browser) -> None:
        await browser.log_in()
        query = urlencode([*authorization_request(WEB).items(), ("resource", "a"), ("resource", "b")])
        assert (await browser.http.get(f"/auth/authorize?{query}")).json()["page"] == "consent"

    @pytest.mark.parametrize("query", [b"client_id=web&state=%ff", b"&".join(b"a%d=1" % n for n in range(101))])
    async def test_unreadable_parameters_are_shown(self, browser: Browser, query: bytes) -> None:
        assert (await browser.http.get("/auth/authorize", params=query.decode())).status_code == 400

    async def test_response_mode_fragment_is_kept_to_for_refusals_too(self, browser: Browser) -> None:
        answer = await browser.authorize(response_mode="fragment", scope="nonsense")
        assert returned(answer, "fragment")["error"] == "invalid_scope"
        assert urlsplit(answer.headers["location"]).query == ""

    async def test_a_client_that_is_exempt_may_leave_pkce_out(self, browser: Browser) -> None:
        said = await browser.grant_access(CLASSIC, code_challenge=None, code_challenge_method=None)
        assert said["code"]

    async def test_without_pkce_a_state_or_a_nonce_ties_the_answer_to_the_request(self, browser: Browser) -> None:
        plain = {"code_challenge": None, "code_challenge_method": None, "state": None}
        said = returned(await browser.authorize(CLASSIC, **plain, nonce=None))
        assert said["error"] == "invalid_request"
        assert "state or nonce is missing" in said["error_description"]
        assert said["error_description"].isascii()
        assert (await browser.grant_access(CLASSIC, **plain, nonce="n-1"))["code"]

    async def test_but_what_it_sends_of_it_must_be_right(self, browser: Browser) -> None:
        said = returned(await browser.authorize(CLASSIC, code_challenge_method="plain"))
        assert said["error"] == "invalid_request"
        said = returned(await browser.authorize(CLASSIC, code_challenge=None))
        assert said["error"] == "invalid_request"

    async def test_a_public_client_is_never_exempt(self, browser: Browser, provider: Provider) -> None:
        await provider.store.save_client(msgspec.structs.replace(PAGE, pkce_exempt=True))
        said = returned(await browser.authorize(PAGE, code_challenge=None, code_challenge_method=None))
        assert said["error"] == "invalid_request"

    async def test_an_answer_is_kept_by_nobody_and_tells_nobody_where_it_came_from(self, browser: Browser) -> None:
        await browser.log_in()
        answer = await browser.decide(await browser.authorize())
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["referrer-policy"] == "no-referrer"

    @pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH"])
    async def test_only_get_and_post_are_methods(self, browser: Browser, method: str) -> None:
        answer = await browser.http.request(method, "/auth/authorize")
        assert answer.status_code == 405
        assert {"GET", "POST"} <= set(answer.headers["allow"].split(", "))


class TestScopes:
    async def asked_for(self, browser: Browser, client: Any = WEB, **changed: str | None) -> list[str]:
        answer = await browser.authorize(client, **changed)
        scopes: list[str] = answer.json()["scopes"]
        return scopes

    async def test_unknown_ones_and_those_of_other_clients_are_left_out(self, browser: Browser) -> None:
        await browser.log_in()
        asked = "openid nonsense plug.write light.read gateway.manage"
        assert await self.asked_for(browser, PAGE, scope=asked) == ["openid", "light.read"]

    async def test_none_at_all_means_all_that_the_client_is_registered_for(self, browser: Browser) -> None:
        await browser.log_in()
        assert await self.asked_for(browser, PAGE, scope=None) == ["light.read", "plug.read"]

    async def test_each_is_asked_for_once(self, browser: Browser) -> None:
        await browser.log_in()
        assert await self.asked_for(browser, scope="light.read  openid light.read") == ["light.read", "openid"]

    async def test_offline_access_is_for_clients_that_refresh(self, browser: Browser) -> None:
        await browser.log_in()
        assert await self.asked_for(browser, scope="openid offline_access") == ["openid", "offline_access"]
        assert await self.asked_for(browser, PAGE, scope="openid offline_access") == ["openid"]

    async def test_only_an_operator_is_asked_to_let_an_application_manage_the_gateway(
        self, browser: Browser, provider: Provider
    ) -> None:
        await browser.log_in()
        assert returned(await browser.authorize(DESK, scope="gateway.manage"))["error"] == "invalid_scope"
        assert await self.asked_for(browser, DESK, scope="openid gateway.manage") == ["openid"]
        await browser.log_in(provider.bruno)
        assert await self.asked_for(browser, DESK, scope="gateway.manage") == ["gateway.manage"]


class TestPost:
    async def test_a_request_as_a_form_goes_on_as_a_query(self, browser: Browser) -> None:
        """A form of another site is sent without the cookie; the redirect that follows has it."""
        answer = await browser.post_form("/auth/authorize", authorization_request(WEB))
        assert answer.status_code == 303
        assert answer.headers["location"] == f"{ISSUER}/authorize?{urlencode(authorization_request(WEB))}"
        await browser.log_in()
        assert (await browser.http.get(answer.headers["location"])).json()["page"] == "consent"

    async def test_a_body_that_is_no_form_gets_an_error_page(self, browser: Browser) -> None:
        answer = await browser.http.post("/auth/authorize", json=authorization_request(WEB))
        assert (answer.status_code, answer.json()["page"]) == (400, "error")

    async def test_a_long_body_is_refused(self, browser: Browser) -> None:
        assert (await browser.post_form("/auth/authorize", {"state": "x" * 70_000})).status_code == 413


class TestNoHeaderIsSplit:
    @settings(max_examples=examples(30), suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(
        name=st.sampled_from(["state", "redirect_uri", "client_id", "scope", "login_hint", "ui_locales", "nonce", "prompt"]),
        value=st.text(st.sampled_from("a\r\n\t \x00\u2028\x85é: ;,%0d"), min_size=1, max_size=30),
    )
    async def test_by_whatever_stands_in_a_parameter(self, browser: Browser, name: str, value: str) -> None:
        answer = await browser.authorize(WEB, **{name: value})
        assert answer.status_code in (303, 400)
        for header, content in answer.headers.raw:
            assert not set(b"\r\n\x00") & set(header + content)
        assert set(answer.headers) <= {
            "location",
            "content-type",
            "content-length",
            "cache-control",
            "pragma",
            "referrer-policy",
        }

    @pytest.mark.parametrize("state", ["a\r\nSet-Cookie: b=c", "\n", "%0d%0aX: y", "ü💡&=#?+ %"])
    async def test_the_state_comes_back_as_it_was(self, browser: Browser, state: str) -> None:
        await browser.log_in()
        assert returned(await browser.decide(await browser.authorize(state=state)))["state"] == state
