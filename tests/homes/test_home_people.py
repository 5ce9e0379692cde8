"""The people of a home, the applications that a person let in, and emergency lighting, over HTTP."""

from pathlib import Path

import pytest

from domogate.ports import MailKind
from domogate.services.people.owners import OWNER_INVITATIONS
from support.full_plant import FULL_PLANT
from support.home_setup import WEBHOOK, HomeApi, open_home_api
from support.safety_site import SITE, site_estate
from support.stores import ANNA, APP, BRUNO, CARLA, GRANT, HOUSE, KITCHEN, LAMP, a_webhook

pytestmark = pytest.mark.slow

PEOPLE = f"/homes/{HOUSE.id}/people"
INVITATIONS = f"/homes/{HOUSE.id}/invitations"
WEEKEND = {"ambients": [KITCHEN.id], "validFrom": "2027-01-16T08:00:00Z", "validUntil": "2027-01-17T18:00:00Z"}


class TestPeople:
    async def test_the_owner_sees_who_may_use_what(self, api: HomeApi) -> None:
        await api.ok("PATCH", f"{PEOPLE}/{BRUNO.email}", {"limits": WEEKEND})
        limits = {**WEEKEND, "floors": [], "modules": []}
        assert await api.ok("GET", PEOPLE) == {
            "owner": {"email": ANNA.email, "name": "Anna", "limits": None},
            "members": [{"email": BRUNO.email, "name": "Bruno", "limits": limits}],
            "invited": [],
        }
        home = await api.send("GET", f"/homes/{HOUSE.id}", token=await api.mint(BRUNO))
        assert home.status_code == 403, "before the weekend"

    async def test_an_active_user_becomes_a_member_at_once(self, api: HomeApi) -> None:
        body = {"email": CARLA.email, "limits": {"modules": [LAMP.id]}}
        assert await api.ok("POST", INVITATIONS, body, status=201) == {"outcome": "member", "mailed": False}
        home = await api.ok("GET", f"/homes/{HOUSE.id}", token=await api.mint(CARLA))
        assert home["role"] == "guest"
        answer = await api.send("POST", INVITATIONS, body)
        assert (answer.status_code, answer.json()["reason"]) == (409, "has_access")

    async def test_a_new_person_is_invited_and_the_owner_gets_no_link(self, api: HomeApi) -> None:
        """With the link the owner could set the password of an account that other homes invite, too (Decision 0059)."""
        answer = await api.send("POST", INVITATIONS, {"email": "dora@example.com"})
        assert (answer.status_code, answer.json()) == (201, {"outcome": "invited", "mailed": False})
        assert (await api.ok("GET", PEOPLE))["invited"] == [{"email": "dora@example.com", "limits": None}]
        await api.ok("DELETE", f"{PEOPLE}/dora@example.com", status=204)
        assert (await api.ok("GET", PEOPLE))["invited"] == []

    async def test_only_a_link_that_was_sent_counts_as_mailed(self, tmp_path: Path) -> None:
        async with open_home_api(tmp_path, mails_links=True) as api:
            for email, answer in (
                (CARLA.email, {"outcome": "member", "mailed": False}),
                ("dora@example.com", {"outcome": "invited", "mailed": True}),
            ):
                assert await api.ok("POST", INVITATIONS, {"email": email}, status=201) == answer
            assert [mail.kind for mail in api.env.mail.mails] == [MailKind.SHARED_HOME, MailKind.INVITATION]

    async def test_a_withdrawn_member_is_refused_from_then_on(self, api: HomeApi) -> None:
        token = await api.mint(BRUNO)
        await api.ok("DELETE", f"{PEOPLE}/{BRUNO.email}", status=204)
        await api.refused("GET", f"/homes/{HOUSE.id}", token=token, status=403)
        await api.refused("DELETE", f"{PEOPLE}/{BRUNO.email}", status=404)
        await api.refused("DELETE", f"{PEOPLE}/{ANNA.email}", status=409)

    async def test_wrong_addresses_limits_and_places_are_refused(self, api: HomeApi) -> None:
        await api.refused("POST", INVITATIONS, {"email": "nobody"}, status=422)
        await api.refused("POST", INVITATIONS, {"email": f"{'x' * 300}@example.com"}, status=400)
        await api.refused("POST", INVITATIONS, {"email": CARLA.email, "limits": {"modules": ["lamp"]}}, status=400)
        await api.refused("POST", INVITATIONS, {"email": CARLA.email, "limits": {"modules": [KITCHEN.id]}}, status=422)
        await api.refused("PATCH", f"{PEOPLE}/{BRUNO.email}", {"limits": {"validUntil": "2020-01-01T00:00:00Z"}}, status=422)

    async def test_invitations_are_limited(self, api: HomeApi) -> None:
        for number in range(OWNER_INVITATIONS):
            await api.ok("POST", INVITATIONS, {"email": f"guest{number}@example.com"}, status=201)
        answer = await api.send("POST", INVITATIONS, {"email": "one.more@example.com"})
        assert (answer.status_code, answer.headers["retry-after"]) == (429, "3600")

    async def test_a_member_can_leave_and_the_owner_cannot(self, api: HomeApi) -> None:
        token = await api.mint(BRUNO)
        await api.ok("DELETE", f"/homes/{HOUSE.id}/membership", token=token, status=204)
        assert (await api.ok("GET", "/homes", token=token))["items"] == []
        await api.refused("DELETE", f"/homes/{HOUSE.id}/membership", status=409)


