"""A good token of an external issuer becomes a principal of our own user and client."""

import msgspec
import pytest

from domogate.domain.ids import DASHED_UUID
from domogate.domain.people import Client, GrantType, Standing, TokenKind
from domogate.identity.remote_keys import REFETCH_PAUSE
from support.issuer import IssuerKey
from support.issuer_world import ALL_SCOPES, KEY, new_world


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
