import asyncio
import base64
import hmac
import json
from typing import Any

import msgspec
import pytest
from aiohttp import web
from hypothesis import given, settings
from hypothesis import strategies as st

from domogate.domain.faults import TokenRefused
from domogate.domain.ids import DASHED_UUID
from domogate.domain.people import Client, GrantType, Principal, Standing, TokenKind
from domogate.identity.external import ExternalIssuer, IssuerProfile, JsonFetcher
from domogate.identity.remote_keys import REFETCH_PAUSE
from domogate.identity.tokens import TokenVerifier
from support.examples import examples
from support.identity import AUDIENCE, ISSUER, Identity, ManualClock, new_identity
from support.issuer import IssuerKey, StandIn, serve_issuer

URL = "https://id.example"
KEY = IssuerKey("k1", "RS256")
ALL_SCOPES = ("topology.read", "light.read", "plug.read")


class World:
    """A gateway's identity that also believes an external issuer, in which Anna is known."""

    def __init__(self, identity: Identity, source: StandIn, own: bool, **profile: Any) -> None:
        self.identity = identity
        self.clock: ManualClock = identity.clock
        self.source = source
        fields = {"audiences": (AUDIENCE,), "clients": {"their-app": "demo-app"}, **profile}
        self.issuer = ExternalIssuer(IssuerProfile(url=source.url, **fields), source, self.clock)
        self.verifier = TokenVerifier(
            identity.keyring, identity.store, self.clock, ISSUER, AUDIENCE, others=[self.issuer], own=own
        )
        identity.store.listen(self.verifier.apply)
        identity.store.clients["demo-app"] = Client("demo-app", "Demo app", scopes=ALL_SCOPES)

    def claims(self, **changed: Any) -> dict[str, Any]:
        """Those of a good access token; a value of None leaves the claim out."""
        now = int(self.clock.now())
        claims = {
            "iss": self.source.url,
            "sub": "anna-at-id",
            "aud": AUDIENCE,
            "client_id": "their-app",
            "scope": "openid topology.read light.read",
            "email": "anna@example.com",
            "email_verified": True,
            "iat": now,
            "exp": now + 3600,
        }
        return {name: value for name, value in (claims | changed).items() if value is not None}

    def access(self, key: IssuerKey = KEY, typ: str = "at+jwt", **changed: Any) -> bytes:
        return key.sign(self.claims(**changed), typ=typ)

    def id(self, key: IssuerKey = KEY, **changed: Any) -> bytes:
        return key.sign(self.claims(**{"aud": "their-app", "client_id": None, "nonce": "n", **changed}))

    async def verify(self, token: bytes) -> Principal:
        return await self.verifier.verify(token)

    async def refusal(self, token: bytes) -> str:
        with pytest.raises(TokenRefused) as caught:
            await self.verify(token)
        assert self.verifier.find_verified(token) is None
        return caught.value.message


async def new_world(*keys: IssuerKey, own: bool = True, **profile: Any) -> World:
    return World(await new_identity(), StandIn(URL, *(keys or (KEY,))), own, **profile)


