"""Grants, codes, refresh tokens and one-time links, one caller at a time."""

import msgspec
import pytest
from sqlalchemy.exc import IntegrityError

from domogate.domain.authorization import (
    RedeemedCode,
    Rotation,
    RotationOutcome,
)
from domogate.domain.events import GrantRevoked
from domogate.stores import SqlStore, authorization
from support.clocks import NOW
from support.stores import (
    ANNA,
    APP,
    BRUNO,
    CARLA,
    HOUSE,
    OTHER_APP,
    a_code,
    a_grant,
    a_refresh_token,
    an_id,
    record_changes,
)

GRANT = a_grant(50)
CODE = a_code(GRANT, redirect_uri="https://app.example/back", code_challenge="challenge", nonce="any\0thing")
FIRST = a_refresh_token(GRANT, "first")
SECOND = a_refresh_token(GRANT, "second", created_at=NOW + 1, expires_at=NOW + 1001)
THIRD = a_refresh_token(GRANT, "third", created_at=NOW + 2, expires_at=NOW + 1002)
GRACE = 10.0
REVOKED = GrantRevoked(grant_id=GRANT.id)


@pytest.fixture
async def authorized_store(filled_store: SqlStore) -> SqlStore:
    """The house with a grant and its first refresh token."""
    await filled_store.save_client(OTHER_APP)
    await filled_store.add_grant(GRANT)
    await filled_store.add_refresh_token(FIRST)
    return filled_store


async def revoked_at(store: SqlStore) -> float | None:
    grant = await store.find_grant(GRANT.id)
    assert grant is not None
    return grant.revoked_at


