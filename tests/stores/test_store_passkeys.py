"""Passkeys in the store: added, used and removed in one write each."""

import msgspec
import pytest

from domogate.domain.events import Change, UserChanged
from domogate.domain.passkeys import MOST_PASSKEYS, Passkey, PasskeyUse, UsedChallenge
from domogate.stores import SqlStore
from support.clocks import NOW
from support.stores import ANNA, BRUNO, SMALL, a_passkey, a_session

SESSION = a_session(70)


def a_challenge(name: str = "challenge") -> UsedChallenge:
    return UsedChallenge(name, NOW + 300)


async def add(store: SqlStore, passkey: Passkey, challenge: str | None = None) -> bool:
    return await store.add_passkey(passkey, a_challenge(challenge or passkey.id), SESSION.id)


async def use(store: SqlStore, sign_count: int, challenge: str, number: int = 1) -> bool:
    session = a_session(100 + len(await store.list_sessions(ANNA.id)))
    return await store.add_session(session, passkey=PasskeyUse(a_passkey(number).id, sign_count, a_challenge(challenge)))


@pytest.fixture
async def store(filled_store: SqlStore) -> SqlStore:
    assert await filled_store.add_session(SESSION)
    return filled_store


class TestAdding:
    async def test_it_is_found_by_its_credential_and_its_user(self, store: SqlStore) -> None:
        assert await add(store, a_passkey(2))
        assert await add(store, a_passkey(1))
        assert await store.find_passkey("credential-2") == a_passkey(2)
        assert await store.list_passkeys(ANNA.id) == [a_passkey(1), a_passkey(2)]
        assert await store.find_passkey("credential-3") is None
        assert await store.list_passkeys(BRUNO.id) == []

    async def test_its_user_has_a_second_factor_until_it_is_removed(self, store: SqlStore) -> None:
        async def has_passkey() -> list[bool]:
            by_id, by_email = await store.find_user(ANNA.id), await store.find_user_by_email(ANNA.email)
            listed = next(user for user in await store.list_users() if user.id == ANNA.id)
            return [user is not None and user.has_passkey for user in (by_id, by_email, listed)]

        assert await has_passkey() == [False] * 3
        await add(store, a_passkey(1))
        assert await has_passkey() == [True] * 3
        # A change of the user keeps them.
        changed = await store.change_user(ANNA.id, lambda user: msgspec.structs.replace(user, name="Another"))
        assert changed is not None
        assert changed.has_second_factor
        assert await has_passkey() == [True] * 3
        assert await store.remove_passkeys(ANNA.id) == 1
        assert await has_passkey() == [False] * 3

    async def test_a_challenge_works_once(self, store: SqlStore) -> None:
        assert await add(store, a_passkey(1), "same")
        assert not await add(store, a_passkey(2), "same")

    async def test_a_credential_is_added_once(self, store: SqlStore) -> None:
        assert await add(store, a_passkey(1))
        assert not await add(store, a_passkey(2, credential_id="credential-1"))

    async def test_needs_a_session_of_the_user(self, store: SqlStore) -> None:
        assert not await add(store, a_passkey(1, BRUNO))
        await store.end_session(SESSION.id)
        assert not await add(store, a_passkey(1))
        assert await store.list_passkeys(ANNA.id) == []

    async def test_there_is_an_end(self, store: SqlStore) -> None:
        added = [await add(store, a_passkey(number)) for number in range(MOST_PASSKEYS + 1)]
        assert added == [True] * MOST_PASSKEYS + [False]

    async def test_caches_of_users_learn_of_it(self, store: SqlStore) -> None:
        seen: list[Change] = []
        store.listen(seen.extend)
        await add(store, a_passkey(1))
        await store.remove_passkeys(ANNA.id, a_passkey(1).id)
        await store.remove_passkeys(ANNA.id, a_passkey(1).id)
        assert [change.event for change in seen] == [UserChanged(user_id=ANNA.id)] * 2


class TestUsing:
    @pytest.mark.parametrize(
        ("counts", "outcomes"), [((0, 0, 3, 0), (True, True, True, False)), ((5, 5, 6), (True, False, True))]
    )
    async def test_its_count_never_goes_back(
        self, store: SqlStore, counts: tuple[int, ...], outcomes: tuple[bool, ...]
    ) -> None:
        await add(store, a_passkey(1))
        assert tuple([await use(store, count, f"{place}") for place, count in enumerate(counts)]) == outcomes
        found = await store.find_passkey("credential-1")
        assert found is not None
        assert (found.sign_count, found.used_at) == (max(counts), SESSION.created_at)
        assert len(await store.list_sessions(ANNA.id)) == 1 + sum(outcomes)

    async def test_a_challenge_works_once(self, store: SqlStore) -> None:
        await add(store, a_passkey(1))
        assert await use(store, 1, "same")
        assert not await use(store, 2, "same")

    async def test_a_removed_one_starts_no_session(self, store: SqlStore) -> None:
        await add(store, a_passkey(1))
        await store.remove_passkeys(ANNA.id)
        assert not await use(store, 1, "challenge")
        assert len(await store.list_sessions(ANNA.id)) == 1


class TestKeeping:
    async def test_it_is_renamed_by_its_user_only(self, store: SqlStore) -> None:
        await add(store, a_passkey(1))
        assert not await store.rename_passkey(BRUNO.id, a_passkey(1).id, "stolen")
        assert await store.rename_passkey(ANNA.id, a_passkey(1).id, "Old phone")
        assert [one.name for one in await store.list_passkeys(ANNA.id)] == ["Old phone"]

    async def test_one_or_all_are_removed(self, store: SqlStore) -> None:
        for number in range(3):
            await add(store, a_passkey(number))
        assert await store.remove_passkeys(BRUNO.id, a_passkey(0).id) == 0
        assert await store.remove_passkeys(ANNA.id, a_passkey(0).id) == 1
        assert await store.remove_passkeys(ANNA.id) == 2

    async def test_an_import_keeps_them(self, store: SqlStore) -> None:
        await add(store, a_passkey(1))
        await store.import_estate(SMALL, prune=True)
        assert await store.list_passkeys(ANNA.id) == [a_passkey(1)]

    async def test_they_are_deleted_with_their_user(self, store: SqlStore) -> None:
        session = msgspec.structs.replace(a_session(71), user_id=BRUNO.id)
        await store.add_session(session)
        await store.add_passkey(a_passkey(1, BRUNO), a_challenge(), session.id)
        await store.delete_user(BRUNO.id)
        assert await store.find_passkey("credential-1") is None