class TestAGoodToken:
    async def test_of_either_kind_becomes_a_principal_of_our_user_and_client(self) -> None:
        world = await new_world()
        for token, kind in ((world.access(), TokenKind.ACCESS), (world.id(), TokenKind.ID)):
            principal = await world.verify(token)
            assert (principal.user_id, principal.client_id, principal.kind) == (world.identity.anna.id, "demo-app", kind)
            assert principal.scopes == {"topology.read", "light.read"}
            assert principal.expires_at == world.claims()["exp"]
            assert principal.flow is GrantType.AUTHORIZATION_CODE
            assert world.verifier.find_verified(token) is principal

    async def test_is_answered_without_store_and_issuer_once_verified(self) -> None:
        world = await new_world()
        token = world.access()
        await world.verify(token)
        world.source.down = True
        world.identity.store.reads.clear()
        assert world.verifier.find_verified(token) is not None
        assert world.identity.store.reads == []

    @pytest.mark.parametrize("algorithm", ["ES256", "RS256", "PS256", "EdDSA"])
    async def test_may_be_signed_with_any_algorithm_of_the_allow_list(self, algorithm: str) -> None:
        key = IssuerKey("k", algorithm)
        world = await new_world(key, algorithms=("ES256", "RS256", "PS256", "EdDSA"))
        assert await world.verify(world.access(key))

    async def test_stands_beside_the_gateways_own(self) -> None:
        world = await new_world()
        assert await world.verify(await world.identity.mint())
        assert await world.verify(world.access())

    async def test_may_be_the_only_ones(self) -> None:
        world = await new_world(own=False)
        assert await world.verify(world.access())
        assert "not accepted here" in await world.refusal(await world.identity.mint())

    async def test_belongs_to_a_grant_that_stands_for_person_and_client(self) -> None:
        world = await new_world(clients={"their-app": "demo-app", "second": "demo-app", "third": "other"})
        world.identity.store.clients["other"] = Client("other", "Other", scopes=ALL_SCOPES)
        grants = [
            (await world.verify(token)).grant_id
            for token in (
                world.access(),
                world.id(),
                world.access(client_id="second"),
                world.access(client_id="third"),
                world.access(sub="b"),
            )
        ]
        assert grants[0] == grants[1] == grants[2]
        assert len(set(grants)) == 3
        assert all(DASHED_UUID.parse_id(grant) for grant in grants)
        assert world.identity.grant.id not in grants

    async def test_gets_no_scope_that_its_client_is_not_registered_for(self) -> None:
        world = await new_world()
        principal = await world.verify(world.access(scope="light.read plug.write safety.read"))
        assert principal.scopes == {"light.read"}

    async def test_without_scope_claim_gets_what_the_profile_says(self) -> None:
        world = await new_world(default_scopes=("topology.read", "plug.read"))
        assert (await world.verify(world.id(scope=None))).scopes == {"topology.read", "plug.read"}

    async def test_finds_its_user_whatever_the_case_of_the_e_mail(self) -> None:
        world = await new_world()
        assert (await world.verify(world.access(email="Anna@Example.COM"))).user_id == world.identity.anna.id

    async def test_may_carry_header_fields_of_its_product(self) -> None:
        world = await new_world()
        assert await world.verify(KEY.sign(world.claims(), typ="at+jwt", x5t="abc", nonce="xyz", rh="0."))

    async def test_without_key_id_is_verified_by_the_only_key_and_by_the_one_after_it(self) -> None:
        old, new = IssuerKey(None), IssuerKey(None)
        world = await new_world(old)
        assert await world.verify(world.access(old))
        world.source.keys = [new]
        world.clock.advance(REFETCH_PAUSE)
        assert await world.verify(world.access(new))
        assert "signature" in await world.refusal(world.access(old))

    async def test_of_an_unlisted_client_is_taken_for_the_one_that_stands_for_all(self) -> None:
        world = await new_world(clients={}, any_client="demo-app")
        assert (await world.verify(world.access(client_id="whoever"))).client_id == "demo-app"
        assert "client" in await world.refusal(world.id(aud="whoever"))

    async def test_of_a_clock_a_little_ahead_is_accepted(self) -> None:
        world = await new_world()
        now = int(world.clock.now())
        assert await world.verify(world.access(iat=now + 25, nbf=now + 25))

    async def test_may_name_its_authorized_party(self) -> None:
        world = await new_world(clients={"their-app": "demo-app", "web": "demo-app"})
        assert await world.verify(world.id(aud=["web", "their-app"], azp="their-app"))
        assert await world.verify(world.id(aud="web", azp="their-app"))


class TestAWrongToken:
    @pytest.mark.parametrize(
        ("changed", "word"),
        [
            ({"aud": "https://other.example"}, "audience"),
            ({"aud": f"{AUDIENCE}/"}, "audience"),
            ({"aud": []}, "aud"),
            ({"aud": {"x": 1}}, "aud"),
            ({"aud": None}, "aud"),
            ({"exp": None}, "exp"),
            ({"exp": 1}, "expired"),
            ({"exp": "tomorrow"}, "exp"),
            ({"exp": 1e300}, "payload"),
            ({"iat": None}, "iat"),
            ({"iat": 4_000_000_000}, "iat"),
            ({"nbf": 4_000_000_000}, "nbf"),
            ({"sub": None}, "sub"),
            ({"sub": 7}, "sub"),
            ({"client_id": "stranger"}, "client"),
            ({"client_id": None}, "client"),
            ({"client_id": 7}, "client"),
            ({"email": None}, "e-mail"),
            ({"email": ["anna@example.com"]}, "e-mail"),
            ({"email_verified": None}, "e-mail"),
            ({"email_verified": False}, "e-mail"),
            ({"email": "nobody@example.com"}, "user"),
            ({"iat": 1_799_900_000}, "lives"),
        ],
    )
    async def test_is_refused_for_what_is_wrong(self, changed: dict[str, Any], word: str) -> None:
        world = await new_world()
        assert word in await world.refusal(world.access(**changed))

    @pytest.mark.parametrize("iss", [f"{URL}/", URL.upper(), "https://other.example", [URL], None, ""])
    async def test_of_any_other_issuer_is_refused(self, iss: Any) -> None:
        world = await new_world()
        await world.refusal(world.access(iss=iss))
        assert world.source.fetched == []

    async def test_that_is_an_id_token_for_another_client_is_refused_even_if_it_names_ours_too(self) -> None:
        world = await new_world()
        for changed in (
            {"aud": "stranger"}, {"aud": ["their-app", "stranger"]}, {"aud": "their-app", "azp": "stranger"},
            {"aud": "stranger", "azp": "their-app"}, {"aud": AUDIENCE},
        ):  # fmt: skip
            assert "client" in await world.refusal(world.id(**changed))

    async def test_of_a_profile_without_audiences_is_no_access_token(self) -> None:
        world = await new_world(audiences=())
        assert "audience" in await world.refusal(world.access())
        assert await world.verify(world.id())

    async def test_of_no_known_kind_is_refused(self) -> None:
        world = await new_world()
        for token in (world.access(typ="JWT"), world.access(typ="logout+jwt"), world.id(events={"http://x": {}})):
            assert "neither" in await world.refusal(token)

    async def test_of_a_user_who_is_not_active_is_refused(self) -> None:
        world = await new_world()
        await world.identity.store.save_user(msgspec.structs.replace(world.identity.anna, password_hash=None))
        assert "not active" in await world.refusal(world.access())

    async def test_of_a_client_that_is_not_registered_here_is_refused(self) -> None:
        world = await new_world()
        del world.identity.store.clients["demo-app"]
        assert "not registered" in await world.refusal(world.access())

    async def test_tells_nothing_of_other_users(self) -> None:
        world = await new_world()
        unknown = await world.refusal(world.access(email="nobody@example.com"))
        await world.identity.store.save_user(msgspec.structs.replace(world.identity.anna, password_hash=None))
        assert await world.refusal(world.access()) == unknown


