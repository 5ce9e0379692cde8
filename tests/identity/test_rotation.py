import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import jwt as pyjwt
import pytest

from domogate.domain.faults import TokenRefused
from domogate.domain.people import TokenKind
from domogate.identity.loaded_keys import new_signing_key
from domogate.identity.rotation import DISTRUSTED, PUBLISHED_AHEAD, list_key_places, rotate_keys
from domogate.identity.signing import KeyRing, TokenSigner
from domogate.identity.tokens import TokenVerifier
from domogate.ports import KeyPlace, KeyState
from domogate.stores import SqlStore, sqlite_url
from support.clocks import ManualClock
from support.identity import AUDIENCE, ISSUER, new_identity
from support.stores import ANNA, APP, GRANT, SMALL

MAX_AGE = 300.0


class CachingClient:
    """A client that caches the key set for its full max-age."""

    def __init__(self, fetch: Callable[[], Any], clock: ManualClock) -> None:
        self._fetch = fetch
        self._clock = clock
        self._jwks: pyjwt.PyJWKSet | None = None
        self._fetched_at = float("-inf")

    async def verify(self, token: bytes) -> dict[str, Any]:
        if self._clock.now() - self._fetched_at >= MAX_AGE:
            self._jwks = pyjwt.PyJWKSet.from_dict(await self._fetch())
            self._fetched_at = self._clock.now()
        assert self._jwks is not None
        key = self._jwks[pyjwt.get_unverified_header(token)["kid"]]  # KeyError: an unknown kid
        return pyjwt.decode(
            token,
            key,
            algorithms=["ES256", "RS256"],
            audience=AUDIENCE,
            options={"verify_exp": False, "verify_iat": False},
        )


