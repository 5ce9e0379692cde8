"""Grants of a user that the user or an operator revokes."""

import pytest

from domogate.domain.ids import new_id
from domogate.domain.people import Grant
from domogate.services.refusals import NotFound
from support.people_setup import NOBODY, PeopleSetup
from support.stores import ANNA, APP, BRUNO


class TestThrowingApplicationsOut:
    async def test_a_grant_is_revoked_only_for_its_own_user(self, env: PeopleSetup) -> None:
        grant = Grant(new_id(), ANNA.id, APP.id, ("light.read",), created_at=env.clock.now())
        await env.store.add_grant(grant)
        for user_id, grant_id in ((BRUNO.id, grant.id), (ANNA.id, NOBODY)):
            with pytest.raises(NotFound):
                await env.people.revoke_grant(user_id, grant_id)
        assert [one.id for one in await env.store.list_grants(ANNA.id)] == [grant.id]
        await env.people.revoke_grant(ANNA.id, grant.id)
        assert list(await env.store.list_grants(ANNA.id)) == []

    async def test_a_grant_that_is_revoked_again_is_recorded_once(self, env: PeopleSetup) -> None:
        grant = Grant(new_id(), ANNA.id, APP.id, ("light.read",), created_at=env.clock.now())
        await env.store.add_grant(grant)
        for _ in range(2):
            await env.people.revoke_grant(ANNA.id, grant.id)
        await env.audit.flush()
        assert len(await env.audit.list()) == 1

    async def test_all_at_once(self, env: PeopleSetup) -> None:
        for _ in range(2):
            await env.store.add_grant(Grant(new_id(), ANNA.id, APP.id, ("light.read",), created_at=1.0))
        assert await env.people.revoke_grants(ANNA.id) == 2
        assert list(await env.store.list_grants(ANNA.id)) == []