class TestAForgedToken:
    @pytest.mark.parametrize("alg", ["none", "None", "NONE", "", "HS256", "RS512", "ES512"])
    async def test_with_an_algorithm_outside_the_allow_list_is_refused_before_any_key_is_fetched(self, alg: str) -> None:
        world = await new_world()
        header = base64.urlsafe_b64encode(json.dumps({"alg": alg, "typ": "at+jwt", "kid": "k1"}).encode()).rstrip(b"=")
        _, payload, signature = world.access().split(b".")
        for end in (signature, b"AA"):
            assert "algorithm" in await world.refusal(b".".join((header, payload, end)))
        assert world.source.fetched == []

    async def test_with_hmac_keyed_by_the_public_key_is_refused(self) -> None:
        world = await new_world()
        header = base64.urlsafe_b64encode(b'{"alg":"HS256","typ":"at+jwt","kid":"k1"}').rstrip(b"=")
        signed = header + b"." + world.access().split(b".")[1]
        signature = hmac.digest(json.dumps(KEY.public).encode(), signed, "sha256")
        token = signed + b"." + base64.urlsafe_b64encode(signature).rstrip(b"=")
        assert "algorithm" in await world.refusal(token)

    async def test_with_an_algorithm_its_key_is_not_for_is_refused(self) -> None:
        world = await new_world()
        pss = IssuerKey("k1", "PS256")
        pss.private = KEY.private
        assert "another algorithm" in await world.refusal(world.access(pss))

    async def test_by_a_strangers_key_is_refused_under_its_own_id_the_issuers_or_with_the_key_enclosed(self) -> None:
        world = await new_world(IssuerKey("k1"))
        stranger = IssuerKey("k1")
        assert "signature" in await world.refusal(world.access(stranger))
        enclosed = stranger.sign(world.claims(), typ="at+jwt", jwk=stranger.public, jku="https://evil.example/jwks")
        assert "signature" in await world.refusal(enclosed)
        stranger.kid = "k2"
        assert "key set" in await world.refusal(world.access(stranger))
        assert all(url.startswith(URL) for url in world.source.fetched)

    async def test_by_the_gateways_own_key_in_the_issuers_name_is_refused(self) -> None:
        world = await new_world()
        token = world.identity.forge(world.claims())
        assert "key set" in await world.refusal(token)

    async def test_by_the_issuer_in_the_gateways_name_is_refused(self) -> None:
        world = await new_world()
        claims = world.identity.claims()
        assert "kid" in await world.refusal(IssuerKey("k1").sign(claims, typ="at+jwt"))

    async def test_by_one_issuer_in_anothers_name_is_refused(self) -> None:
        identity = await new_identity()
        other = IssuerKey("k1", "RS256")
        issuers = [
            ExternalIssuer(IssuerProfile(url=url, clients={"their-app": "demo-app"}), StandIn(url, key), identity.clock)
            for url, key in ((URL, KEY), ("https://other.example", other))
        ]
        verifier = TokenVerifier(identity.keyring, identity.store, identity.clock, ISSUER, AUDIENCE, others=issuers)
        world = await new_world()
        assert await verifier.verify(world.id())
        with pytest.raises(TokenRefused, match="signature"):
            await verifier.verify(world.id(other))

    async def test_with_a_critical_header_is_refused(self) -> None:
        world = await new_world()
        assert "signature" in await world.refusal(KEY.sign(world.claims(), typ="at+jwt", crit=["exp"]))

    @settings(max_examples=examples(40))
    @given(st.data())
    def test_with_any_bit_flipped_is_refused(self, data: st.DataObject) -> None:
        async def flip() -> None:
            world = await new_world()
            token = bytearray(world.access())
            place = data.draw(st.integers(0, len(token) - 1))
            token[place] ^= 1 << data.draw(st.integers(0, 7))
            # The last character of an encoding may have bits that say nothing; the decoder refuses those too.
            await world.refusal(bytes(token))

        asyncio.run(flip())

    @settings(max_examples=examples(40))
    @given(st.binary(max_size=400))
    def test_whatever_comes_is_refused_and_nothing_is_fetched_for_it(self, garbage: bytes) -> None:
        async def send() -> None:
            world = await new_world()
            await world.refusal(garbage)
            await world.refusal(b"e30." + base64.urlsafe_b64encode(garbage) + b".AA")
            assert world.source.fetched == []

        asyncio.run(send())


