"""A grant holds while its user, its client and itself are valid, and gives only scopes that both still have."""

from collections.abc import AsyncIterator
from pathlib import Path
from uuid import NAMESPACE_URL, uuid4, uuid5

import msgspec
import pytest

from domogate.domain.ids import Id
from domogate.domain.people import Client, Grant, Standing, User
from domogate.services.rights.grants import GrantEnded, GrantHolder, get_grant_holder, is_foreign_grant
from domogate.services.rights.identity_cache import IdentityCache
from domogate.stores import SqlStore, sqlite_url
from support.clocks import NOW, ManualClock
from support.stores import an_id

ANNA = User(an_id(1), "anna@example.com", "Anna", "hash", Standing.TERMS_EXPIRED)
BRUNO = User(an_id(2), "bruno@example.com", "Bruno", "hash")
APP = Client("app", "App", scopes=("light.read", "plug.read"))
OTHER = Client("other", "Other", scopes=("light.read", "plug.read"))
GRANT = Grant(Id(str(uuid4())), ANNA.id, APP.id, ("light.read", "comfort.read"), created_at=NOW)
FOREIGN = Id(str(uuid5(NAMESPACE_URL, "https://issuer.example")))


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqlStore]:
    store = SqlStore(sqlite_url(tmp_path / "grants.sqlite3"), clock=ManualClock(), gateway=False)
    await store.start()
    for user in (ANNA, BRUNO):
        await store.save_user(user)
    for client in (APP, OTHER):
        await store.save_client(client)
    await store.add_grant(GRANT)
    yield store
    await store.stop()


@pytest.fixture
def identities(store: SqlStore) -> IdentityCache:
    identities = IdentityCache(store)
    store.listen(identities.apply)
    return identities


async def holder(
    identities: IdentityCache, grant_id: Id = GRANT.id, user: User = ANNA, client: Client = APP
) -> GrantHolder | str:
    """The holder, or the reason why the grant has ended."""
    try:
        return await get_grant_holder(identities, grant_id, user.id, client.id)
    except GrantEnded as ended:
        return str(ended)


class TestAGrant:
    async def test_gives_the_scopes_that_the_user_granted_and_the_client_still_has(self, identities: IdentityCache) -> None:
        assert await holder(identities) == GrantHolder(ANNA.id, frozenset({"light.read"}), Standing.TERMS_EXPIRED)

    async def test_gives_the_plants_that_the_user_chose(self, store: SqlStore, identities: IdentityCache) -> None:
        chosen = msgspec.structs.replace(GRANT, id=Id(str(uuid4())), plants=frozenset({an_id(10), an_id(11)}))
        await store.add_grant(chosen)
        found = await holder(identities, chosen.id)
        assert isinstance(found, GrantHolder)
        assert found.plants == frozenset({an_id(10), an_id(11)})

    async def test_ends_when_it_is_revoked(self, store: SqlStore, identities: IdentityCache) -> None:
        assert isinstance(await holder(identities), GrantHolder)
        assert await store.revoke_grant(GRANT.id, NOW)
        assert await holder(identities) == "the user does not let the application in any more"

    async def test_ends_with_its_user(self, store: SqlStore, identities: IdentityCache) -> None:
        assert isinstance(await holder(identities), GrantHolder)
        await store.delete_user(ANNA.id)
        assert await holder(identities) == "the user does not exist any more"

    async def test_ends_when_its_user_is_not_active(self, store: SqlStore, identities: IdentityCache) -> None:
        await store.save_user(msgspec.structs.replace(ANNA, password_hash=None))
        assert await holder(identities) == "the user does not exist any more"

    async def test_ends_with_its_client(self, store: SqlStore, identities: IdentityCache) -> None:
        assert isinstance(await holder(identities), GrantHolder)
        await store.delete_client(APP.id)
        assert await holder(identities) == "the application is not registered any more"

    async def test_that_does_not_exist_holds_for_nobody(self, identities: IdentityCache) -> None:
        assert await holder(identities, Id(str(uuid4()))) == "the user does not let the application in any more"

    @pytest.mark.parametrize(("user", "client"), [(BRUNO, APP), (ANNA, OTHER), (BRUNO, OTHER)])
    async def test_holds_only_for_its_own_user_and_client(self, identities: IdentityCache, user: User, client: Client) -> None:
        assert await holder(identities, user=user, client=client) == "the user does not let the application in any more"


class TestAForeignGrant:
    def test_has_a_derived_id(self) -> None:
        assert is_foreign_grant(FOREIGN)
        assert not is_foreign_grant(GRANT.id)

    async def test_gives_all_scopes_of_the_client(self, identities: IdentityCache) -> None:
        assert await holder(identities, FOREIGN) == GrantHolder(ANNA.id, frozenset(APP.scopes), Standing.TERMS_EXPIRED)

    async def test_ends_with_its_user_or_its_client(self, store: SqlStore, identities: IdentityCache) -> None:
        await store.delete_client(OTHER.id)
        assert await holder(identities, FOREIGN, client=OTHER) == "the application is not registered any more"
        await store.delete_user(ANNA.id)
        assert await holder(identities, FOREIGN) == "the user does not exist any more"
