"""External issuers that fail, over HTTP, and several issuers at once."""

import asyncio
from typing import Any

import pytest
from aiohttp import web

from domogate.domain.faults import TokenRefused
from domogate.domain.people import Principal
from domogate.identity.external import ExternalIssuer, IssuerProfile, JsonFetcher
from domogate.identity.remote_keys import REFETCH_PAUSE
from domogate.identity.tokens import TokenVerifier
from support.identity import AUDIENCE, ISSUER, new_identity, new_verifier
from support.issuer import FakeIssuer, IssuerKey, serve_issuer
from support.issuer_fixture import KEY, URL, IssuerFixture, new_issuers


class TestAnIssuerInTrouble:
    async def test_that_is_down_at_first_refuses_and_says_why_then_works(self) -> None:
        issuers = await new_issuers()
        issuers.source.down = True
        assert "try again later" in await issuers.refusal(issuers.access())
        issuers.source.down = False
        issuers.clock.advance(5.0)
        await issuers.verify(issuers.access())

    async def test_that_goes_down_later_changes_nothing_for_its_known_keys(self) -> None:
        issuers = await new_issuers()
        await issuers.verify(issuers.access())
        issuers.source.down = True
        issuers.clock.advance(4000.0)
        await issuers.verify(issuers.access())

    async def test_whose_key_was_rotated_is_believed_with_the_new_one(self) -> None:
        issuers = await new_issuers()
        await issuers.verify(issuers.access())
        new = IssuerKey("k2")
        issuers.source.keys.append(new)
        issuers.clock.advance(REFETCH_PAUSE)
        await issuers.verify(issuers.access(new))
        await issuers.verify(issuers.access(jti="another"))

    async def test_does_not_hold_up_the_gateways_own_tokens(self) -> None:
        issuers = await new_issuers()
        issuers.source.held = asyncio.Event()
        waiting = asyncio.create_task(issuers.verify(issuers.access()))
        await asyncio.sleep(0.01)
        await issuers.verify(await issuers.identity.mint())
        assert not waiting.done()
        issuers.source.held.set()
        await waiting


class TestOverHttp:
    """The real fetcher with an issuer that misbehaves."""

    async def verify(self, http: JsonFetcher, issuer_url: str, key: IssuerKey) -> Principal:
        identity = await new_identity()
        source = FakeIssuer(issuer_url, key)
        issuers = IssuerFixture(identity, source, True)
        profile = IssuerProfile(url=issuer_url, audiences=(AUDIENCE,), clients={"their-app": "demo-app"})
        issuer = ExternalIssuer(profile, http, identity.clock)
        verifier = new_verifier(identity.store, identity.keyring, others=[issuer])
        try:
            return await verifier.verify(issuers.access(key))
        finally:
            await issuer.stop()

    @pytest.fixture
    async def http(self) -> Any:
        http = JsonFetcher(deadline=30.0)
        await http.start()
        yield http
        await http.stop()

    async def test_a_good_one_is_believed(self, http: JsonFetcher) -> None:
        async with serve_issuer(KEY) as issuer:
            await self.verify(http, issuer.url, KEY)

    @pytest.mark.parametrize("trouble", ["huge", "redirect", "other issuer", "keys elsewhere", "broken"])
    async def test_a_bad_one_is_not(self, http: JsonFetcher, trouble: str) -> None:
        async with serve_issuer(KEY) as issuer, serve_issuer(KEY) as elsewhere:
            metadata = "/.well-known/openid-configuration"
            if trouble == "huge":
                issuer.flood = 1 << 22
            elif trouble == "redirect":
                issuer.answers["/jwks"] = web.Response(status=302, headers={"Location": f"{elsewhere.url}/jwks"})
            elif trouble == "other issuer":
                issuer.answers[metadata] = web.json_response({"issuer": elsewhere.url, "jwks_uri": f"{elsewhere.url}/jwks"})
            elif trouble == "keys elsewhere":
                issuer.answers[metadata] = web.json_response({"issuer": issuer.url, "jwks_uri": "http://keys.example/jwks"})
            else:
                issuer.answers["/jwks"] = web.Response(text="{", content_type="application/json")
            with pytest.raises(TokenRefused, match="try again later"):
                await self.verify(http, issuer.url, KEY)
            assert elsewhere.requests == []

    async def test_one_that_is_too_slow_is_not(self) -> None:
        http = JsonFetcher(deadline=0.05)
        await http.start()
        async with serve_issuer(KEY) as issuer:
            issuer.delay = 3600.0
            with pytest.raises(TokenRefused, match="try again later"):
                await self.verify(http, issuer.url, KEY)
        await http.stop()


class TestIssuersTogether:
    async def test_each_may_be_there_once_and_none_may_be_the_gateway_itself(self) -> None:
        identity = await new_identity()

        def build(*urls: str) -> TokenVerifier:
            others = [
                ExternalIssuer(IssuerProfile(url=url, clients={"a": "b"}), FakeIssuer(url), identity.clock) for url in urls
            ]
            return new_verifier(identity.store, identity.keyring, others=others)

        build(URL, "https://other.example")
        for urls in ((URL, URL), (ISSUER,)):
            with pytest.raises(ValueError, match="once"):
                build(*urls)
