"""Concurrent rotations and uses of tickets share statements. Each caller gets the answer that it would get alone."""

import asyncio
import random
from collections.abc import Awaitable, Sequence

import pytest
from sqlalchemy.exc import IntegrityError

from domogate.domain.authorization import RefreshToken, Rotation, RotationOutcome
from domogate.domain.people import Grant
from domogate.stores import SqlStore
from domogate.stores.refresh_tokens import RotationRequest, rotate_refresh_tokens
from domogate.stores.subject import writes
from support.clocks import NOW
from support.stores import APP, OTHER_APP, SMALL, HeldStore, OpenStore, a_grant, a_refresh_token, observe_statements

GRACE = 10.0
CALLERS = 8
ROTATED, REPEATED, REUSED = RotationOutcome.ROTATED, RotationOutcome.REPEATED, RotationOutcome.REUSED
UNKNOWN = RotationOutcome.UNKNOWN

rotate_all = writes(rotate_refresh_tokens)


@pytest.fixture
async def held(open_store: OpenStore, database_url: str) -> HeldStore:
    store = await open_store(database_url, HeldStore, gateway=False)
    assert isinstance(store, HeldStore)
    await store.import_estate(SMALL, prune=False)
    return store


async def in_one_commit(store: HeldStore, *calls: Awaitable[object]) -> list[object]:
    """Make all calls while another commit waits, so that they share the next commit."""
    before = store.commits
    other = await store.hold(store.prune_tickets(0.0))
    waiting = [asyncio.ensure_future(call) for call in calls]
    await asyncio.sleep(0)  # they are queued
    store.released.set()
    await other
    answers: list[object] = await asyncio.gather(*waiting, return_exceptions=True)
    assert store.commits - before == 2
    return answers


async def add_family(store: SqlStore, number: int) -> Grant:
    grant = a_grant(number)
    await store.add_grant(grant)
    await store.add_refresh_token(a_refresh_token(grant, f"{number}/0"))
    return grant


def present(number: int, presented: int, successor: str, at: float = NOW + 1, client_id: str = APP.id) -> RotationRequest:
    """The request to replace the token `presented` of the family `number`."""
    made = RefreshToken(f"hash of {number}/{successor}", a_grant(number).id, client_id, at, at + 1000)
    return RotationRequest(f"hash of {number}/{presented}", client_id, made, at, GRACE)


def outcomes(rotations: Sequence[Rotation]) -> list[RotationOutcome]:
    return [rotation.outcome for rotation in rotations]


class TestRotations:
    async def test_the_rotations_of_many_callers_need_few_statements(self, held: HeldStore) -> None:
        for number in range(100, 100 + CALLERS):
            await add_family(held, number)
        texts: list[str] = []
        with observe_statements(lambda _cursor, text, _parameters: texts.append(text)):
            answers = await in_one_commit(
                held, *(held.rotate_refresh_token(*present(number, 0, "1")) for number in range(100, 100 + CALLERS))
            )
        assert [answer.outcome for answer in answers if isinstance(answer, Rotation)] == [ROTATED] * CALLERS
        assert len([text for text in texts if "refresh_tokens" in text]) == 3
        assert [await held.find_refresh_token(f"hash of {number}/1") is not None for number in range(100, 108)] == [True] * 8

    @pytest.mark.parametrize("with_tickets", [False, True])
    async def test_one_that_fails_does_not_affect_the_others(self, held: HeldStore, with_tickets: bool) -> None:
        for number in range(100, 103):
            await add_family(held, number)
        taken = present(101, 0, "0")  # The hash of the successor is already in the table.
        more = [held.use_ticket(ticket, NOW) for ticket in ("one", "two", "one")] if with_tickets else []
        answers = await in_one_commit(
            held,
            held.rotate_refresh_token(*present(100, 0, "1")),
            held.rotate_refresh_token(*taken),
            held.rotate_refresh_token(*present(102, 0, "1")),
            *more,
        )
        assert [getattr(answer, "outcome", type(answer)) for answer in answers[:3]] == [ROTATED, IntegrityError, ROTATED]
        assert answers[3:] == [True, True, False][: len(more)]
        assert await held.find_refresh_token("hash of 100/1") is not None
        assert await held.find_refresh_token("hash of 102/1") is not None
        unchanged = await held.find_refresh_token("hash of 101/0")
        assert unchanged is not None
        assert unchanged.replaced_at is None

    async def test_the_same_token_twice_is_rotated_once(self, filled_store: SqlStore) -> None:
        grant = await add_family(filled_store, 100)
        rotations = await rotate_all(filled_store, [present(100, 0, "1"), present(100, 0, "1")])
        assert rotations == [Rotation(ROTATED, grant), Rotation(REPEATED, grant)]

    async def test_an_old_token_after_its_successor_was_used_ends_the_grant(self, filled_store: SqlStore) -> None:
        await add_family(filled_store, 100)
        await rotate_all(filled_store, [present(100, 0, "1")])
        rotations = await rotate_all(filled_store, [present(100, 1, "2"), present(100, 0, "1"), present(100, 2, "3")])
        assert outcomes(rotations) == [ROTATED, REUSED, UNKNOWN]
        stored = await filled_store.find_grant(a_grant(100).id)
        assert stored == a_grant(100, revoked_at=NOW + 1)

    async def test_a_token_that_was_just_made_can_be_used(self, filled_store: SqlStore) -> None:
        await add_family(filled_store, 100)
        rotations = await rotate_all(filled_store, [present(100, 0, "1"), present(100, 1, "2"), present(100, 3, "4")])
        assert outcomes(rotations) == [ROTATED, ROTATED, UNKNOWN]
        assert outcomes(await rotate_all(filled_store, [present(100, 2, "3")])) == [ROTATED]

    @pytest.mark.parametrize("seed", range(12))
    async def test_together_is_the_same_as_one_after_the_other(self, filled_store: SqlStore, seed: int) -> None:
        chance = random.Random(seed)
        for number in (100, 200):
            await add_family(filled_store, number)
        asked = [
            (chance.randrange(4), NOW + step * chance.choice([0, 4, 300]), chance.choice([APP, APP, APP, OTHER_APP]).id)
            for step in range(12)
        ]

        def requests(family: int) -> list[RotationRequest]:
            return [present(family, token, f"{token + 1}", at, client_id) for token, at, client_id in asked]

        together = await rotate_all(filled_store, requests(100))
        alone = [await filled_store.rotate_refresh_token(*request) for request in requests(200)]
        assert outcomes(together) == outcomes(alone)
        for token in range(6):
            made = [await filled_store.find_refresh_token(f"hash of {family}/{token}") for family in (100, 200)]
            first, second = [each and (each.created_at, each.expires_at, each.replaced_at) for each in made]
            assert first == second


class TestTickets:
    async def test_each_ticket_is_used_once_in_a_shared_commit(self, held: HeldStore) -> None:
        assert await held.use_ticket("old", NOW)
        tickets = ["one", "two", "one", "old", "three", "two"]
        texts: list[str] = []
        with observe_statements(lambda _cursor, text, _parameters: texts.append(text)):
            answers = await in_one_commit(held, *(held.use_ticket(ticket, NOW) for ticket in tickets))
        assert answers == [True, True, False, False, True, False]
        assert [text.split()[0] for text in texts if "used_tickets" in text][1:] == ["SELECT", "INSERT"]
        assert [await held.use_ticket(ticket, NOW) for ticket in ("one", "two", "three")] == [False] * 3
