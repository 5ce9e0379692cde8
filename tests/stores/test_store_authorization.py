"""Grants, codes, refresh tokens and one-time links, one caller at a time."""

import msgspec
import pytest
from sqlalchemy.exc import IntegrityError

from domogate.domain.authorization import (
    LinkPurpose,
    OneTimeLink,
    RedeemedCode,
    Rotation,
    RotationOutcome,
)
from domogate.domain.events import ClientChanged, GrantRevoked, UserChanged
from domogate.domain.people import Client
from domogate.stores import SqlStore, authorization
from support.stores import (
    ANNA,
    APP,
    BRUNO,
    CARLA,
    NOW,
    OTHER_APP,
    ChangeRecorder,
    a_code,
    a_grant,
    a_refresh_token,
    a_session,
    an_id,
)

GRANT = a_grant(50)
CODE = a_code(GRANT, redirect_uri="https://app.example/back", code_challenge="challenge", nonce="any\0thing")
FIRST = a_refresh_token(GRANT, "first")
SECOND = a_refresh_token(GRANT, "second", created_at=NOW + 1, expires_at=NOW + 1001)
THIRD = a_refresh_token(GRANT, "third", created_at=NOW + 2, expires_at=NOW + 1002)
GRACE = 10.0
REVOKED = GrantRevoked(grant_id=GRANT.id)


@pytest.fixture
async def let_in(house: SqlStore) -> SqlStore:
    """The house with a grant and its first refresh token."""
    await house.save_client(OTHER_APP)
    await house.add_grant(GRANT)
    await house.add_refresh_token(FIRST)
    return house


async def listen(store: SqlStore) -> ChangeRecorder:
    recorded = ChangeRecorder()
    store.listen(recorded)
    return recorded


async def revoked_at(store: SqlStore) -> float | None:
    grant = await store.find_grant(GRANT.id)
    assert grant is not None
    return grant.revoked_at


