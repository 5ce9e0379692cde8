"""A valid token becomes a principal, while its user, client and grant are valid."""

import asyncio
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from domogate.domain.events import SigningKeysChanged
from domogate.domain.faults import TokenRefused
from domogate.domain.ids import new_id
from domogate.domain.people import Client, Grant, GrantType, Scope, Standing, TokenKind, User
from support.examples import examples
from support.identity import NOW, Identity, new_identity, refusal

KINDS = pytest.mark.parametrize("kind", TokenKind)


class TestAGoodToken:
    @KINDS
    async def test_becomes_a_principal_and_is_then_found_without_the_store(self, kind: TokenKind) -> None:
        identity = await new_identity()
        token = await identity.mint(kind)
        assert identity.verifier.find_verified(token) is None
        principal = await identity.verify(token)
        assert (principal.user_id, principal.client_id, principal.grant_id) == (identity.anna.id, "demo-app", identity.grant.id)
        assert principal.kind is kind
        assert principal.scopes == {"topology.read", "light.read"}
        assert principal.expires_at == int(NOW) + 3600
        assert principal.standing is Standing.GOOD
        identity.store.reads.clear()
        assert identity.verifier.find_verified(token) is principal
        assert identity.store.reads == []

    async def test_carries_flow_standing_and_the_clients_exception(self) -> None:
        identity = await new_identity()
        identity.store.users[identity.anna.id] = msgspec.structs.replace(identity.anna, standing=Standing.TERMS_EXPIRED)
        identity.store.clients["demo-app"] = msgspec.structs.replace(identity.app, access_token_everywhere=True)
        identity.store.grants[identity.grant.id] = msgspec.structs.replace(identity.grant, flow=GrantType.IMPLICIT)
        principal = await identity.verify(await identity.mint())
        assert principal.flow is GrantType.IMPLICIT
        assert principal.access_token_everywhere is True
        assert principal.standing is Standing.TERMS_EXPIRED

    async def test_is_limited_to_the_plants_of_its_grant(self) -> None:
        identity = await new_identity()
        assert (await identity.verify(await identity.mint())).plants is None
        plants = frozenset({new_id()})
        other = msgspec.structs.replace(identity.grant, id=new_id(), plants=plants)
        identity.store.grants[other.id] = other
        assert (await identity.verify(identity.forge(identity.claims(grant=other.id)))).plants == plants

    async def test_has_the_scopes_that_both_token_and_grant_have(self) -> None:
        identity = await new_identity()
        token = identity.forge(identity.claims(scope="topology.read plug.write TOPOLOGY.READ light.readx"))
        assert (await identity.verify(token)).scopes == {"topology.read"}

    async def test_may_have_no_scope_at_all(self) -> None:
        identity = await new_identity()
        assert (await identity.verify(identity.forge(identity.claims(scope="")))).scopes == frozenset()

    @pytest.mark.parametrize("typ", ["at+jwt", "AT+JWT", "application/at+jwt", "Application/At+Jwt"])
    async def test_may_spell_its_typ_in_any_case_and_in_full(self, typ: str) -> None:
        identity = await new_identity()
        assert (await identity.verify(identity.forge(identity.claims(), typ=typ))).kind is TokenKind.ACCESS

    async def test_may_write_its_audience_as_an_array(self) -> None:
        identity = await new_identity()
        token = identity.forge(identity.claims(aud=["https://elsewhere.example", "https://gateway.example"]))
        assert (await identity.verify(token)).kind is TokenKind.ACCESS
        id_token = identity.forge(identity.claims(aud=["demo-app"], client_id=None), typ="JWT")
        assert (await identity.verify(id_token)).client_id == "demo-app"

    async def test_of_a_clock_slightly_ahead_is_accepted(self) -> None:
        identity = await new_identity()
        ahead = int(identity.clock.now()) + 2
        await identity.verify(identity.forge(identity.claims(iat=ahead, nbf=ahead)))

    @settings(max_examples=examples(20))
    @given(
        email=st.emails(),
        name=st.text(st.characters(codec="utf-8"), max_size=40),
        client_id=st.text(st.characters(codec="utf-8", exclude_categories=["C"]), min_size=1, max_size=40),
        scopes=st.frozensets(st.sampled_from(["plug.read", "plug.write", "scene.launch", "safety.read", "openid"])),
        kind=st.sampled_from(TokenKind),
    )
    def test_every_minted_token_verifies_with_the_same_claims(
        self, email: str, name: str, client_id: str, scopes: frozenset[str], kind: TokenKind
    ) -> None:
        async def round_trip() -> None:
            identity = await new_identity()
            user, client = User(new_id(), email, name), Client(client_id, "App", scopes=tuple(Scope))
            grant = Grant(new_id(), user.id, client.id, tuple(scopes))
            identity.store.users[user.id], identity.store.clients[client.id] = user, client
            identity.store.grants[grant.id] = grant
            principal = await identity.verify((await identity.signer.mint_token(kind, user, client, grant)).encode())
            assert (principal.user_id, principal.client_id, principal.grant_id) == (user.id, client.id, grant.id)
            assert (principal.kind, principal.scopes) == (kind, scopes)

        asyncio.run(round_trip())


