"""Fifty callers use the same code, refresh token or link, in one process and in two: exactly one succeeds."""

import asyncio
from collections import Counter

import pytest

from domogate.domain.authorization import LinkPurpose, OneTimeLink, RotationOutcome
from domogate.domain.events import GrantRevoked
from domogate.stores import SqlStore
from support.clocks import NOW
from support.stores import ANNA, APP, CARLA, HOUSE, SMALL, ChangeRecorder, OpenStore, a_code, a_grant, a_refresh_token, an_id

CALLERS = 50
GRANT = a_grant(50)
FIRST = a_refresh_token(GRANT, "first")


@pytest.fixture(params=[1, 2], ids=["one process", "two processes"])
async def stores(request: pytest.FixtureRequest, open_store: OpenStore, database_url: str) -> list[SqlStore]:
    """One store for each caller. Each store has its own writer, like another process."""
    opened = [await open_store(database_url) for _ in range(request.param)]
    await opened[0].import_estate(SMALL, prune=False)
    return [opened[number % len(opened)] for number in range(CALLERS)]


async def hear_revocations(store: SqlStore, recorded: ChangeRecorder) -> list[object]:
    """Wait until the store has received all changes of all processes."""
    newest = await store.newest_cursor()
    async with asyncio.timeout(30):
        while not recorded.cursors or recorded.cursors[-1] < newest:
            await asyncio.sleep(0.01)
    return [event for event in recorded.events if isinstance(event, GrantRevoked)]


class TestCodes:
    async def test_one_of_fifty_is_first_and_the_grant_is_revoked_once(self, stores: list[SqlStore]) -> None:
        recorded = ChangeRecorder()
        stores[0].listen(recorded)
        await stores[0].add_code(GRANT, a_code(GRANT))
        redeemed = await asyncio.gather(*(store.redeem_code("hash of code", NOW + 1) for store in stores))
        assert Counter(each is not None and each.first for each in redeemed) == {True: 1, False: CALLERS - 1}
        assert all(each is not None and (each.first or each.grant.revoked_at == NOW + 1) for each in redeemed)
        assert await hear_revocations(stores[0], recorded) == [GrantRevoked(grant_id=GRANT.id)]

    async def test_fifty_codes_do_not_stand_in_each_other_s_way(self, stores: list[SqlStore]) -> None:
        grants = [a_grant(100 + number) for number in range(CALLERS)]
        await asyncio.gather(
            *(store.add_code(grant, a_code(grant, grant.id)) for store, grant in zip(stores, grants, strict=True))
        )
        redeemed = await asyncio.gather(
            *(store.redeem_code(f"hash of {grant.id}", NOW) for store, grant in zip(reversed(stores), grants, strict=True))
        )
        assert [each is not None and each.first for each in redeemed] == [True] * CALLERS
        assert len(await stores[0].list_grants(ANNA.id)) == CALLERS


class TestRefreshTokens:
    async def test_one_of_fifty_rotates_and_the_others_repeat(self, stores: list[SqlStore]) -> None:
        await stores[0].add_grant(GRANT)
        await stores[0].add_refresh_token(FIRST)
        successor = a_refresh_token(GRANT, "second", created_at=NOW + 1)
        rotations = await asyncio.gather(
            *(store.rotate_refresh_token(FIRST.token_hash, APP.id, successor, NOW + 1, 10.0) for store in stores)
        )
        assert Counter(rotation.outcome for rotation in rotations) == {
            RotationOutcome.ROTATED: 1,
            RotationOutcome.REPEATED: CALLERS - 1,
        }
        assert {rotation.grant for rotation in rotations} == {GRANT}
        assert await stores[-1].find_refresh_token("hash of second") == successor

    async def test_only_one_successor_is_made_though_each_brings_its_own(self, stores: list[SqlStore]) -> None:
        await stores[0].add_grant(GRANT)
        await stores[0].add_refresh_token(FIRST)
        successors = [a_refresh_token(GRANT, f"second of {number}") for number in range(CALLERS)]
        rotations = await asyncio.gather(
            *(
                store.rotate_refresh_token(FIRST.token_hash, APP.id, successor, NOW + 1, 10.0)
                for store, successor in zip(stores, successors, strict=True)
            )
        )
        kept = [await stores[0].find_refresh_token(successor.token_hash) for successor in successors]
        assert [each is not None for each in kept] == [each.outcome is RotationOutcome.ROTATED for each in rotations]
        assert sum(each is not None for each in kept) == 1

    async def test_without_grace_one_rotates_and_one_tells_of_reuse(self, stores: list[SqlStore]) -> None:
        await stores[0].add_grant(GRANT)
        await stores[0].add_refresh_token(FIRST)
        recorded = ChangeRecorder()
        stores[-1].listen(recorded)
        successor = a_refresh_token(GRANT, "second")
        rotations = await asyncio.gather(
            *(store.rotate_refresh_token(FIRST.token_hash, APP.id, successor, NOW + 1, -1.0) for store in stores)
        )
        assert Counter(rotation.outcome for rotation in rotations) == {
            RotationOutcome.ROTATED: 1,
            RotationOutcome.REUSED: 1,
            RotationOutcome.UNKNOWN: CALLERS - 2,
        }
        assert await hear_revocations(stores[-1], recorded) == [GrantRevoked(grant_id=GRANT.id)]


class TestLinksAndPeople:
    async def test_one_of_fifty_gets_the_link(self, stores: list[SqlStore]) -> None:
        link = OneTimeLink("hash of link", CARLA.id, LinkPurpose.PASSWORD, NOW + 100)
        await stores[0].add_link(link)
        taken = await asyncio.gather(*(store.take_link(link.token_hash) for store in stores))
        assert Counter(taken) == {link: 1, None: CALLERS - 1}

    async def test_one_of_fifty_revokes_a_user_s_grants(self, stores: list[SqlStore]) -> None:
        for number in range(3):
            await stores[0].add_grant(a_grant(100 + number))
        revoked = await asyncio.gather(*(store.revoke_grants(ANNA.id, None, NOW + 1) for store in stores))
        assert Counter(revoked) == {3: 1, 0: CALLERS - 1}

    async def test_one_of_fifty_invites(self, stores: list[SqlStore]) -> None:
        invited = await asyncio.gather(*(store.invite(HOUSE.id, "dora@example.com") for store in stores))
        assert Counter(invited) == {True: 1, False: CALLERS - 1}
        stored = await stores[0].find_plant(HOUSE.id)
        assert stored is not None
        assert [each.email for each in stored.plant.invited] == ["Carla@Example.com", "dora@example.com"]

    async def test_a_family_that_ends_while_it_rotates_stays_ended(self, stores: list[SqlStore]) -> None:
        await stores[0].add_grant(GRANT)
        await stores[0].add_refresh_token(FIRST)

        async def refresh(store: SqlStore, number: int) -> None:
            successor = a_refresh_token(GRANT, f"of {number}")
            await store.rotate_refresh_token(FIRST.token_hash, APP.id, successor, NOW + 1, 10.0)

        await asyncio.gather(
            *(refresh(store, number) for number, store in enumerate(stores)), stores[-1].revoke_grant(GRANT.id, NOW + 1)
        )
        for number in range(CALLERS):
            after = a_refresh_token(GRANT, f"after {number}")
            rotation = await stores[0].rotate_refresh_token(f"hash of of {number}", APP.id, after, NOW + 2, 10.0)
            assert rotation.outcome is RotationOutcome.UNKNOWN
        assert await stores[0].find_grant(an_id(50)) == a_grant(50, revoked_at=NOW + 1)
