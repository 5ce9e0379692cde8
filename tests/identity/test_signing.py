import asyncio
import json
from typing import Any

import jwt as pyjwt
import msgspec
import pytest

from domogate.domain.events import SigningKeysChanged
from domogate.domain.ids import new_id
from domogate.domain.people import TokenKind
from domogate.identity.loaded_keys import new_signing_key
from domogate.identity.signing import KeyRing, TokenSigner
from support.clocks import ManualClock
from support.identity import AUDIENCE, ISSUER, Identity, MemoryStore, new_identity


async def verify_elsewhere(identity: Identity, token: str | bytes, audience: str) -> dict[str, Any]:
    """Verifies the token as a client with PyJWT does, with the published key set and the real time."""
    jwks = pyjwt.PyJWKSet.from_dict(await identity.signer.jwks())
    header = pyjwt.get_unverified_header(token)
    return pyjwt.decode(
        token,
        jwks[header["kid"]],
        algorithms=["ES256", "RS256"],
        audience=audience,
        issuer=ISSUER,
        options={"verify_exp": False, "verify_iat": False, "require": ["exp", "iat", "sub", "jti"]},
    )


class TestKeyRing:
    async def test_the_first_start_makes_one_key_and_later_starts_keep_it(self) -> None:
        store = MemoryStore(ManualClock())
        for _ in range(3):
            await KeyRing(store, store.clock).start()
        assert len(store.signing_keys) == 1

    async def test_gateways_starting_at_once_on_an_empty_store_agree_on_one_signing_key(self) -> None:
        store = MemoryStore(ManualClock())
        rings = [KeyRing(store, store.clock) for _ in range(3)]
        for ring in rings:
            store.listen(ring.apply)
        await asyncio.gather(*(ring.start() for ring in rings))
        (key,) = store.signing_keys
        assert {(await ring.find_current()).kid for ring in rings} == {key.kid}

    async def test_a_newer_key_of_another_gateway_is_taken_over_when_the_feed_tells_of_it(self) -> None:
        store = MemoryStore(ManualClock())
        ring = KeyRing(store, store.clock)
        store.listen(ring.apply)
        await ring.start()
        store.clock.advance(1.0)
        newer = new_signing_key("ES256", store.clock.now())
        await store.change_signing_keys(lambda _: [newer])
        assert (await ring.find_current()).kid == newer.kid

    async def test_a_key_that_begins_later_signs_from_then_on_and_not_before(self) -> None:
        store = MemoryStore(ManualClock())
        ring = KeyRing(store, store.clock)
        store.listen(ring.apply)
        await ring.start()
        first = (await ring.find_current()).kid
        later = new_signing_key("ES256", store.clock.now() + 10.0)
        await store.change_signing_keys(lambda _: [later])
        store.clock.advance(9.5)
        assert (await ring.find_current()).kid == first
        assert later.kid in {key.kid for key in await ring.list_keys()}
        store.clock.advance(0.5)
        assert (await ring.find_current()).kid == later.kid

    async def test_a_gateway_whose_clock_is_behind_signs_with_the_key_that_begins_first(self) -> None:
        store = MemoryStore(ManualClock())
        keys = [new_signing_key("ES256", store.clock.now() + ahead) for ahead in (20.0, 10.0)]
        store.signing_keys += keys
        ring = KeyRing(store, store.clock)
        await ring.start()
        assert (await ring.find_current()).kid == keys[1].kid
        assert len(store.signing_keys) == 2

    async def test_a_change_while_the_keys_are_read_makes_them_be_read_again(self) -> None:
        store = MemoryStore(ManualClock())
        ring = KeyRing(store, store.clock)
        store.listen(ring.apply)
        await ring.start()
        store.held = asyncio.Event()
        store.tell(SigningKeysChanged())
        reading = asyncio.create_task(ring.find_current())
        await asyncio.sleep(0)
        store.clock.advance(1.0)
        newer = new_signing_key("ES256", store.clock.now())
        await store.change_signing_keys(lambda _: [newer])
        store.held.set()
        assert (await reading).kid == newer.kid

    async def test_a_key_the_feed_has_not_told_of_is_looked_for_but_not_more_often_than_once_a_second(self) -> None:
        store = MemoryStore(ManualClock())
        ring = KeyRing(store, store.clock)
        await ring.start()
        silent = new_signing_key("ES256", store.clock.now())
        store.signing_keys.append(silent)
        assert await ring.find_key(silent.kid) is not None
        store.reads.clear()
        for _ in range(10):
            assert await ring.find_key("no-such-key") is None
        assert store.reads == []
        store.clock.advance(1.0)
        assert await ring.find_key("no-such-key") is None
        assert store.reads == ["signing keys"]

    async def test_a_retired_key_signs_no_more_but_verifies_while_its_tokens_may_live(self) -> None:
        store = MemoryStore(ManualClock())
        ring = KeyRing(store, store.clock, retired_kept=3600.0)
        store.listen(ring.apply)
        await ring.start()
        retired = msgspec.structs.replace(store.signing_keys[0], retired_at=store.clock.now())
        successor = new_signing_key("ES256", store.clock.now())
        store.signing_keys[:] = [retired, successor]
        store.tell(SigningKeysChanged())
        assert (await ring.find_current()).kid == successor.kid
        assert {key.kid for key in await ring.list_keys()} == {retired.kid, successor.kid}
        store.clock.advance(3600.0)
        assert await ring.find_key(retired.kid) is None
        assert [key.kid for key in await ring.list_keys()] == [successor.kid]

    @pytest.mark.parametrize("algorithm", ["none", "HS256", "es256", ""])
    def test_an_algorithm_outside_the_allow_list_is_refused_by_name(self, algorithm: str) -> None:
        store = MemoryStore(ManualClock())
        with pytest.raises(ValueError, match="ES256, RS256"):
            KeyRing(store, store.clock, algorithm=algorithm)

    async def test_a_stored_key_that_cannot_be_read_is_named(self) -> None:
        store = MemoryStore(ManualClock())
        store.signing_keys.append(msgspec.structs.replace(new_signing_key("ES256", 1.0), kid="broken", jwk='{"kty": "EC"}'))
        with pytest.raises(ValueError, match="broken"):
            await KeyRing(store, store.clock).start()

    async def test_without_any_key_nothing_is_signed(self) -> None:
        store = MemoryStore(ManualClock())
        with pytest.raises(LookupError):
            await KeyRing(store, store.clock).find_current()