class TestAVerifiedToken:
    async def test_ends_exactly_at_its_expiry(self) -> None:
        identity = await new_identity()
        token = await identity.mint(lifetime=60.0)
        await identity.verify(token)
        identity.clock.at = int(NOW) + 59.99
        assert identity.verifier.find_verified(token) is not None
        identity.clock.at = float(int(NOW) + 60)
        assert "expired" in await refusal(identity, token)

    @pytest.mark.parametrize("fraction", [0.25, 0.5])
    async def test_may_end_within_a_second(self, fraction: float) -> None:
        identity = await new_identity()
        token = identity.forge(identity.claims(exp=int(NOW) + 10 + fraction))
        await identity.verify(token)
        identity.clock.at = int(NOW) + 10 + fraction
        assert "expired" in await refusal(identity, token)

    @KINDS
    async def test_is_refused_from_the_next_call_once_its_grant_is_revoked(self, kind: TokenKind) -> None:
        identity = await new_identity()
        token = await identity.mint(kind)
        await identity.verify(token)
        await identity.store.revoke_grant(identity.grant.id, identity.clock.now())
        assert identity.verifier.find_verified(token) is None
        assert "revoked" in await refusal(identity, token)

    async def test_is_refused_from_the_next_call_once_its_user_is_deleted(self) -> None:
        identity = await new_identity()
        token = await identity.mint()
        await identity.verify(token)
        await identity.store.delete_user(identity.anna.id)
        assert "user" in await refusal(identity, token)

    async def test_is_refused_once_its_client_is_gone(self) -> None:
        identity = await new_identity()
        token = await identity.mint(TokenKind.ID)
        await identity.verify(token)
        await identity.store.save_client(Client("demo-app", "Renamed"))
        del identity.store.clients["demo-app"]
        assert "client" in await refusal(identity, token)

    async def test_shows_a_change_of_standing_at_the_next_call(self) -> None:
        identity = await new_identity()
        token = await identity.mint()
        await identity.verify(token)
        await identity.store.save_user(msgspec.structs.replace(identity.anna, standing=Standing.PASSWORD_EXPIRED))
        assert identity.verifier.find_verified(token) is None
        assert (await identity.verify(token)).standing is Standing.PASSWORD_EXPIRED

    async def test_shows_a_change_of_its_client_at_the_next_call(self) -> None:
        identity = await new_identity()
        token = await identity.mint()
        assert (await identity.verify(token)).access_token_everywhere is False
        await identity.store.save_client(msgspec.structs.replace(identity.app, access_token_everywhere=True))
        assert identity.verifier.find_verified(token) is None
        assert (await identity.verify(token)).access_token_everywhere is True

    async def test_loses_a_scope_at_the_next_call_once_its_client_may_not_have_it(self) -> None:
        identity = await new_identity()
        token = await identity.mint()
        assert (await identity.verify(token)).scopes == {"topology.read", "light.read"}
        await identity.store.save_client(msgspec.structs.replace(identity.app, scopes=("light.read",)))
        assert (await identity.verify(token)).scopes == {"light.read"}
        await identity.store.save_client(identity.app)
        assert (await identity.verify(token)).scopes == {"topology.read", "light.read"}, "the grant kept it"

    async def test_is_left_alone_by_changes_of_others(self) -> None:
        identity = await new_identity()
        token = await identity.mint()
        principal = await identity.verify(token)
        bruno = User(new_id(), "bruno@example.com")
        other = Grant(new_id(), bruno.id, "other", ())
        await identity.store.add_grant(other)
        await identity.store.save_user(bruno)
        await identity.store.revoke_grant(other.id, 1.0)
        await identity.store.save_client(Client("other", "Other"))
        assert identity.verifier.find_verified(token) is principal

    async def test_of_a_key_that_is_gone_is_refused(self) -> None:
        identity = await new_identity()
        token = await identity.mint()
        await identity.verify(token)
        identity.store.signing_keys.clear()
        identity.store.tell(SigningKeysChanged())
        assert "key set" in await refusal(identity, token)

    async def test_is_forgotten_when_too_many_others_came_after_it(self) -> None:
        identity = await new_identity(cache_size=8)
        tokens = [await identity.mint() for _ in range(30)]
        for token in tokens:
            await identity.verify(token)
        found = [token for token in tokens if identity.verifier.find_verified(token) is not None]
        assert tokens[-1] in found
        assert len(found) <= 8


