"""The client of the gateway's own pages, and its grants, in the store (Decision 0076)."""

import pytest

from domogate.domain.estate import Estate
from domogate.domain.people import PAGES_CLIENT, Client
from domogate.services.people.pages_client import register_pages_client
from domogate.stores import SqlStore, authorization
from support.clocks import NOW
from support.stores import ANNA, APP, a_grant, a_session


@pytest.fixture
async def store(filled_store: SqlStore) -> SqlStore:
    await register_pages_client(filled_store, "https://home.example", "Aurora", enabled=True)
    return filled_store


async def pages_client(store: SqlStore) -> Client:
    client = await store.find_client(PAGES_CLIENT)
    assert client is not None
    return client


class TestTheClient:
    async def test_it_is_found_but_not_listed(self, store: SqlStore) -> None:
        assert (await pages_client(store)).redirect_uris == ("https://home.example/signed-in",)
        assert [client.id for client in await store.list_clients()] == [APP.id]
        assert [client.id for client in (await store.export_estate()).clients] == [APP.id]

    async def test_it_follows_the_address_of_the_gateway(self, store: SqlStore) -> None:
        await register_pages_client(store, "https://new.example", "Aurora", enabled=True)
        client = await pages_client(store)
        assert client.redirect_uris == ("https://new.example/signed-in",)
        assert client.post_logout_redirect_uris == ("https://new.example/",)

    async def test_no_import_removes_or_changes_it(self, store: SqlStore) -> None:
        before = await pages_client(store)
        await store.import_estate(Estate(), prune=True)
        assert await pages_client(store) == before
        assert await store.list_clients() == []

    async def test_switching_the_pages_off_ends_its_grants(self, store: SqlStore) -> None:
        grant = a_grant(50, ANNA, await pages_client(store))
        await store.add_grant(grant)
        await register_pages_client(store, "https://home.example", "Aurora", enabled=False)
        assert await store.find_client(PAGES_CLIENT) is None
        assert await store.find_grant(grant.id) is None


class TestItsGrants:
    async def test_they_are_not_among_the_applications_of_a_person(self, store: SqlStore) -> None:
        await store.add_grant(a_grant(50, ANNA, await pages_client(store)))
        before = await store.list_grants(ANNA.id)
        await store.add_grant(a_grant(51, ANNA, APP))
        assert PAGES_CLIENT not in {grant.client_id for grant in before}
        assert len(await store.list_grants(ANNA.id)) == len(before) + 1

    async def test_they_end_with_the_session_that_they_came_from(self, store: SqlStore) -> None:
        ended, kept = a_session(70, auth_time=NOW + 1), a_session(71, auth_time=NOW + 2)
        pages = await pages_client(store)
        grants = {
            "ended": a_grant(50, ANNA, pages, auth_time=NOW + 1),
            "other session": a_grant(51, ANNA, pages, auth_time=NOW + 2),
            "other client": a_grant(52, ANNA, APP, auth_time=NOW + 1),
        }
        for session in (ended, kept):
            await store.add_session(session)
        for grant in grants.values():
            await store.add_grant(grant)
        await store.end_session(ended.id)
        found = {name: await store.find_grant(grant.id) for name, grant in grants.items()}
        assert {name for name, grant in found.items() if grant is None or grant.revoked_at is not None} == {"ended"}

    async def test_they_end_when_the_expired_session_is_removed(self, store: SqlStore, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(authorization, "PRUNE_CHUNK", 2)
        pages = await pages_client(store)
        expired = [a_grant(50 + number, ANNA, pages, auth_time=NOW + 1) for number in range(3)]
        kept = [a_grant(60, ANNA, pages, auth_time=NOW + 2), a_grant(61, ANNA, APP, auth_time=NOW + 1)]
        await store.add_session(a_session(70, auth_time=NOW + 1, expires_at=NOW + 60))
        await store.add_session(a_session(71, auth_time=NOW + 2, expires_at=NOW + 61))
        for grant in (*expired, *kept):
            await store.add_grant(grant)
        await store.prune_authorization(NOW + 60)
        found = [await store.find_grant(grant.id) for grant in (*expired, *kept)]
        assert [grant is not None and grant.revoked_at is not None for grant in found] == [True, True, True, False, False]

    async def test_they_end_when_all_other_sessions_end(self, store: SqlStore) -> None:
        here, there = a_session(70, auth_time=NOW + 1), a_session(71, auth_time=NOW + 2)
        grant = a_grant(50, ANNA, await pages_client(store), auth_time=NOW + 2)
        for session in (here, there):
            await store.add_session(session)
        await store.add_grant(grant)
        assert await store.end_sessions(ANNA.id, keep=here.id) == 1
        found = await store.find_grant(grant.id)
        assert found is not None
        assert found.revoked_at is not None
