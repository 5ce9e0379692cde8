"""{auth_url}/userinfo: OpenID Connect Core §5.3, with the answers of RFC 6750."""

import msgspec
import pytest

from support.oauth import PAGE, WEB, Browser, Provider, returned, tampered


def bearer(token: str, scheme: str = "Bearer") -> dict[str, str]:
    return {"authorization": f"{scheme} {token}"}


class TestClaims:
    @pytest.mark.parametrize(
        ("scope", "claims"),
        [
            ("openid", {"sub"}),
            ("openid profile", {"sub", "name"}),
            ("openid email", {"sub", "email", "email_verified"}),
            ("openid profile email light.read", {"sub", "name", "email", "email_verified"}),
        ],
    )
    async def test_are_those_of_the_scopes(self, browser: Browser, provider: Provider, scope: str, claims: set[str]) -> None:
        token = (await browser.get_tokens(scope=scope))["access_token"]
        answer = await browser.http.get("/auth/userinfo", headers=bearer(token))
        assert (answer.status_code, answer.headers["content-type"]) == (200, "application/json")
        assert answer.headers["cache-control"] == "no-store"
        said = answer.json()
        assert set(said) == claims
        everything = {"sub": provider.anna.id, "name": "Anna", "email": "anna@example.com", "email_verified": False}
        assert said == {name: everything[name] for name in claims}

    async def test_the_language_that_the_person_chose_is_a_claim(self, browser: Browser, provider: Provider) -> None:
        await provider.store.save_user(msgspec.structs.replace(provider.anna, language="it"))
        tokens = await browser.get_tokens(scope="openid profile")
        answer = await browser.http.get("/auth/userinfo", headers=bearer(tokens["access_token"]))
        assert answer.json()["locale"] == "it"
        assert (await provider.claims(tokens["id_token"], "web"))["locale"] == "it"

    async def test_the_token_may_come_in_a_form(self, browser: Browser) -> None:
        token = (await browser.get_tokens())["access_token"]
        assert (await browser.post_form("/auth/userinfo", {"access_token": token})).status_code == 200
        assert (await browser.http.post("/auth/userinfo", headers=bearer(token, "bearer"))).status_code == 200

    async def test_a_body_of_another_type_is_not_looked_at(self, browser: Browser) -> None:
        token = (await browser.get_tokens())["access_token"]
        answer = await browser.http.post("/auth/userinfo", json={"access_token": token})
        assert answer.status_code == 401
        answer = await browser.http.post("/auth/userinfo", json={}, headers=bearer(token))
        assert answer.status_code == 200

    async def test_a_person_without_a_name_has_none(self, browser: Browser, provider: Provider) -> None:
        await browser.log_in(provider.bruno)
        page = await browser.authorize(scope="openid profile")
        code = returned(await browser.decide(page))["code"]
        token = (await browser.redeem(code)).json()["access_token"]
        answer = await browser.http.get("/auth/userinfo", headers=bearer(token))
        assert answer.json() == {"sub": provider.bruno.id}


class TestRefused:
    async def test_without_a_token_it_says_what_is_wanted_and_no_more(self, browser: Browser) -> None:
        for headers in ({}, {"authorization": "Basic d2ViOng="}, {"authorization": "Bearer"}, {"authorization": "Bearer "}):
            answer = await browser.http.get("/auth/userinfo", headers=headers)
            assert answer.status_code == 401
            assert answer.headers["www-authenticate"] == 'Bearer realm="domogate"'

    async def test_a_token_that_is_none_or_of_another_kind(self, browser: Browser) -> None:
        tokens = await browser.get_tokens()
        for token in ("nonsense", "a.b.c", tokens["id_token"], tokens["refresh_token"], tampered(tokens["access_token"])):
            answer = await browser.http.get("/auth/userinfo", headers=bearer(token))
            assert (answer.status_code, answer.json()["error"]) == (401, "invalid_token")
            assert answer.headers["www-authenticate"] == 'Bearer realm="domogate", error="invalid_token"'

    async def test_a_token_in_the_query_is_not_looked_at(self, browser: Browser) -> None:
        token = (await browser.get_tokens())["access_token"]
        assert (await browser.http.get(f"/auth/userinfo?access_token={token}")).status_code == 401

    async def test_a_token_without_openid(self, browser: Browser) -> None:
        token = (await browser.get_tokens(scope="light.read"))["access_token"]
        answer = await browser.http.get("/auth/userinfo", headers=bearer(token))
        assert (answer.status_code, answer.json()["error"]) == (403, "insufficient_scope")
        expected = 'Bearer realm="domogate", error="insufficient_scope", scope="openid"'
        assert answer.headers["www-authenticate"] == expected

    async def test_a_token_in_two_places(self, browser: Browser) -> None:
        token = (await browser.get_tokens())["access_token"]
        answer = await browser.post_form("/auth/userinfo", {"access_token": token}, headers=bearer(token))
        assert (answer.status_code, answer.json()["error"]) == (400, "invalid_request")
        assert 'error="invalid_request"' in answer.headers["www-authenticate"]

    async def test_expired_or_revoked_or_of_somebody_who_is_gone(self, browser: Browser, provider: Provider) -> None:
        expired = (await browser.get_tokens())["access_token"]
        provider.clock.advance(3600)
        revoked = (await browser.get_tokens(PAGE))["access_token"]
        await provider.store.revoke_grants(provider.anna.id, PAGE.id, provider.clock.now())
        gone = (await browser.get_tokens(WEB))["access_token"]
        assert (await browser.http.get("/auth/userinfo", headers=bearer(gone))).status_code == 200
        await provider.store.delete_user(provider.anna.id)
        for token in (expired, revoked, gone):
            answer = await browser.http.get("/auth/userinfo", headers=bearer(token))
            assert (answer.status_code, answer.json()["error"]) == (401, "invalid_token")

    @pytest.mark.parametrize("method", ["PUT", "DELETE"])
    async def test_other_methods(self, browser: Browser, method: str) -> None:
        assert (await browser.http.request(method, "/auth/userinfo")).status_code == 405
