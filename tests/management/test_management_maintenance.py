"""The clock, the id of the secret key, usage of keys, and grants of an application, over HTTP."""

import pytest

from domogate.domain.ids import Id
from domogate.ports import Usage
from domogate.wire import to_datetime
from support.clocks import NOW
from support.management_setup import ManagementApi
from support.stores import ANNA, APP, BRUNO, HOUSE, KEY, OTHER_APP, a_code, a_grant

pytestmark = pytest.mark.slow

DAY = 86_400.0


class TestTheClock:
    async def test_a_clock_that_jumped_is_shown_and_confirmed(self, api: ManagementApi) -> None:
        assert await api.clock_check.check()
        api.env.clock.at += 400 * DAY
        api.token = await api.mint(api.operator)
        assert not await api.clock_check.check()
        found = await api.ok("GET", "/clock")
        assert (found["pruning"], found["lastSeen"]) == (False, to_datetime(NOW).isoformat().replace("+00:00", "Z"))
        assert "400 days ahead" in found["problem"]
        confirmed = await api.ok("POST", "/clock/confirmation")
        assert (confirmed["pruning"], confirmed["problem"], confirmed["lastSeen"]) == (True, None, confirmed["now"])
        assert (await api.env.noted())[-1] == "clock confirmed"

    async def test_the_secret_key_is_named_and_not_shown(self, api: ManagementApi) -> None:
        assert await api.ok("GET", "/secret-key") == {"id": await api.env.store.find_secret_key_id()}


class TestUsage:
    async def test_the_requests_of_today_are_shown(self, api: ManagementApi) -> None:
        today, before = (to_datetime(NOW - ago).date().isoformat() for ago in (0, DAY))
        await api.env.store.add_usage([Usage(KEY.id, today, 7), Usage(KEY.id, before, 100)])
        made = await api.ok("POST", "/subscriptions", {"name": "free"}, status=201)
        await api.env.store.add_usage([Usage(Id(made["subscription"]["id"]), today, 3)])
        limited = await api.ok("POST", "/subscriptions", {"name": "new", "dailyQuota": 5}, status=201)
        assert (made["subscription"]["usedToday"], limited["subscription"]["usedToday"]) == (0, 0)
        found = {one["id"]: (one["usedToday"], one["dailyQuota"]) for one in (await api.ok("GET", "/subscriptions"))["items"]}
        assert found[KEY.id] == (7, KEY.daily_quota)
        assert found[made["subscription"]["id"]] == (3, None)
        assert found[limited["subscription"]["id"]] == (0, 5)


class TestGrantsOfAClient:
    async def test_they_name_the_people_in_pages_without_revoked_and_unredeemed_ones(self, api: ManagementApi) -> None:
        store = api.env.store
        await store.save_client(OTHER_APP)
        of_anna, of_bruno = a_grant(501), a_grant(502, BRUNO, plants=frozenset({HOUSE.id}))
        for grant in (of_anna, of_bruno, a_grant(503), a_grant(504, client=OTHER_APP)):
            await store.add_grant(grant)
        await store.revoke_grant(Id(a_grant(503).id), NOW)
        unredeemed = a_grant(505)
        await store.add_code(unredeemed, a_code(unredeemed))
        first = await api.ok("GET", f"/clients/{APP.id}/grants?limit=1")
        rest = await api.ok("GET", f"/clients/{APP.id}/grants?after={first['next']}")
        assert [(one["id"], one["userId"], one["email"], one["plants"]) for one in first["items"] + rest["items"]] == [
            (of_anna.id, ANNA.id, ANNA.email, None),
            (of_bruno.id, BRUNO.id, BRUNO.email, [HOUSE.id]),
        ]
        assert rest["next"] is None
        assert rest["items"][0]["scopes"] == list(of_bruno.scopes)
        await api.refused("GET", "/clients/nobody/grants", status=404)
        await api.refused("GET", f"/clients/{APP.id}/grants?after=x", status=400)