class TestAVerifiedToken:
    async def test_ends_at_its_expiry_to_the_moment(self) -> None:
        world = await new_world()
        token = world.access()
        await world.verify(token)
        world.clock.time = float(world.claims()["exp"]) - 0.01
        assert world.verifier.find_verified(token) is not None
        world.clock.advance(0.01)
        assert "expired" in await world.refusal(token)

    async def test_is_refused_from_the_next_call_once_our_user_is_deleted(self) -> None:
        world = await new_world()
        token = world.access()
        await world.verify(token)
        await world.identity.store.delete_user(world.identity.anna.id)
        assert "user" in await world.refusal(token)

    async def test_shows_a_change_of_standing_and_of_its_client_at_the_next_call(self) -> None:
        world = await new_world()
        token = world.access()
        await world.verify(token)
        await world.identity.store.save_user(msgspec.structs.replace(world.identity.anna, standing=Standing.TERMS_EXPIRED))
        await world.identity.store.save_client(Client("demo-app", "x", scopes=("light.read",), access_token_everywhere=True))
        principal = await world.verify(token)
        assert principal.standing is Standing.TERMS_EXPIRED
        assert (principal.scopes, principal.access_token_everywhere) == ({"light.read"}, True)


class TestAnIssuerInTrouble:
    async def test_that_is_down_at_first_refuses_and_says_why_then_works(self) -> None:
        world = await new_world()
        world.source.down = True
        assert "try again later" in await world.refusal(world.access())
        world.source.down = False
        world.clock.advance(5.0)
        assert await world.verify(world.access())

    async def test_that_goes_down_later_changes_nothing_for_its_known_keys(self) -> None:
        world = await new_world()
        await world.verify(world.access())
        world.source.down = True
        world.clock.advance(4000.0)
        assert await world.verify(world.access())

    async def test_whose_key_was_rotated_is_believed_with_the_new_one(self) -> None:
        world = await new_world()
        await world.verify(world.access())
        new = IssuerKey("k2")
        world.source.keys.append(new)
        world.clock.advance(REFETCH_PAUSE)
        assert await world.verify(world.access(new))
        assert await world.verify(world.access(jti="another"))

    async def test_does_not_hold_up_the_gateways_own_tokens(self) -> None:
        world = await new_world()
        world.source.held = asyncio.Event()
        waiting = asyncio.create_task(world.verify(world.access()))
        await asyncio.sleep(0.01)
        assert await world.verify(await world.identity.mint())
        assert not waiting.done()
        world.source.held.set()
        assert await waiting


class TestOverHttp:
    """With the real fetcher and an issuer that is not always what it should be."""

    async def verify(self, http: JsonFetcher, issuer_url: str, key: IssuerKey) -> Principal:
        identity = await new_identity()
        source = StandIn(issuer_url, key)
        world = World(identity, source, True)
        profile = IssuerProfile(url=issuer_url, audiences=(AUDIENCE,), clients={"their-app": "demo-app"})
        issuer = ExternalIssuer(profile, http, identity.clock)
        verifier = TokenVerifier(identity.keyring, identity.store, identity.clock, ISSUER, AUDIENCE, others=[issuer])
        try:
            return await verifier.verify(world.access(key))
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
            assert await self.verify(http, issuer.url, KEY)

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
            others = [ExternalIssuer(IssuerProfile(url=url, clients={"a": "b"}), StandIn(url), identity.clock) for url in urls]
            return TokenVerifier(identity.keyring, identity.store, identity.clock, ISSUER, AUDIENCE, others=others)

        build(URL, "https://other.example")
        for urls in ((URL, URL), (ISSUER,)):
            with pytest.raises(ValueError, match="once"):
                build(*urls)
