"""A valid token of an external issuer becomes a principal of our own user and client."""

import msgspec
import pytest

from domogate.domain.ids import DASHED_UUID, new_id
from domogate.domain.people import Client, GrantType, Standing, TokenKind, User
from domogate.identity.remote_keys import REFETCH_PAUSE
from support.issuer import IssuerKey
from support.issuer_fixture import ALL_SCOPES, KEY, new_issuers


class TestAGoodToken:
    async def test_of_either_kind_becomes_a_principal_of_our_user_and_client(self) -> None:
        issuers = await new_issuers()
        for token, kind in ((issuers.access(), TokenKind.ACCESS), (issuers.id(), TokenKind.ID)):
            principal = await issuers.verify(token)
            assert (principal.user_id, principal.client_id, principal.kind) == (issuers.identity.anna.id, "demo-app", kind)
            assert principal.scopes == {"topology.read", "light.read"}
            assert principal.expires_at == issuers.claims()["exp"]
            assert principal.flow is GrantType.AUTHORIZATION_CODE
            assert issuers.verifier.find_verified(token) is principal

    async def test_is_answered_without_store_and_issuer_once_verified(self) -> None:
        issuers = await new_issuers()
        token = issuers.access()
        await issuers.verify(token)
        issuers.source.down = True
        issuers.identity.store.reads.clear()
        assert issuers.verifier.find_verified(token) is not None
        assert issuers.identity.store.reads == []

    @pytest.mark.slow
    @pytest.mark.parametrize("algorithm", ["ES256", "RS256", "PS256", "EdDSA"])
    async def test_may_be_signed_with_any_algorithm_of_the_allow_list(self, algorithm: str) -> None:
        key = IssuerKey("k", algorithm)
        issuers = await new_issuers(key, algorithms=("ES256", "RS256", "PS256", "EdDSA"))
        await issuers.verify(issuers.access(key))

    async def test_stands_beside_the_gateways_own(self) -> None:
        issuers = await new_issuers()
        await issuers.verify(await issuers.identity.mint())
        await issuers.verify(issuers.access())

    async def test_may_be_the_only_ones(self) -> None:
        issuers = await new_issuers(own=False)
        await issuers.verify(issuers.access())
        assert "not accepted here" in await issuers.refusal(await issuers.identity.mint())

    async def test_belongs_to_a_grant_that_stands_for_person_and_client(self) -> None:
        issuers = await new_issuers(clients={"their-app": "demo-app", "second": "demo-app", "third": "other"})
        issuers.identity.store.clients["other"] = Client("other", "Other", scopes=ALL_SCOPES)
        await issuers.identity.store.save_user(User(new_id(), "bruno@example.com", password_hash="hash"))
        grants = [
            (await issuers.verify(token)).grant_id
            for token in (
                issuers.access(),
                issuers.id(),
                issuers.access(client_id="second"),
                issuers.access(client_id="third"),
                issuers.access(sub="b", email="bruno@example.com"),
            )
        ]
        assert grants[0] == grants[1] == grants[2]
        assert len(set(grants)) == 3
        assert all(DASHED_UUID.parse_id(grant) for grant in grants)
        assert issuers.identity.grant.id not in grants

    async def test_gets_no_scope_that_its_client_is_not_registered_for(self) -> None:
        issuers = await new_issuers()
        principal = await issuers.verify(issuers.access(scope="light.read plug.write safety.read"))
        assert principal.scopes == {"light.read"}

    async def test_without_scope_claim_gets_what_the_profile_says(self) -> None:
        issuers = await new_issuers(default_scopes=("topology.read", "plug.read"))
        assert (await issuers.verify(issuers.id(scope=None))).scopes == {"topology.read", "plug.read"}

    async def test_finds_its_user_whatever_the_case_of_the_e_mail(self) -> None:
        issuers = await new_issuers()
        assert (await issuers.verify(issuers.access(email="Anna@Example.COM"))).user_id == issuers.identity.anna.id

    async def test_may_carry_header_fields_of_its_product(self) -> None:
        issuers = await new_issuers()
        await issuers.verify(KEY.sign(issuers.claims(), typ="at+jwt", x5t="abc", nonce="xyz", rh="0."))

    async def test_without_key_id_is_verified_by_the_only_key_and_by_the_one_after_it(self) -> None:
        old, new = IssuerKey(None), IssuerKey(None)
        issuers = await new_issuers(old)
        await issuers.verify(issuers.access(old))
        issuers.source.keys = [new]
        issuers.clock.advance(REFETCH_PAUSE)
        await issuers.verify(issuers.access(new))
        assert "signature" in await issuers.refusal(issuers.access(old))

    async def test_of_an_unlisted_client_is_taken_for_the_one_that_stands_for_all(self) -> None:
        issuers = await new_issuers(clients={}, any_client="demo-app")
        assert (await issuers.verify(issuers.access(client_id="whoever"))).client_id == "demo-app"
        assert "client" in await issuers.refusal(issuers.id(aud="whoever"))

    async def test_of_a_clock_a_little_ahead_is_accepted(self) -> None:
        issuers = await new_issuers()
        now = int(issuers.clock.now())
        await issuers.verify(issuers.access(iat=now + 25, nbf=now + 25))

    async def test_may_name_its_authorized_party(self) -> None:
        issuers = await new_issuers(clients={"their-app": "demo-app", "web": "demo-app"})
        await issuers.verify(issuers.id(aud=["web", "their-app"], azp="their-app"))
        await issuers.verify(issuers.id(aud="web", azp="their-app"))


class TestAVerifiedToken:
    async def test_ends_exactly_at_its_expiry(self) -> None:
        issuers = await new_issuers()
        token = issuers.access()
        await issuers.verify(token)
        issuers.clock.at = float(issuers.claims()["exp"]) - 0.01
        assert issuers.verifier.find_verified(token) is not None
        issuers.clock.advance(0.01)
        assert "expired" in await issuers.refusal(token)

    async def test_is_refused_from_the_next_call_once_our_user_is_deleted(self) -> None:
        issuers = await new_issuers()
        token = issuers.access()
        await issuers.verify(token)
        await issuers.identity.store.delete_user(issuers.identity.anna.id)
        assert "user" in await issuers.refusal(token)

    async def test_shows_a_change_of_standing_and_of_its_client_at_the_next_call(self) -> None:
        issuers = await new_issuers()
        token = issuers.access()
        await issuers.verify(token)
        await issuers.identity.store.save_user(msgspec.structs.replace(issuers.identity.anna, standing=Standing.TERMS_EXPIRED))
        await issuers.identity.store.save_client(Client("demo-app", "x", scopes=("light.read",), access_token_everywhere=True))
        principal = await issuers.verify(token)
        assert principal.standing is Standing.TERMS_EXPIRED
        assert (principal.scopes, principal.access_token_everywhere) == (frozenset({"light.read"}), True)