class TestGrants:
    async def test_a_user_s_living_ones_are_listed_the_newest_first(self, house: SqlStore) -> None:
        old, new, newest = a_grant(50), a_grant(51, created_at=NOW + 1), a_grant(52, created_at=NOW + 2)
        for grant in (old, newest, new, a_grant(53, BRUNO)):
            await house.add_grant(grant)
        await house.revoke_grant(new.id, NOW + 3)
        assert await house.list_grants(ANNA.id) == [newest, old]
        assert await house.list_grants(CARLA.id) == []

    async def test_all_of_a_user_to_one_client_or_to_any_are_revoked(self, house: SqlStore) -> None:
        await house.save_client(OTHER_APP)
        for grant in (a_grant(50), a_grant(51), a_grant(52, client=OTHER_APP), a_grant(53, BRUNO)):
            await house.add_grant(grant)
        recorded = await listen(house)
        assert await house.revoke_grants(ANNA.id, APP.id, NOW + 1) == 2
        assert await house.list_grants(ANNA.id) == [a_grant(52, client=OTHER_APP)]
        assert await house.revoke_grants(ANNA.id, None, NOW + 2) == 1
        assert await house.revoke_grants(ANNA.id, None, NOW + 3) == 0
        assert recorded.events == [GrantRevoked(grant_id=an_id(number)) for number in (50, 51, 52)]
        assert await house.find_grant(an_id(50)) == a_grant(50, revoked_at=NOW + 1)
        assert await house.list_grants(BRUNO.id) == [a_grant(53, BRUNO)]

    async def test_how_the_person_had_proved_who_they_are_is_kept(self, house: SqlStore) -> None:
        grant = a_grant(50, factors=("pwd", "otp"))
        await house.add_grant(grant)
        await house.add_refresh_token(a_refresh_token(grant, "first"))
        assert await house.find_grant(grant.id) == grant
        rotation = await house.rotate_refresh_token("hash of first", APP.id, SECOND, NOW, GRACE)
        assert rotation == Rotation(RotationOutcome.ROTATED, grant)

    async def test_one_counts_only_once_its_code_is_redeemed(self, house: SqlStore) -> None:
        await house.add_code(GRANT, CODE)
        assert await house.list_grants(ANNA.id) == []
        await house.redeem_code(CODE.code_hash, NOW)
        assert await house.list_grants(ANNA.id) == [GRANT]

    async def test_one_that_was_never_redeemed_is_forgotten_with_its_code(self, house: SqlStore) -> None:
        redeemed, implicit = a_grant(51), a_grant(52)
        await house.add_code(GRANT, CODE)
        await house.add_code(redeemed, a_code(redeemed, "other"))
        await house.redeem_code("hash of other", NOW)
        await house.add_grant(implicit)
        recorded = await listen(house)
        await house.prune_authorization(CODE.expires_at + 3599)
        assert await house.find_grant(GRANT.id) == GRANT
        await house.prune_authorization(CODE.expires_at + 3600)
        assert await house.find_grant(GRANT.id) is None
        assert await house.redeem_code(CODE.code_hash, NOW) is None
        assert await house.list_grants(ANNA.id) == [redeemed, implicit]
        assert recorded.events == []

    async def test_they_are_forgotten_in_pieces(self, house: SqlStore, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(authorization, "PRUNE_CHUNK", 3)
        for number in range(50, 58):
            await house.add_code(a_grant(number), a_code(a_grant(number), str(number)))
        await house.prune_authorization(NOW + 60 + 3600)
        assert [await house.find_grant(an_id(number)) for number in range(50, 58)] == [None] * 8


class TestCodes:
    async def test_the_first_gets_all_that_was_kept_of_it(self, house: SqlStore) -> None:
        await house.add_code(GRANT, CODE)
        assert await house.find_grant(GRANT.id) == GRANT
        assert await house.redeem_code(CODE.code_hash, NOW) == RedeemedCode(CODE, GRANT, first=True)

    async def test_what_the_request_left_out_is_left_out(self, house: SqlStore) -> None:
        await house.add_code(GRANT, a_code(GRANT))
        assert await house.redeem_code("hash of code", NOW) == RedeemedCode(a_code(GRANT), GRANT, first=True)

    async def test_redeemed_again_its_grant_is_revoked(self, house: SqlStore) -> None:
        await house.add_code(GRANT, CODE)
        await house.redeem_code(CODE.code_hash, NOW)
        recorded = await listen(house)
        for later in (1, 2):
            again = await house.redeem_code(CODE.code_hash, NOW + later)
            assert again == RedeemedCode(CODE, msgspec.structs.replace(GRANT, revoked_at=NOW + 1), first=False)
        assert recorded.events == [REVOKED]
        assert await revoked_at(house) == NOW + 1

    async def test_an_expired_one_is_consumed_too(self, house: SqlStore) -> None:
        await house.add_code(GRANT, CODE)
        late = await house.redeem_code(CODE.code_hash, CODE.expires_at + 1)
        assert late == RedeemedCode(CODE, GRANT, first=True)
        again = await house.redeem_code(CODE.code_hash, CODE.expires_at + 2)
        assert again is not None
        assert not again.first

    async def test_one_of_a_revoked_grant_tells_that_it_is_revoked(self, house: SqlStore) -> None:
        await house.add_code(GRANT, CODE)
        await house.revoke_grant(GRANT.id, NOW + 1)
        redeemed = await house.redeem_code(CODE.code_hash, NOW + 2)
        assert redeemed == RedeemedCode(CODE, msgspec.structs.replace(GRANT, revoked_at=NOW + 1), first=True)

    async def test_an_unknown_one_is_nothing(self, house: SqlStore) -> None:
        assert await house.redeem_code("hash of nothing", NOW) is None

    @pytest.mark.parametrize("change", [{"grant_id": an_id(404)}, {"client_id": "other"}])
    async def test_one_of_another_grant_or_client_is_refused(self, house: SqlStore, change: dict[str, str]) -> None:
        with pytest.raises(ValueError, match="another"):
            await house.add_code(GRANT, msgspec.structs.replace(CODE, **change))
        assert await house.find_grant(GRANT.id) is None

    async def test_a_code_that_is_there_already_adds_no_grant(self, house: SqlStore) -> None:
        await house.add_code(GRANT, CODE)
        other = a_grant(51)
        with pytest.raises(IntegrityError):
            await house.add_code(other, a_code(other))
        assert await house.find_grant(other.id) is None


class TestRefreshTokens:
    async def test_one_is_found_with_its_client(self, let_in: SqlStore) -> None:
        assert await let_in.find_refresh_token(FIRST.token_hash) == FIRST
        assert await let_in.find_refresh_token("hash of nothing") is None

    async def test_it_needs_its_grant_and_that_grant_s_client(self, let_in: SqlStore) -> None:
        with pytest.raises(ValueError, match="there is no grant"):
            await let_in.add_refresh_token(a_refresh_token(a_grant(404), "x"))
        with pytest.raises(ValueError, match="another client"):
            await let_in.add_refresh_token(msgspec.structs.replace(SECOND, client_id=OTHER_APP.id))

    async def test_rotated_it_is_replaced_by_its_successor(self, let_in: SqlStore) -> None:
        rotation = await let_in.rotate_refresh_token(FIRST.token_hash, APP.id, SECOND, NOW + 1, GRACE)
        assert rotation == Rotation(RotationOutcome.ROTATED, GRANT)
        assert await let_in.find_refresh_token(FIRST.token_hash) == msgspec.structs.replace(FIRST, replaced_at=NOW + 1)
        assert await let_in.find_refresh_token(SECOND.token_hash) == SECOND

    async def test_the_successor_is_of_the_family_of_what_it_replaces(self, let_in: SqlStore) -> None:
        stray = msgspec.structs.replace(SECOND, grant_id=an_id(404), client_id="")
        await let_in.rotate_refresh_token(FIRST.token_hash, APP.id, stray, NOW + 1, GRACE)
        assert await let_in.find_refresh_token(SECOND.token_hash) == SECOND

    @pytest.mark.parametrize("later", [0.0, GRACE, -3.0])
    async def test_the_predecessor_again_within_the_grace_repeats(self, let_in: SqlStore, later: float) -> None:
        await let_in.rotate_refresh_token(FIRST.token_hash, APP.id, SECOND, NOW + 1, GRACE)
        before = await let_in.newest_cursor()
        again = await let_in.rotate_refresh_token(FIRST.token_hash, APP.id, SECOND, NOW + 1 + later, GRACE)
        assert again == Rotation(RotationOutcome.REPEATED, GRANT)
        assert await let_in.find_refresh_token(SECOND.token_hash) == SECOND
        assert await let_in.newest_cursor() == before

    async def test_later_than_that_the_family_is_revoked(self, let_in: SqlStore) -> None:
        await let_in.rotate_refresh_token(FIRST.token_hash, APP.id, SECOND, NOW + 1, GRACE)
        recorded = await listen(let_in)
        at = NOW + 1 + GRACE + 0.001
        again = await let_in.rotate_refresh_token(FIRST.token_hash, APP.id, SECOND, at, GRACE)
        assert again == Rotation(RotationOutcome.REUSED)
        assert recorded.events == [REVOKED]
        assert await revoked_at(let_in) == at
        newest = await let_in.rotate_refresh_token(SECOND.token_hash, APP.id, THIRD, at, GRACE)
        assert newest == Rotation(RotationOutcome.UNKNOWN)
        assert await let_in.find_refresh_token(THIRD.token_hash) is None

    async def test_within_the_grace_only_the_immediate_predecessor_repeats(self, let_in: SqlStore) -> None:
        await let_in.rotate_refresh_token(FIRST.token_hash, APP.id, SECOND, NOW + 1, GRACE)
        await let_in.rotate_refresh_token(SECOND.token_hash, APP.id, THIRD, NOW + 2, GRACE)
        repeated = await let_in.rotate_refresh_token(SECOND.token_hash, APP.id, THIRD, NOW + 3, GRACE)
        assert repeated.outcome is RotationOutcome.REPEATED
        reused = await let_in.rotate_refresh_token(FIRST.token_hash, APP.id, SECOND, NOW + 3, GRACE)
        assert reused.outcome is RotationOutcome.REUSED
        assert await revoked_at(let_in) == NOW + 3

    async def test_another_client_does_not_even_consume_it(self, let_in: SqlStore) -> None:
        stolen = await let_in.rotate_refresh_token(FIRST.token_hash, OTHER_APP.id, SECOND, NOW + 1, GRACE)
        assert stolen == Rotation(RotationOutcome.UNKNOWN)
        assert await let_in.find_refresh_token(FIRST.token_hash) == FIRST
        assert await let_in.find_refresh_token(SECOND.token_hash) is None
        assert await revoked_at(let_in) is None

    async def test_nor_is_another_client_s_reuse_held_against_the_family(self, let_in: SqlStore) -> None:
        await let_in.rotate_refresh_token(FIRST.token_hash, APP.id, SECOND, NOW + 1, GRACE)
        again = await let_in.rotate_refresh_token(FIRST.token_hash, OTHER_APP.id, SECOND, NOW + 500, GRACE)
        assert again == Rotation(RotationOutcome.UNKNOWN)
        assert await revoked_at(let_in) is None

    async def test_no_such_token_and_one_of_a_revoked_grant_are_unknown(self, let_in: SqlStore) -> None:
        unknown = await let_in.rotate_refresh_token("hash of nothing", APP.id, SECOND, NOW + 1, GRACE)
        assert unknown == Rotation(RotationOutcome.UNKNOWN)
        await let_in.revoke_grant(GRANT.id, NOW + 1)
        revoked = await let_in.rotate_refresh_token(FIRST.token_hash, APP.id, SECOND, NOW + 2, GRACE)
        assert revoked == Rotation(RotationOutcome.UNKNOWN)
        assert await let_in.find_refresh_token(SECOND.token_hash) is None

    async def test_an_expired_one_makes_no_successor(self, let_in: SqlStore) -> None:
        late = await let_in.rotate_refresh_token(FIRST.token_hash, APP.id, SECOND, FIRST.expires_at, GRACE)
        assert late == Rotation(RotationOutcome.EXPIRED)
        assert await let_in.find_refresh_token(SECOND.token_hash) is None
        assert await revoked_at(let_in) is None

    async def test_an_answer_lost_just_before_the_expiry_is_repeated_after_it(self, let_in: SqlStore) -> None:
        at = FIRST.expires_at - 1
        successor = msgspec.structs.replace(SECOND, created_at=at, expires_at=at + 1000)
        assert (await let_in.rotate_refresh_token(FIRST.token_hash, APP.id, successor, at, GRACE)).outcome == "rotated"
        await let_in.prune_authorization(at + 5)
        assert (await let_in.rotate_refresh_token(FIRST.token_hash, APP.id, successor, at + 5, GRACE)).outcome == "repeated"
        assert (await let_in.rotate_refresh_token(FIRST.token_hash, APP.id, successor, at + 50, GRACE)).outcome == "expired"


class TestLinks:
    LINK = OneTimeLink("hash of link", CARLA.id, LinkPurpose.PASSWORD, NOW + 100)

    async def test_one_is_seen_often_and_taken_once(self, house: SqlStore) -> None:
        await house.add_link(self.LINK)
        assert await house.find_link(self.LINK.token_hash) == self.LINK
        assert await house.take_link(self.LINK.token_hash) == self.LINK
        assert await house.take_link(self.LINK.token_hash) is None
        assert await house.find_link(self.LINK.token_hash) is None

    async def test_a_newer_one_of_the_same_purpose_takes_its_place(self, house: SqlStore) -> None:
        operator = OneTimeLink("hash of operator", CARLA.id, LinkPurpose.OPERATOR, NOW + 100)
        of_bruno = OneTimeLink("hash of Bruno's", BRUNO.id, LinkPurpose.PASSWORD, NOW + 100)
        newer = msgspec.structs.replace(self.LINK, token_hash="hash of newer")
        for link in (self.LINK, operator, of_bruno, newer):
            await house.add_link(link)
        assert await house.take_link(self.LINK.token_hash) is None
        for link in (operator, of_bruno, newer):
            assert await house.take_link(link.token_hash) == link

    async def test_it_needs_its_user(self, house: SqlStore) -> None:
        with pytest.raises(ValueError, match="there is no user"):
            await house.add_link(msgspec.structs.replace(self.LINK, user_id=an_id(404)))


class TestForgetting:
    async def test_what_has_expired_goes_and_what_could_be_presented_again_stays_an_hour(self, house: SqlStore) -> None:
        await house.add_code(GRANT, CODE)
        await house.redeem_code(CODE.code_hash, NOW)
        await house.add_refresh_token(a_refresh_token(GRANT, "short", expires_at=NOW + 60))
        await house.add_refresh_token(FIRST)
        await house.add_link(OneTimeLink("link", CARLA.id, LinkPurpose.PASSWORD, NOW + 60))
        await house.add_session(a_session(70, expires_at=NOW + 60))
        await house.add_session(a_session(71))
        await house.prune_authorization(NOW + 59)
        assert await house.find_link("link") is not None
        assert len(await house.list_sessions(ANNA.id)) == 2
        await house.prune_authorization(NOW + 60)
        assert await house.find_link("link") is None
        assert await house.list_sessions(ANNA.id) == [a_session(71)]
        await house.prune_authorization(NOW + 60 + 3599)
        assert await house.find_refresh_token("hash of short") is not None
        again = await house.redeem_code(CODE.code_hash, NOW + 60 + 3599)
        assert again is not None
        assert not again.first
        await house.prune_authorization(NOW + 60 + 3600)
        assert await house.find_refresh_token("hash of short") is None
        assert await house.find_refresh_token(FIRST.token_hash) == FIRST
        assert await house.redeem_code(CODE.code_hash, NOW + 60 + 3600) is None
        assert await house.find_grant(GRANT.id) is not None

    async def test_more_of_it_than_goes_at_once(self, house: SqlStore, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(authorization, "PRUNE_CHUNK", 3)
        for number in range(7):
            await house.add_session(a_session(70 + number, expires_at=NOW + number))
        await house.prune_authorization(NOW + 5)
        assert await house.list_sessions(ANNA.id) == [a_session(76, expires_at=NOW + 6)]


class TestDeletion:
    @pytest.fixture
    async def full(self, house: SqlStore) -> SqlStore:
        """Bruno has one of everything, and Anna too."""
        for number, user in ((50, BRUNO), (60, ANNA)):
            grant = a_grant(number, user)
            await house.add_code(grant, a_code(grant, user.name))
            await house.add_refresh_token(a_refresh_token(grant, user.name))
            await house.add_session(a_session(number, user))
            await house.add_link(OneTimeLink(f"link of {user.name}", user.id, LinkPurpose.PASSWORD, NOW + 100))
            await house.find_pseudonym(user.id)
        return house

    async def test_a_user_s_sessions_codes_tokens_and_links_go_with_them(self, full: SqlStore) -> None:
        recorded = await listen(full)
        assert await full.delete_user(BRUNO.id)
        assert recorded.events[1:] == [GrantRevoked(grant_id=an_id(50)), UserChanged(user_id=BRUNO.id)]
        assert await full.redeem_code("hash of Bruno", NOW) is None
        assert await full.find_refresh_token("hash of Bruno") is None
        assert await full.find_session("hash of cookie 50") is None
        assert await full.take_link("link of Bruno") is None
        assert await full.redeem_code("hash of Anna", NOW) is not None
        assert await full.find_refresh_token("hash of Anna") is not None
        assert await full.find_session("hash of cookie 60") is not None
        assert await full.take_link("link of Anna") is not None

    async def test_a_client_s_grants_codes_and_tokens_go_with_it(self, full: SqlStore) -> None:
        recorded = await listen(full)
        assert await full.delete_client(APP.id)
        assert sorted(recorded.events, key=repr) == sorted(
            [GrantRevoked(grant_id=an_id(50)), GrantRevoked(grant_id=an_id(60)), ClientChanged(client_id=APP.id)], key=repr
        )
        assert await full.find_client(APP.id) is None
        for user in (ANNA, BRUNO):
            assert await full.list_grants(user.id) == []
            assert await full.redeem_code(f"hash of {user.name}", NOW) is None
            assert await full.find_refresh_token(f"hash of {user.name}") is None
        assert len(await full.list_sessions(ANNA.id)) == 1

    async def test_false_for_an_unknown_client(self, house: SqlStore) -> None:
        await house.save_client(Client("other", "Another"))
        assert not await house.delete_client("nobody")
        assert len(await house.list_clients()) == 2