class TestAPlannedRotation:
    async def test_publishes_the_next_key_at_once_and_signs_with_it_later(self) -> None:
        identity = await new_identity()
        rotation = await rotate_keys(identity.store, identity.clock)
        assert rotation.signs_from == identity.clock.now() + PUBLISHED_AHEAD
        old = (await identity.keyring.find_current()).kid
        assert rotation.retired == (old,)
        assert {key["kid"] for key in (await identity.signer.jwks())["keys"]} == {old, rotation.kid}
        identity.clock.advance(PUBLISHED_AHEAD - 0.1)
        assert (await identity.keyring.find_current()).kid == old
        identity.clock.advance(0.1)
        assert (await identity.keyring.find_current()).kid == rotation.kid

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("algorithm", "offset"), [("ES256", 0), ("ES256", 7), ("ES256", 149), ("ES256", 299), ("RS256", 149)]
    )
    async def test_shows_no_unknown_key_to_a_verifier_that_keeps_the_key_set(self, algorithm: str, offset: int) -> None:
        identity = await new_identity()
        elsewhere = CachingClient(identity.signer.jwks, identity.clock)
        kids: set[str] = set()
        held: list[bytes] = []
        for second in range(0, 2 * int(PUBLISHED_AHEAD), 20):
            if second == 300:
                identity.clock.advance(offset)
                await rotate_keys(identity.store, identity.clock, algorithm=algorithm)
            token = await identity.mint()
            kids.add(pyjwt.get_unverified_header(token)["kid"])
            held.append(token)
            for one in held[:: len(held) // 3 + 1] + held[-1:]:
                await elsewhere.verify(one)
                await identity.verify(one)
            identity.clock.advance(20)
        assert len(kids) == 2

    async def test_leaves_the_old_keys_tokens_good_until_they_expire(self) -> None:
        identity = await new_identity()
        await rotate_keys(identity.store, identity.clock)
        identity.clock.advance(PUBLISHED_AHEAD - 1)
        last = await identity.mint()
        identity.clock.advance(3599)
        await identity.verify(last)
        identity.clock.advance(1.0)
        with pytest.raises(TokenRefused, match="expired"):
            await identity.verify(last)

    async def test_drops_the_old_key_from_the_key_set_once_its_tokens_are_dead(self) -> None:
        identity = await new_identity()
        rotation = await rotate_keys(identity.store, identity.clock)
        identity.clock.advance(PUBLISHED_AHEAD + 86_400.0)
        assert [key["kid"] for key in (await identity.signer.jwks())["keys"]] == [rotation.kid]

    async def test_that_comes_before_the_next_key_of_another_began_supersedes_it(self) -> None:
        identity = await new_identity()
        first = await rotate_keys(identity.store, identity.clock, ahead=1000.0)
        second = await rotate_keys(identity.store, identity.clock, ahead=500.0)
        for _ in range(15):
            current = (await identity.keyring.find_current()).kid
            assert current != first.kid
            await identity.verify(await identity.mint())
            identity.clock.advance(100.0)
        assert current == second.kid

    async def test_that_was_interrupted_is_completed_by_the_next(self) -> None:
        identity = await new_identity()
        abandoned = new_signing_key("ES256", identity.clock.now() + PUBLISHED_AHEAD)
        await identity.store.change_signing_keys(lambda _: [abandoned])
        identity.clock.advance(PUBLISHED_AHEAD)
        assert (await identity.keyring.find_current()).kid == abandoned.kid
        rotation = await rotate_keys(identity.store, identity.clock)
        identity.clock.advance(PUBLISHED_AHEAD)
        states = {place.kid: place.state for place in await list_key_places(identity.store, identity.clock)}
        assert states.pop(rotation.kid) is KeyState.CURRENT
        assert set(states.values()) == {KeyState.RETIRED}

    @pytest.mark.parametrize("ahead", [-1.0, 0.0, 299.0, float("inf"), float("nan")])
    async def test_publishes_the_next_key_before_caches_of_the_key_set_expire(self, ahead: float) -> None:
        identity = await new_identity()
        with pytest.raises(ValueError, match="300 seconds ahead"):
            await rotate_keys(identity.store, identity.clock, ahead=ahead)
        assert len(identity.store.signing_keys) == 1

    @pytest.mark.parametrize("algorithm", ["none", "HS256", "es256", ""])
    async def test_is_to_an_algorithm_of_the_allow_list_only(self, algorithm: str) -> None:
        identity = await new_identity()
        with pytest.raises(ValueError, match="ES256, RS256"):
            await rotate_keys(identity.store, identity.clock, algorithm=algorithm)


class TestAnEmergencyRotation:
    @pytest.mark.parametrize("kind", TokenKind)
    async def test_refuses_every_token_of_before_from_the_next_call(self, kind: TokenKind) -> None:
        identity = await new_identity()
        token = await identity.mint(kind)
        await identity.verify(token)
        rotation = await rotate_keys(identity.store, identity.clock, now=True)
        assert identity.verifier.find_verified(token) is None
        with pytest.raises(TokenRefused, match="kid"):
            await identity.verify(token)
        new = await identity.mint(kind)
        assert pyjwt.get_unverified_header(new)["kid"] == rotation.kid
        await identity.verify(new)
        assert [key["kid"] for key in (await identity.signer.jwks())["keys"]] == [rotation.kid]

    async def test_breaks_clients_that_cache_the_key_set_so_it_is_for_emergencies_only(self) -> None:
        identity = await new_identity()
        elsewhere = CachingClient(identity.signer.jwks, identity.clock)
        await elsewhere.verify(await identity.mint())
        await rotate_keys(identity.store, identity.clock, now=True)
        with pytest.raises(KeyError):
            await elsewhere.verify(await identity.mint())
        identity.clock.advance(MAX_AGE)
        await elsewhere.verify(await identity.mint())

    async def test_distrusts_a_planned_key_and_the_retired_ones_too(self) -> None:
        identity = await new_identity()
        await rotate_keys(identity.store, identity.clock)
        identity.clock.advance(PUBLISHED_AHEAD + 1)
        await rotate_keys(identity.store, identity.clock)
        rotation = await rotate_keys(identity.store, identity.clock, now=True)
        assert len(rotation.distrusted) == 3
        places = await list_key_places(identity.store, identity.clock)
        assert {place.state for place in places if place.kid != rotation.kid} == {KeyState.DISTRUSTED}
        assert {place.retired_at for place in places if place.kid != rotation.kid} == {DISTRUSTED}

    async def test_after_it_a_planned_one_trusts_them_no_more_than_before(self) -> None:
        identity = await new_identity()
        token = await identity.mint()
        await rotate_keys(identity.store, identity.clock, now=True)
        identity.clock.advance(1.0)
        rotation = await rotate_keys(identity.store, identity.clock)
        assert len(rotation.retired) == 1
        with pytest.raises(TokenRefused, match="kid"):
            await identity.verify(token)


class TestPlaces:
    async def test_each_key_is_next_current_or_retired_by_the_time(self) -> None:
        identity = await new_identity()
        await rotate_keys(identity.store, identity.clock)
        places = await list_key_places(identity.store, identity.clock)
        assert [place.state for place in places] == [KeyState.CURRENT, KeyState.NEXT]
        identity.clock.advance(PUBLISHED_AHEAD)
        places = await list_key_places(identity.store, identity.clock)
        assert [place.state for place in places] == [KeyState.RETIRED, KeyState.CURRENT]
        assert "jwk" not in KeyPlace.__struct_fields__


class TestSeveralGateways:
    """Several gateways on one database, each with its own key ring, signer and verifier."""

    @pytest.fixture
    async def gateways(self, tmp_path: Path) -> AsyncIterator[list[tuple[SqlStore, TokenSigner, TokenVerifier]]]:
        clock = ManualClock()
        gateways = []
        for number in range(3):
            store = SqlStore(sqlite_url(tmp_path / "domogate.sqlite3"), clock=clock, poll=0.01, gateway=True)
            await store.start()
            if number == 0:
                await store.import_estate(SMALL, prune=False)
                await store.add_grant(GRANT)
            ring = KeyRing(store, clock)
            verifier = TokenVerifier(ring, store, clock, ISSUER, AUDIENCE)
            store.listen(ring.apply)
            store.listen(verifier.apply)
            await ring.start()
            gateways.append((store, TokenSigner(ring, clock, ISSUER, AUDIENCE, 3600.0, 3600.0), verifier))
        self.clock = clock
        yield gateways
        for store, _, _ in gateways:
            await store.stop()

    @pytest.mark.slow
    async def test_change_over_together_and_believe_each_other_all_the_time(
        self, gateways: list[tuple[SqlStore, TokenSigner, TokenVerifier]]
    ) -> None:
        kids: list[set[str]] = []
        for step in range(30):
            if step == 5:
                await rotate_keys(gateways[0][0], self.clock)
                assert await gateways[0][0].wait_applied(30.0)
            tokens = [(await it.mint_token(TokenKind.ACCESS, ANNA, APP, GRANT)).encode() for _, it, _ in gateways]
            kids.append({pyjwt.get_unverified_header(token)["kid"] for token in tokens})
            for token in tokens:
                for _, _, verifier in gateways:
                    await verifier.verify(token)
            self.clock.advance(60.0)
        assert all(len(together) == 1 for together in kids)
        assert len(set.union(*kids)) == 2

    async def test_an_emergency_reaches_all_of_them(self, gateways: list[tuple[SqlStore, TokenSigner, TokenVerifier]]) -> None:
        token = (await gateways[0][1].mint_token(TokenKind.ID, ANNA, APP, GRANT)).encode()
        for _, _, verifier in gateways:
            await verifier.verify(token)
        await rotate_keys(gateways[1][0], self.clock, now=True)
        assert await gateways[1][0].wait_applied(30.0)
        for _, _, verifier in gateways:
            assert verifier.find_verified(token) is None
            with pytest.raises(TokenRefused):
                await verifier.verify(token)

    async def test_only_an_emergency_replaces_the_secret_of_refresh_tokens(
        self, gateways: list[tuple[SqlStore, TokenSigner, TokenVerifier]]
    ) -> None:
        async def secrets() -> set[bytes]:
            return {await signer.find_server_secret() for _, signer, _ in gateways}

        before = await secrets()
        assert len(before) == 1
        await rotate_keys(gateways[1][0], self.clock, now=False)
        assert await gateways[1][0].wait_applied(30.0)
        self.clock.advance(2 * PUBLISHED_AHEAD)
        assert await secrets() == before
        await rotate_keys(gateways[1][0], self.clock, now=True)
        # The clock was moved, so wait_applied takes the other gateways for stopped ones.
        async with asyncio.timeout(30):
            while len(after := await secrets()) > 1 or after == before:
                await asyncio.sleep(0.01)
        await rotate_keys(gateways[1][0], self.clock, now=False)
        assert await secrets() == after
