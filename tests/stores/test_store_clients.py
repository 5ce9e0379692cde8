"""Clients, grants and subscriptions in the store."""

import asyncio

import msgspec
import pytest

from domogate.domain.events import (
    ClientChanged,
    GrantRevoked,
    SubscriptionChanged,
)
from domogate.domain.people import Client
from domogate.ports import Usage
from domogate.stores import SqlStore
from support.clocks import NOW
from support.stores import (
    APP,
    GRANT,
    KEY,
    OpenStore,
    an_id,
    record_changes,
)


class TestChangingClients:
    @pytest.fixture
    async def both(self, open_store: OpenStore, filled_store: SqlStore, database_url: str) -> list[SqlStore]:
        """Two processes on one database."""
        return [filled_store, await open_store(database_url)]

    async def test_two_processes_that_change_different_facts_lose_none(self, both: list[SqlStore]) -> None:
        def longer(client: Client) -> Client:
            return msgspec.structs.replace(client, name=f"{client.name}!")

        def wider(client: Client) -> Client:
            return msgspec.structs.replace(client, scopes=(*client.scopes, f"scope.{len(client.scopes)}"))

        await asyncio.gather(*(both[n % 2].change_client(APP.id, (longer, wider)[n // 2 % 2]) for n in range(20)))
        changed = await both[0].find_client(APP.id)
        assert changed is not None
        assert changed.name == APP.name + "!" * 10
        assert len(changed.scopes) == len(APP.scopes) + 10

    async def test_no_change_is_none(self, filled_store: SqlStore) -> None:
        recorded = record_changes(filled_store)
        assert await filled_store.change_client(APP.id, lambda client: client) == APP
        assert recorded.events == []

    async def test_what_is_gone_is_not_brought_back(self, filled_store: SqlStore) -> None:
        assert await filled_store.delete_client(APP.id)
        assert await filled_store.change_client(APP.id, lambda client: msgspec.structs.replace(client, name="Again")) is None
        assert await filled_store.list_clients() == []

    async def test_what_the_change_raises_is_raised_and_nothing_is_changed(self, filled_store: SqlStore) -> None:
        def refuse(client: Client) -> Client:
            raise LookupError(client.id)

        with pytest.raises(LookupError):
            await filled_store.change_client(APP.id, refuse)
        with pytest.raises(ValueError, match="id of a client cannot be changed"):
            await filled_store.change_client(APP.id, lambda client: msgspec.structs.replace(client, id="other"))
        assert await filled_store.list_clients() == [APP]

    async def test_of_two_that_add_one_id_at_once_one_succeeds(self, both: list[SqlStore]) -> None:
        wanted = [Client("panel", f"Panel {number}") for number in range(8)]
        added = await asyncio.gather(*(both[number % 2].add_client(client) for number, client in enumerate(wanted)))
        assert added.count(True) == 1
        assert await both[0].find_client("panel") == wanted[added.index(True)]


class TestClientsAndGrants:
    async def test_a_client_is_saved_and_replaced(self, filled_store: SqlStore) -> None:
        recorded = record_changes(filled_store)
        changed = msgspec.structs.replace(
            APP,
            name="Another",
            origins=(),
            access_token_everywhere=True,
            pkce_exempt=True,
            post_logout_redirect_uris=("https://app.example/bye",),
        )
        await filled_store.save_client(changed)
        assert await filled_store.find_client(APP.id) == changed
        assert await filled_store.list_clients() == [changed]
        assert await filled_store.find_client("nobody") is None
        assert recorded.events == [ClientChanged(client_id=APP.id)]

    async def test_a_grant_is_revoked_once(self, filled_store: SqlStore) -> None:
        await filled_store.add_grant(GRANT)
        assert await filled_store.find_grant(GRANT.id) == GRANT
        recorded = record_changes(filled_store)
        assert await filled_store.revoke_grant(GRANT.id, NOW + 1)
        assert not await filled_store.revoke_grant(GRANT.id, NOW + 2)
        assert await filled_store.find_grant(GRANT.id) == msgspec.structs.replace(GRANT, revoked_at=NOW + 1)
        assert recorded.events == [GrantRevoked(grant_id=GRANT.id)]
        assert not await filled_store.revoke_grant(an_id(404), NOW)
        assert await filled_store.find_grant(an_id(404)) is None

    @pytest.mark.parametrize("change", [{"user_id": an_id(404)}, {"client_id": "nobody"}])
    async def test_a_grant_needs_its_user_and_client(self, filled_store: SqlStore, change: dict[str, str]) -> None:
        with pytest.raises(ValueError, match="there is no"):
            await filled_store.add_grant(msgspec.structs.replace(GRANT, **change))


class TestSubscriptions:
    async def test_a_key_is_added_found_by_its_hash_and_revoked_once(self, filled_store: SqlStore) -> None:
        second = msgspec.structs.replace(KEY, id=an_id(92), key_hash="second", created_at=NOW + 1, expires_at=NOW + 9)
        recorded = record_changes(filled_store)
        await filled_store.add_subscription(second)
        assert await filled_store.list_subscriptions() == [KEY, second]
        assert await filled_store.find_subscription("second") == second
        assert await filled_store.find_subscription("none") is None
        assert await filled_store.revoke_subscription(second.id, NOW + 2)
        assert await filled_store.revoke_subscription(second.id, NOW + 3) is False
        assert await filled_store.find_subscription("second") == msgspec.structs.replace(second, revoked_at=NOW + 2)
        assert await filled_store.revoke_subscription(an_id(404), NOW) is None
        assert recorded.events == [SubscriptionChanged(key_hash="second")] * 2

    async def test_the_same_key_twice_is_refused(self, filled_store: SqlStore) -> None:
        with pytest.raises(ValueError, match="in use"):
            await filled_store.add_subscription(msgspec.structs.replace(KEY, id=an_id(92)))

    async def test_usage_adds_up_by_day(self, filled_store: SqlStore) -> None:
        await asyncio.gather(
            filled_store.add_usage(
                [Usage(KEY.id, "2026-11-15", 2), Usage(KEY.id, "2026-11-15", 3), Usage(KEY.id, "2026-11-16", 1)]
            ),
            filled_store.add_usage([Usage(KEY.id, "2026-11-15", 4), Usage(an_id(404), "2026-11-15", 1)]),
            filled_store.add_usage([]),
        )
        assert await filled_store.find_usage(KEY.id, "2026-11-15") == 9
        assert await filled_store.find_usage(KEY.id, "2026-11-16") == 1
        assert await filled_store.find_usage(KEY.id, "2026-11-17") == 0
        assert await filled_store.find_usage(an_id(404), "2026-11-15") == 0
        assert await filled_store.list_usages("2026-11-15") == {KEY.id: 9}