class TestAChangeDuringVerification:
    async def verify_while(self, identity: Identity, token: bytes, change: Any) -> Any:
        """The store reads, then a change is committed and applied, then the old result of the read arrives."""
        identity.store.held = asyncio.Event()
        verifying = asyncio.create_task(identity.verify(token))
        while "grant" not in identity.store.reads:
            await asyncio.sleep(0)
        await change
        identity.store.held.set()
        return await verifying

    async def test_a_grant_revoked_meanwhile_is_refused_and_not_remembered(self) -> None:
        identity = await new_identity()
        token = await identity.mint()
        with pytest.raises(TokenRefused, match="revoked"):
            await self.verify_while(identity, token, identity.store.revoke_grant(identity.grant.id, 1.0))
        assert identity.verifier.find_verified(token) is None

    async def test_a_standing_changed_meanwhile_is_the_one_remembered(self, monkeypatch: pytest.MonkeyPatch) -> None:
        identity = await new_identity()
        token = await identity.mint()
        # The user is read last: delay only that read.
        original = identity.store.find_user
        asked, go_on = asyncio.Event(), asyncio.Event()

        async def slow_find_user(user_id: Any) -> Any:
            user = await original(user_id)
            asked.set()
            await go_on.wait()
            return user

        monkeypatch.setattr(identity.store, "find_user", slow_find_user)
        verifying = asyncio.create_task(identity.verify(token))
        await asked.wait()
        await identity.store.save_user(msgspec.structs.replace(identity.anna, standing=Standing.BOTH_EXPIRED))
        go_on.set()
        assert (await verifying).standing is Standing.BOTH_EXPIRED
        found = identity.verifier.find_verified(token)
        assert found is not None
        assert found.standing is Standing.BOTH_EXPIRED

    async def test_constant_changes_do_not_delay_a_request_and_nothing_is_cached(self, monkeypatch: pytest.MonkeyPatch) -> None:
        identity = await new_identity()
        token = await identity.mint()
        original = identity.store.find_user

        async def always_changing(user_id: Any) -> Any:
            user = await original(user_id)
            await identity.store.save_user(identity.anna)
            return user

        monkeypatch.setattr(identity.store, "find_user", always_changing)
        assert (await identity.verify(token)).user_id == identity.anna.id
        assert identity.verifier.find_verified(token) is None