class TestJwks:
    @pytest.mark.slow
    @pytest.mark.parametrize("algorithm", ["ES256", "RS256"])
    async def test_it_publishes_only_public_members_with_kid_use_and_alg(self, algorithm: str) -> None:
        store = MemoryStore(ManualClock())
        ring = KeyRing(store, store.clock, algorithm=algorithm)
        await ring.start()
        jwks = await TokenSigner(ring, store.clock, ISSUER, AUDIENCE, 3600.0, 3600.0).jwks()
        members = {"ES256": {"kty", "crv", "x", "y"}, "RS256": {"kty", "n", "e"}}[algorithm] | {"kid", "use", "alg"}
        assert [set(key) for key in jwks["keys"]] == [members]
        assert (jwks["keys"][0]["use"], jwks["keys"][0]["alg"]) == ("sig", algorithm)
        private = json.loads(store.signing_keys[0].jwk)
        assert private["d"] not in json.dumps(jwks)


class TestMintedTokens:
    async def test_an_access_token_is_what_rfc_9068_says_and_verifies_elsewhere(self) -> None:
        identity = await new_identity()
        token = await identity.mint(TokenKind.ACCESS)
        header = pyjwt.get_unverified_header(token)
        assert header == {"typ": "at+jwt", "alg": "ES256", "kid": identity.store.signing_keys[0].kid}
        claims = await verify_elsewhere(identity, token, AUDIENCE)
        assert claims.pop("jti")
        now = int(identity.clock.now())
        assert claims == {
            "iss": ISSUER,
            "sub": identity.anna.id,
            "aud": AUDIENCE,
            "client_id": "demo-app",
            "scope": "topology.read light.read",
            "grant": identity.grant.id,
            "iat": now,
            "exp": now + 3600,
        }

    async def test_an_id_token_is_for_its_client(self) -> None:
        identity = await new_identity()
        token = await identity.mint(TokenKind.ID)
        assert pyjwt.get_unverified_header(token)["typ"] == "JWT"
        claims = await verify_elsewhere(identity, token, "demo-app")
        assert (claims["sub"], claims["aud"]) == (identity.anna.id, "demo-app")
        assert (claims["scope"], claims["grant"]) == ("topology.read light.read", identity.grant.id)

    @pytest.mark.parametrize(
        ("scopes", "told"), [((), set()), (("email",), {"email"}), (("email", "profile"), {"email", "name"})]
    )
    async def test_an_id_token_tells_of_the_user_what_was_let_known(self, scopes: tuple[str, ...], told: set[str]) -> None:
        identity = await new_identity()
        identity.grant = msgspec.structs.replace(identity.grant, scopes=scopes)
        claims = await verify_elsewhere(identity, await identity.mint(TokenKind.ID), "demo-app")
        assert claims.keys() & {"email", "name"} == told

    async def test_a_user_without_a_name_has_none_in_the_id_token(self) -> None:
        identity = await new_identity()
        identity.anna = msgspec.structs.replace(identity.anna, name="")
        identity.grant = msgspec.structs.replace(identity.grant, scopes=("profile",))
        claims = await verify_elsewhere(identity, await identity.mint(TokenKind.ID), "demo-app")
        assert "name" not in claims

    async def test_two_tokens_of_the_same_second_differ(self) -> None:
        identity = await new_identity()
        assert await identity.mint() != await identity.mint()

    async def test_a_lifetime_of_its_own_counts(self) -> None:
        identity = await new_identity()
        claims = await verify_elsewhere(identity, await identity.mint(lifetime=60.0), AUDIENCE)
        assert claims["exp"] - claims["iat"] == 60

    async def test_no_token_is_minted_on_another_users_or_clients_grant(self) -> None:
        identity = await new_identity()
        for changed in ({"user_id": new_id()}, {"client_id": "other"}):
            grant = msgspec.structs.replace(identity.grant, **changed)
            with pytest.raises(ValueError, match="grant"):
                await identity.signer.mint_token(TokenKind.ACCESS, identity.anna, identity.app, grant)

    @pytest.mark.slow
    async def test_an_rs256_gateway_signs_what_verifies_elsewhere_and_here(self) -> None:
        identity = Identity(algorithm="RS256")
        await identity.keyring.start()
        token = await identity.mint()
        assert pyjwt.get_unverified_header(token)["alg"] == "RS256"
        await verify_elsewhere(identity, token, AUDIENCE)
        assert (await identity.verify(token)).user_id == identity.anna.id