class TestApplications:
    async def test_webhooks_of_homes_that_the_person_did_not_choose_are_not_shown(self, api: HomeApi) -> None:
        await api.env.store.add_grant(GRANT)
        await api.env.store.add_webhook(WEBHOOK)
        token = await api.mint(ANNA, plants=frozenset({FULL_PLANT.id}))
        listed = {one["clientId"]: one for one in (await api.ok("GET", "/applications", token=token))["items"]}
        assert listed[APP.id]["webhooks"] == []
        await api.refused("DELETE", f"/webhooks/{WEBHOOK.id}", token=token, status=404)
        await api.ok("DELETE", f"/webhooks/{WEBHOOK.id}", status=204)

    async def test_a_webhook_with_refused_events_has_a_next_attempt(self, api: HomeApi) -> None:
        await api.env.store.add_grant(GRANT)
        await api.env.store.add_webhook(a_webhook(next_at=1_800_000_000.0))
        listed = {one["clientId"]: one for one in (await api.ok("GET", "/applications"))["items"]}
        (webhook,) = listed[APP.id]["webhooks"]
        assert (webhook["failingSince"], webhook["nextAttemptAt"]) == (None, "2027-01-15T08:00:00Z")

    async def test_they_are_listed_with_webhooks_and_revoked(self, api: HomeApi) -> None:
        await api.env.store.add_grant(GRANT)
        await api.env.store.add_webhook(WEBHOOK)
        answer = await api.send("GET", "/applications")
        listed = {one["clientId"]: one for one in answer.json()["items"]}
        assert (listed["pages"]["current"], listed[APP.id]["current"]) == (True, False)
        assert (listed[APP.id]["name"], listed[APP.id]["scopes"]) == ("An app", ["light.read"])
        (webhook,) = listed[APP.id]["webhooks"]
        assert (webhook["homeId"], webhook["host"]) == (HOUSE.id, "receiver.example")
        assert (webhook["failingSince"], webhook["nextAttemptAt"]) == (None, None)
        assert "secret-path" not in answer.text
        await api.ok("DELETE", f"/webhooks/{WEBHOOK.id}", status=204)
        await api.refused("DELETE", f"/webhooks/{WEBHOOK.id}", status=404)
        await api.ok("DELETE", f"/applications/{APP.id}", status=204)
        assert [one["clientId"] for one in (await api.ok("GET", "/applications"))["items"]] == ["pages"]

    async def test_an_application_can_revoke_itself(self, api: HomeApi) -> None:
        await api.ok("DELETE", "/applications/pages", status=204)
        await api.refused("GET", "/me", status=401)


class TestSafety:
    async def test_a_site_shows_its_controllers_and_units(self, api: HomeApi) -> None:
        await api.env.store.import_estate(site_estate([]), prune=False)
        owner = await api.env.user(SITE.owner.user_id)
        safety = await api.ok("GET", f"/homes/{SITE.id}/safety", token=await api.mint(owner))
        assert safety["controllers"]
        units = [unit for controller in safety["controllers"] for unit in controller["units"]]
        assert {unit["status"] for unit in units} <= {"working", "in failure", "no communication"}
        assert all(unit["name"] for unit in units)

    async def test_a_home_without_it_is_404(self, api: HomeApi) -> None:
        await api.refused("GET", f"/homes/{HOUSE.id}/safety", status=404)


class TestGrantsForSomeHomes:
    async def test_an_application_sees_only_the_homes_that_the_person_chose(self, api: HomeApi) -> None:
        token = await api.mint(ANNA, plants=frozenset({HOUSE.id}))
        assert [home["id"] for home in (await api.ok("GET", "/homes", token=token))["items"]] == [HOUSE.id]
        await api.refused("GET", f"/homes/{FULL_PLANT.id}", token=token, status=403)

    async def test_it_revokes_no_other_application(self, api: HomeApi) -> None:
        await api.env.store.add_grant(GRANT)
        token = await api.mint(ANNA, plants=frozenset({HOUSE.id}))
        await api.refused("DELETE", f"/applications/{APP.id}", token=token, status=403)
        listed = {one["clientId"]: one["homes"] for one in (await api.ok("GET", "/applications"))["items"]}
        assert listed == {api.client.id: None, APP.id: None}, "one grant of each is for all homes"
        await api.ok("DELETE", f"/applications/{api.client.id}", token=token, status=204)
