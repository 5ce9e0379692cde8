"""Invitation links over the home API: the owner makes, lists and withdraws them."""

from datetime import datetime, timedelta

import pytest

from domogate.common.secrets import hash_secret
from domogate.services.people.invitation_links import MOST_INVITATION_LINKS
from domogate.services.people.owners import OWNER_INVITATIONS, OWNER_SPAN
from support.home_setup import HomeApi
from support.stores import ANNA, BRUNO, CARLA, HOUSE, KITCHEN

pytestmark = pytest.mark.slow

LINKS = f"/homes/{HOUSE.id}/invitation-links"
INVITATIONS = f"/homes/{HOUSE.id}/invitations"
WEEKEND = {"ambients": [KITCHEN.id], "validFrom": "2027-01-16T08:00:00Z", "validUntil": "2027-01-17T18:00:00Z"}


async def test_the_owner_makes_sees_and_withdraws_a_link(api: HomeApi) -> None:
    made = await api.ok("POST", LINKS, {"note": " Nora ", "limits": WEEKEND}, status=201)
    link = made["link"]
    assert link["note"] == "Nora"
    assert link["limits"] == {**WEEKEND, "floors": [], "modules": []}
    address, token = made["url"].split("?token=")
    assert address.endswith("/auth/invitation")
    stored = await api.env.store.find_invitation_link(hash_secret(token), api.env.clock.now())
    assert stored is not None
    assert (await api.ok("GET", LINKS))["items"] == [link]
    await api.ok("DELETE", f"{LINKS}/{link['id']}", status=204)
    await api.refused("DELETE", f"{LINKS}/{link['id']}", status=404)
    assert (await api.ok("GET", LINKS))["items"] == []
    assert (await api.env.noted())[-2:] == ["invited", "withdrawn"]


async def test_only_the_owner_may_use_them(api: HomeApi) -> None:
    made = await api.ok("POST", LINKS, {}, status=201)
    for person, status in ((BRUNO, 403), (CARLA, 403)):
        token = await api.mint(person)
        await api.refused("GET", LINKS, token=token, status=status)
        await api.refused("POST", LINKS, {}, token=token, status=status)
        await api.refused("DELETE", f"{LINKS}/{made['link']['id']}", token=token, status=status)


async def test_wrong_notes_and_limits_are_refused(api: HomeApi) -> None:
    await api.refused("POST", LINKS, {"note": "x" * 101}, status=400)
    await api.refused("POST", LINKS, {"note": "two\nlines"}, status=422)
    await api.refused("POST", LINKS, {"limits": {"modules": [KITCHEN.id]}}, status=422)
    await api.refused("POST", LINKS, {"limits": {"validUntil": "2020-01-01T00:00:00Z"}}, status=422)
    await api.refused("POST", INVITATIONS, {"email": "anna@Guest.Invalid"}, status=422)


async def test_a_link_works_for_a_week_but_not_longer_than_the_period(api: HomeApi) -> None:
    link = (await api.ok("POST", LINKS, {}, status=201))["link"]
    assert datetime.fromisoformat(link["expiresAt"]) - datetime.fromisoformat(link["createdAt"]) == timedelta(days=7)
    soon = await api.ok("POST", LINKS, {"limits": {"validUntil": "2027-01-15T12:00:00Z"}}, status=201)
    assert soon["link"]["expiresAt"] == "2027-01-15T12:00:00Z"


async def test_links_and_invitations_are_limited_together(api: HomeApi) -> None:
    await api.ok("POST", INVITATIONS, {"email": "guest@example.com"}, status=201)
    for _ in range(OWNER_INVITATIONS - 1):
        await api.ok("POST", LINKS, {}, status=201)
    assert (await api.send("POST", LINKS, {})).status_code == 429
    assert (await api.send("POST", INVITATIONS, {"email": "other@example.com"})).status_code == 429
    api.env.clock.advance(OWNER_SPAN)
    for _ in range(MOST_INVITATION_LINKS - OWNER_INVITATIONS + 1):
        await api.ok("POST", LINKS, {}, token=await api.mint(ANNA), status=201)
    answer = await api.send("POST", LINKS, {}, token=await api.mint(ANNA))
    assert (answer.status_code, answer.json()["reason"]) == (403, "too_many_links")
