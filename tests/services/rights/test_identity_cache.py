"""The identity cache returns the current clients and people, even if another process changed them."""

from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from domogate.domain.ids import Id
from domogate.domain.people import Client, User
from domogate.services.rights.identity_cache import IdentityCache
from domogate.stores import SqlStore, sqlite_url
from support.clocks import NOW, ManualClock

ANNA = User(Id("00000000-0000-4000-8000-000000000001"), "anna@example.com")
APP = Client("app", "App")


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqlStore]:
    store = SqlStore(sqlite_url(tmp_path / "known.sqlite3"), clock=ManualClock(NOW), gateway=False)
    await store.start()
    yield store
    await store.stop()


def identity_cache(store: SqlStore) -> IdentityCache:
    cache = IdentityCache(store)
    store.listen(cache.apply)
    return cache


class TestKnown:
    async def test_a_client_that_changed_is_known_as_it_is_now(self, store: SqlStore) -> None:
        known = identity_cache(store)
        await store.save_client(APP)
        assert await known.find_client("app") == APP
        renamed = msgspec.structs.replace(APP, name="Renamed")
        await store.save_client(renamed)
        assert await known.find_client("app") == renamed
        await store.delete_client("app")
        assert await known.find_client("app") is None

    async def test_a_person_who_changed_is_known_as_they_are_now(self, store: SqlStore) -> None:
        known = identity_cache(store)
        await store.save_user(ANNA)
        assert await known.find_user(ANNA.id) == ANNA
        renamed = msgspec.structs.replace(ANNA, name="Anna B.")
        await store.save_user(renamed)
        assert await known.find_user(ANNA.id) == renamed
        await store.delete_user(ANNA.id)
        assert await known.find_user(ANNA.id) is None

    async def test_a_user_or_client_that_was_added_after_a_search_is_found(self, store: SqlStore) -> None:
        known = identity_cache(store)
        assert await known.find_client("app") is None
        assert await known.find_user(ANNA.id) is None
        await store.save_client(APP)
        await store.save_user(ANNA)
        assert await known.find_client("app") == APP
        assert await known.find_user(ANNA.id) == ANNA

    async def test_what_is_known_is_not_read_again(self, store: SqlStore, monkeypatch: pytest.MonkeyPatch) -> None:
        known = identity_cache(store)
        await store.save_user(ANNA)
        await known.find_user(ANNA.id)

        async def fail(_: Id) -> None:
            raise AssertionError("read again")

        monkeypatch.setattr(store, "find_user", fail)
        assert await known.find_user(ANNA.id) == ANNA