class TestGrants:
    async def test_keep_the_plants_that_the_user_chose(self, filled_store: SqlStore) -> None:
        chosen = a_grant(50, plants=frozenset({HOUSE.id, an_id(80)}))
        for grant in (chosen, a_grant(51, created_at=NOW - 1), a_grant(52, plants=frozenset(), created_at=NOW - 2)):
            await filled_store.add_grant(grant)
        assert await filled_store.find_grant(chosen.id) == chosen
        found = await filled_store.list_grants(ANNA.id)
        assert [grant.plants for grant in found] == [chosen.plants, None, frozenset()]

    async def test_of_the_same_plants_share_one_set(self, filled_store: SqlStore) -> None:
        """Thousands of verified tokens refer to it."""
        for number in (50, 51):
            await filled_store.add_grant(a_grant(number, plants=frozenset({HOUSE.id, an_id(80)})))
        one, other = await filled_store.list_grants(ANNA.id)
        assert one.plants is other.plants

    async def test_a_user_s_living_ones_are_listed_the_newest_first(self, filled_store: SqlStore) -> None:
        old, new, newest = a_grant(50), a_grant(51, created_at=NOW + 1), a_grant(52, created_at=NOW + 2)
        for grant in (old, newest, new, a_grant(53, BRUNO)):
            await filled_store.add_grant(grant)
        await filled_store.revoke_grant(new.id, NOW + 3)
        assert await filled_store.list_grants(ANNA.id) == [newest, old]
        of_client = [(old, ANNA.email), (newest, ANNA.email), (a_grant(53, BRUNO), BRUNO.email)]
        assert await filled_store.list_grants_of_client(APP.id, None, 10) == of_client
        assert await filled_store.list_grants_of_client(APP.id, old.id, 10) == of_client[1:]
        assert await filled_store.list_grants_of_client("nobody", None, 10) == []
        assert await filled_store.list_grants(CARLA.id) == []

    async def test_all_of_a_user_to_one_client_or_to_any_are_revoked(self, filled_store: SqlStore) -> None:
        await filled_store.save_client(OTHER_APP)
        for grant in (a_grant(50), a_grant(51), a_grant(52, client=OTHER_APP), a_grant(53, BRUNO)):
            await filled_store.add_grant(grant)
        recorded = record_changes(filled_store)
        assert await filled_store.revoke_grants(ANNA.id, APP.id, NOW + 1) == 2
        assert await filled_store.list_grants(ANNA.id) == [a_grant(52, client=OTHER_APP)]
        assert await filled_store.revoke_grants(ANNA.id, None, NOW + 2) == 1
        assert await filled_store.revoke_grants(ANNA.id, None, NOW + 3) == 0
        assert recorded.events == [GrantRevoked(grant_id=an_id(number)) for number in (50, 51, 52)]
        assert await filled_store.find_grant(an_id(50)) == a_grant(50, revoked_at=NOW + 1)
        assert await filled_store.list_grants(BRUNO.id) == [a_grant(53, BRUNO)]

    async def test_how_the_person_had_proved_who_they_are_is_kept(self, filled_store: SqlStore) -> None:
        grant = a_grant(50, factors=("pwd", "otp"))
        await filled_store.add_grant(grant)
        await filled_store.add_refresh_token(a_refresh_token(grant, "first"))
        assert await filled_store.find_grant(grant.id) == grant
        rotation = await filled_store.rotate_refresh_token("hash of first", APP.id, SECOND, NOW, GRACE)
        assert rotation == Rotation(RotationOutcome.ROTATED, grant)

    async def test_one_counts_only_once_its_code_is_redeemed(self, filled_store: SqlStore) -> None:
        await filled_store.add_code(GRANT, CODE)
        assert await filled_store.list_grants(ANNA.id) == []
        await filled_store.redeem_code(CODE.code_hash, NOW)
        assert await filled_store.list_grants(ANNA.id) == [GRANT]

    async def test_one_that_was_never_redeemed_is_forgotten_with_its_code(self, filled_store: SqlStore) -> None:
        redeemed, implicit = a_grant(51), a_grant(52)
        await filled_store.add_code(GRANT, CODE)
        await filled_store.add_code(redeemed, a_code(redeemed, "other"))
        await filled_store.redeem_code("hash of other", NOW)
        await filled_store.add_grant(implicit)
        recorded = record_changes(filled_store)
        await filled_store.prune_authorization(CODE.expires_at + 3599)
        assert await filled_store.find_grant(GRANT.id) == GRANT
        await filled_store.prune_authorization(CODE.expires_at + 3600)
        assert await filled_store.find_grant(GRANT.id) is None
        assert await filled_store.redeem_code(CODE.code_hash, NOW) is None
        assert await filled_store.list_grants(ANNA.id) == [redeemed, implicit]
        assert recorded.events == []

    async def test_they_are_forgotten_in_pieces(self, filled_store: SqlStore, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(authorization, "PRUNE_CHUNK", 3)
        for number in range(50, 58):
            await filled_store.add_code(a_grant(number), a_code(a_grant(number), str(number)))
        await filled_store.prune_authorization(NOW + 60 + 3600)
        assert [await filled_store.find_grant(an_id(number)) for number in range(50, 58)] == [None] * 8


class TestCodes:
    async def test_the_first_gets_all_that_was_kept_of_it(self, filled_store: SqlStore) -> None:
        await filled_store.add_code(GRANT, CODE)
        assert await filled_store.find_grant(GRANT.id) == GRANT
        assert await filled_store.redeem_code(CODE.code_hash, NOW) == RedeemedCode(CODE, GRANT, first=True)

    async def test_what_the_request_left_out_is_left_out(self, filled_store: SqlStore) -> None:
        await filled_store.add_code(GRANT, a_code(GRANT))
        assert await filled_store.redeem_code("hash of code", NOW) == RedeemedCode(a_code(GRANT), GRANT, first=True)

    async def test_redeemed_again_its_grant_is_revoked(self, filled_store: SqlStore) -> None:
        await filled_store.add_code(GRANT, CODE)
        await filled_store.redeem_code(CODE.code_hash, NOW)
        recorded = record_changes(filled_store)
        for later in (1, 2):
            again = await filled_store.redeem_code(CODE.code_hash, NOW + later)
            assert again == RedeemedCode(CODE, msgspec.structs.replace(GRANT, revoked_at=NOW + 1), first=False)
        assert recorded.events == [REVOKED]
        assert await revoked_at(filled_store) == NOW + 1

    async def test_an_expired_one_is_consumed_too(self, filled_store: SqlStore) -> None:
        await filled_store.add_code(GRANT, CODE)
        late = await filled_store.redeem_code(CODE.code_hash, CODE.expires_at + 1)
        assert late == RedeemedCode(CODE, GRANT, first=True)
        again = await filled_store.redeem_code(CODE.code_hash, CODE.expires_at + 2)
        assert again is not None
        assert not again.first

    async def test_one_of_a_revoked_grant_tells_that_it_is_revoked(self, filled_store: SqlStore) -> None:
        await filled_store.add_code(GRANT, CODE)
        await filled_store.revoke_grant(GRANT.id, NOW + 1)
        redeemed = await filled_store.redeem_code(CODE.code_hash, NOW + 2)
        assert redeemed == RedeemedCode(CODE, msgspec.structs.replace(GRANT, revoked_at=NOW + 1), first=True)

    async def test_an_unknown_one_is_nothing(self, filled_store: SqlStore) -> None:
        assert await filled_store.redeem_code("hash of nothing", NOW) is None

    @pytest.mark.parametrize("change", [{"grant_id": an_id(404)}, {"client_id": "other"}])
    async def test_one_of_another_grant_or_client_is_refused(self, filled_store: SqlStore, change: dict[str, str]) -> None:
        with pytest.raises(ValueError, match="another"):
            await filled_store.add_code(GRANT, msgspec.structs.replace(CODE, **change))
        assert await filled_store.find_grant(GRANT.id) is None

    async def test_a_code_that_is_there_already_adds_no_grant(self, filled_store: SqlStore) -> None:
        await filled_store.add_code(GRANT, CODE)
        other = a_grant(51)
        with pytest.raises(IntegrityError):
            await filled_store.add_code(other, a_code(other))
        assert await filled_store.find_grant(other.id) is None


class TestRefreshTokens:
    async def test_one_is_found_with_its_client(self, authorized_store: SqlStore) -> None:
        assert await authorized_store.find_refresh_token(FIRST.token_hash) == FIRST
        assert await authorized_store.find_refresh_token("hash of nothing") is None

    async def test_it_needs_its_grant_and_that_grant_s_client(self, authorized_store: SqlStore) -> None:
        with pytest.raises(ValueError, match="there is no grant"):
            await authorized_store.add_refresh_token(a_refresh_token(a_grant(404), "x"))
        with pytest.raises(ValueError, match="another client"):
            await authorized_store.add_refresh_token(msgspec.structs.replace(SECOND, client_id=OTHER_APP.id))

    async def test_rotated_it_is_replaced_by_its_successor(self, authorized_store: SqlStore) -> None:
        rotation = await authorized_store.rotate_refresh_token(FIRST.token_hash, APP.id, SECOND, NOW + 1, GRACE)
        assert rotation == Rotation(RotationOutcome.ROTATED, GRANT)
        assert await authorized_store.find_refresh_token(FIRST.token_hash) == msgspec.structs.replace(
            FIRST, replaced_at=NOW + 1
        )
        assert await authorized_store.find_refresh_token(SECOND.token_hash) == SECOND

    async def test_the_successor_is_of_the_family_of_what_it_replaces(self, authorized_store: SqlStore) -> None:
        stray = msgspec.structs.replace(SECOND, grant_id=an_id(404), client_id="")
        await authorized_store.rotate_refresh_token(FIRST.token_hash, APP.id, stray, NOW + 1, GRACE)
        assert await authorized_store.find_refresh_token(SECOND.token_hash) == SECOND

    @pytest.mark.parametrize("later", [0.0, GRACE, -3.0])
    async def test_the_predecessor_again_within_the_grace_repeats(self, authorized_store: SqlStore, later: float) -> None:
        await authorized_store.rotate_refresh_token(FIRST.token_hash, APP.id, SECOND, NOW + 1, GRACE)
        before = await authorized_store.newest_cursor()
        again = await authorized_store.rotate_refresh_token(FIRST.token_hash, APP.id, SECOND, NOW + 1 + later, GRACE)
        assert again == Rotation(RotationOutcome.REPEATED, GRANT)
        assert await authorized_store.find_refresh_token(SECOND.token_hash) == SECOND
        assert await authorized_store.newest_cursor() == before

    async def test_later_than_that_the_family_is_revoked(self, authorized_store: SqlStore) -> None:
        await authorized_store.rotate_refresh_token(FIRST.token_hash, APP.id, SECOND, NOW + 1, GRACE)
        recorded = record_changes(authorized_store)
        at = NOW + 1 + GRACE + 0.001
        again = await authorized_store.rotate_refresh_token(FIRST.token_hash, APP.id, SECOND, at, GRACE)
        assert again.outcome is RotationOutcome.REUSED
        assert recorded.events == [REVOKED]
        assert await revoked_at(authorized_store) == at
        newest = await authorized_store.rotate_refresh_token(SECOND.token_hash, APP.id, THIRD, at, GRACE)
        assert newest == Rotation(RotationOutcome.UNKNOWN)
        assert await authorized_store.find_refresh_token(THIRD.token_hash) is None

    async def test_within_the_grace_only_the_immediate_predecessor_repeats(self, authorized_store: SqlStore) -> None:
        await authorized_store.rotate_refresh_token(FIRST.token_hash, APP.id, SECOND, NOW + 1, GRACE)
        await authorized_store.rotate_refresh_token(SECOND.token_hash, APP.id, THIRD, NOW + 2, GRACE)
        repeated = await authorized_store.rotate_refresh_token(SECOND.token_hash, APP.id, THIRD, NOW + 3, GRACE)
        assert repeated.outcome is RotationOutcome.REPEATED
        reused = await authorized_store.rotate_refresh_token(FIRST.token_hash, APP.id, SECOND, NOW + 3, GRACE)
        assert reused.outcome is RotationOutcome.REUSED
        assert await revoked_at(authorized_store) == NOW + 3

    async def test_another_client_does_not_even_consume_it(self, authorized_store: SqlStore) -> None:
        stolen = await authorized_store.rotate_refresh_token(FIRST.token_hash, OTHER_APP.id, SECOND, NOW + 1, GRACE)
        assert stolen == Rotation(RotationOutcome.UNKNOWN)
        assert await authorized_store.find_refresh_token(FIRST.token_hash) == FIRST
        assert await authorized_store.find_refresh_token(SECOND.token_hash) is None
        assert await revoked_at(authorized_store) is None

    async def test_nor_is_another_client_s_reuse_held_against_the_family(self, authorized_store: SqlStore) -> None:
        await authorized_store.rotate_refresh_token(FIRST.token_hash, APP.id, SECOND, NOW + 1, GRACE)
        again = await authorized_store.rotate_refresh_token(FIRST.token_hash, OTHER_APP.id, SECOND, NOW + 500, GRACE)
        assert again == Rotation(RotationOutcome.UNKNOWN)
        assert await revoked_at(authorized_store) is None

    async def test_no_such_token_and_one_of_a_revoked_grant_are_unknown(self, authorized_store: SqlStore) -> None:
        unknown = await authorized_store.rotate_refresh_token("hash of nothing", APP.id, SECOND, NOW + 1, GRACE)
        assert unknown == Rotation(RotationOutcome.UNKNOWN)
        await authorized_store.revoke_grant(GRANT.id, NOW + 1)
        revoked = await authorized_store.rotate_refresh_token(FIRST.token_hash, APP.id, SECOND, NOW + 2, GRACE)
        assert revoked == Rotation(RotationOutcome.UNKNOWN)
        assert await authorized_store.find_refresh_token(SECOND.token_hash) is None

    async def test_an_expired_one_makes_no_successor(self, authorized_store: SqlStore) -> None:
        late = await authorized_store.rotate_refresh_token(FIRST.token_hash, APP.id, SECOND, FIRST.expires_at, GRACE)
        assert late == Rotation(RotationOutcome.EXPIRED)
        assert await authorized_store.find_refresh_token(SECOND.token_hash) is None
        assert await revoked_at(authorized_store) is None

    async def test_an_answer_lost_just_before_the_expiry_is_repeated_after_it(self, authorized_store: SqlStore) -> None:
        at = FIRST.expires_at - 1
        successor = msgspec.structs.replace(SECOND, created_at=at, expires_at=at + 1000)
        assert (
            await authorized_store.rotate_refresh_token(FIRST.token_hash, APP.id, successor, at, GRACE)
        ).outcome == "rotated"
        await authorized_store.prune_authorization(at + 5)
        assert (
            await authorized_store.rotate_refresh_token(FIRST.token_hash, APP.id, successor, at + 5, GRACE)
        ).outcome == "repeated"
        assert (
            await authorized_store.rotate_refresh_token(FIRST.token_hash, APP.id, successor, at + 50, GRACE)
        ).outcome == "expired"
