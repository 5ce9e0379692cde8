"""Clients, plants, subscriptions and signing keys, over HTTP."""

import hashlib
import re
from typing import Any

import pytest

from domogate.domain.limits import Limits
from domogate.domain.people import PAGES_CLIENT
from domogate.domain.plants import PlantStatus
from domogate.services.people.pages_client import register_pages_client
from domogate.wire import to_datetime
from support.clocks import NOW
from support.management_setup import ManagementApi
from support.people_setup import GOOD_PASSWORD, token_of
from support.stores import ANNA, APP, BRUNO, CARLA, GROUND, HOUSE, KEY, KITCHEN, LAMP, an_id

pytestmark = pytest.mark.slow

NEW_CLIENT = {
    "id": "house/app",
    "name": "House app",
    "confidential": True,
    "redirectUris": ["https://app.example/back"],
    "scopes": ["light.read", "openid"],
}


class TestClients:
    async def test_a_secret_is_shown_once_and_kept_as_a_hash(self, api: ManagementApi) -> None:
        made = await api.ok("POST", "/clients", NEW_CLIENT, status=201)
        kept = await api.env.store.find_client("house/app")
        assert kept is not None
        assert kept.secret_hash == hashlib.sha256(made["secret"].encode()).hexdigest()
        assert made["secret"] not in (await api.send("GET", "/clients")).text
        assert made["client"]["grants"] == ["authorization_code", "refresh_token"]

    async def test_the_client_of_the_gateway_s_own_pages_cannot_be_taken(self, api: ManagementApi) -> None:
        await register_pages_client(api.env.store, "https://home.example", "Aurora", enabled=True)
        kept = await api.env.store.find_client(PAGES_CLIENT)
        assert "own pages" in await api.refused("POST", "/clients", NEW_CLIENT | {"id": PAGES_CLIENT}, status=409)
        path = f"/clients/{PAGES_CLIENT}"
        for method, body in (("GET", None), ("PATCH", {"name": "Mine"}), ("DELETE", None)):
            assert "own pages" in await api.refused(method, path, body, status=404)
        assert "own pages" in await api.refused("POST", f"{path}/secret", status=404)
        assert await api.env.store.find_client(PAGES_CLIENT) == kept
        assert PAGES_CLIENT not in (await api.send("GET", "/clients")).text

    async def test_a_public_client_has_no_secret(self, api: ManagementApi) -> None:
        made = await api.ok("POST", "/clients", NEW_CLIENT | {"confidential": False}, status=201)
        assert made["secret"] is None
        assert made["client"]["confidential"] is False
        assert "public" in await api.refused("POST", "/clients/house%2Fapp/secret", status=409)

    async def test_one_with_a_slash_in_its_id_is_found_changed_and_deleted(self, api: ManagementApi) -> None:
        await api.ok("POST", "/clients", NEW_CLIENT, status=201)
        changed = await api.ok("PATCH", "/clients/house%2Fapp", {"scopes": ["plug.read"], "name": "App"})
        assert (changed["scopes"], changed["name"]) == (["plug.read"], "App")
        assert changed["redirectUris"] == NEW_CLIENT["redirectUris"]
        await api.ok("DELETE", "/clients/house%2Fapp", status=204)
        await api.refused("GET", "/clients/house%2Fapp", status=404)

    async def test_a_new_secret_replaces_the_old(self, api: ManagementApi) -> None:
        first = (await api.ok("POST", "/clients", NEW_CLIENT, status=201))["secret"]
        second = (await api.ok("POST", "/clients/house%2Fapp/secret", status=201))["secret"]
        kept = await api.env.store.find_client("house/app")
        assert kept is not None
        assert first != second
        assert kept.secret_hash == hashlib.sha256(second.encode()).hexdigest()

    @pytest.mark.parametrize(
        ("change", "word"),
        [
            ({"id": "house app"}, "client id"),
            ({"id": ""}, "client id"),
            ({"name": " "}, "name"),
            ({"redirectUris": ["https://app.example/back#top"]}, "fragment"),
            ({"redirectUris": ["javascript:alert(1)"]}, "absolute"),
            ({"redirectUris": ["/back"]}, "absolute"),
            ({"redirectUris": ["http://app.example/back"]}, "https"),
            ({"postLogoutRedirectUris": ["http://192.168.1.5/"]}, "https"),
            ({"redirectUris": ["https://app.example/a\r\nb"]}, "absolute"),
            ({"redirectUris": ["https://app.example:port/"]}, "absolute"),
            ({"redirectUris": ["https:///back"]}, "absolute"),
            ({"redirectUris": []}, "redirect URI"),
            ({"redirectUris": ["https://a.example/", "https://a.example/"]}, "twice"),
            ({"postLogoutRedirectUris": ["x"]}, "absolute"),
            ({"postLogoutRedirectUris": ["https://a.example/", "https://a.example/"]}, "twice"),
            ({"origins": ["https://app.example", "https://app.example"]}, "twice"),
            ({"grants": ["refresh_token", "refresh_token"]}, "twice"),
            ({"origins": ["https://app.example/"]}, "origin"),
            ({"scopes": ["light.reed"]}, "light.read"),
            ({"scopes": ["light.read", "light.read"]}, "twice"),
            ({"confidential": False, "pkceExempt": True}, "PKCE"),
        ],
    )
    async def test_a_value_that_breaks_a_rule_is_422_and_the_detail_names_it(
        self, api: ManagementApi, change: dict[str, Any], word: str
    ) -> None:
        assert word in await api.refused("POST", "/clients", NEW_CLIENT | change, status=422)
        assert await api.env.store.find_client("house/app") is None

    @pytest.mark.parametrize("uri", ["localhost:9999/back", "app.example.com:9999/back", "localhost:/back"])
    async def test_a_redirect_uri_without_http_is_refused(self, api: ManagementApi, uri: str) -> None:
        assert uri in await api.refused("POST", "/clients", NEW_CLIENT | {"redirectUris": [uri]}, status=422)

    async def test_a_change_that_breaks_a_rule_changes_nothing(self, api: ManagementApi) -> None:
        before = await api.env.store.find_client(APP.id)
        await api.refused("PATCH", f"/clients/{APP.id}", {"redirectUris": ["x"]}, status=422)
        await api.refused("PATCH", f"/clients/{APP.id}", {"id": "other"}, status=400)
        await api.refused("PATCH", f"/clients/{APP.id}", {"secretHash": "0" * 64}, status=400)
        assert await api.env.store.find_client(APP.id) == before

    async def test_an_id_is_taken_once(self, api: ManagementApi) -> None:
        await api.refused("POST", "/clients", NEW_CLIENT | {"id": APP.id}, status=409)

    async def test_tokens_of_a_deleted_client_are_refused(self, api: ManagementApi) -> None:
        await api.ok("DELETE", "/clients/console", status=204)
        await api.refused("GET", "/clients", status=401)

    @pytest.mark.parametrize(
        "uri", ["http://127.0.0.1:8090/callback", "com.example.app:/back", "app://back", "https://[::1]/x?y=1"]
    )
    async def test_redirect_uris_that_lead_back_to_an_application_are_accepted(self, api: ManagementApi, uri: str) -> None:
        await api.ok("POST", "/clients", NEW_CLIENT | {"redirectUris": [uri]}, status=201)


class TestPlants:
    async def test_a_plant_is_shown_with_its_people(self, api: ManagementApi) -> None:
        (listed,) = (await api.ok("GET", "/plants"))["items"]
        assert listed == await api.ok("GET", f"/plants/{HOUSE.id}")
        assert listed["owner"] == {"userId": ANNA.id, "email": ANNA.email, "limits": None}
        assert listed["allowed"] == [{"userId": BRUNO.id, "email": BRUNO.email, "limits": None}]
        assert listed["invited"] == ["Carla@Example.com"]

    async def test_pages_go_by_id(self, api: ManagementApi) -> None:
        assert (await api.ok("GET", f"/plants?after={HOUSE.id}"))["items"] == []
        await api.refused("GET", "/plants?after=x", status=400)

    async def test_it_is_removed_and_brought_back(self, api: ManagementApi) -> None:
        removed = await api.ok("PATCH", f"/plants/{HOUSE.id}", {"status": "removed"})
        assert removed["status"] == "removed"
        assert removed["removedAt"] is not None
        assert (await api.ok("PATCH", f"/plants/{HOUSE.id}", {"status": "removed"})) == removed
        back = await api.ok("PATCH", f"/plants/{HOUSE.id}", {"status": "active"})
        assert (back["status"], back["removedAt"]) == (PlantStatus.ACTIVE, None)

    async def test_an_invitation_is_made_accepted_and_withdrawn(self, api: ManagementApi) -> None:
        made = await api.ok("POST", f"/plants/{HOUSE.id}/invitations", {"email": "dora@example.com"}, status=201)
        assert made["outcome"] == "invited"
        await api.refused("POST", f"/plants/{HOUSE.id}/invitations", {"email": "Dora@example.com"}, status=409)
        await api.env.people.redeem_link(token_of(made["link"]["url"]), GOOD_PASSWORD)
        plant = await api.ok("GET", f"/plants/{HOUSE.id}")
        assert "dora@example.com" in [member["email"] for member in plant["allowed"]]
        await api.ok("DELETE", f"/plants/{HOUSE.id}/invitations/{CARLA.email}", status=204)
        assert (await api.ok("GET", f"/plants/{HOUSE.id}"))["invited"] == []
        await api.refused("DELETE", f"/plants/{HOUSE.id}/invitations/{CARLA.email}", status=404)

    async def test_open_invitation_links_are_listed_without_their_urls_and_withdrawn(self, api: ManagementApi) -> None:
        path = f"/plants/{HOUSE.id}/invitation-links"
        assert (await api.ok("GET", path))["items"] == []
        link, url = await api.env.people.make_invitation_link(HOUSE.id, "Emil", None, user_id=ANNA.id)
        answer = await api.send("GET", path)
        assert token_of(url) not in answer.text
        assert link.token_hash not in answer.text
        (listed,) = answer.json()["items"]
        assert (listed["id"], listed["note"], listed["limits"]) == (link.id, "Emil", None)
        assert (listed["userId"], listed["email"]) == (ANNA.id, ANNA.email)
        await api.refused("DELETE", f"/plants/{an_id(404)}/invitation-links/{link.id}", status=404)
        await api.ok("DELETE", f"{path}/{link.id}", status=204)
        assert (await api.ok("GET", path))["items"] == []
        assert await api.env.people.open_invitation(token_of(url)) is None
        await api.refused("DELETE", f"{path}/{link.id}", status=404)
        await api.refused("GET", f"/plants/{an_id(404)}/invitation-links", status=404)
        assert (await api.env.noted())[-1] == "withdrawn"

    async def test_a_guest_is_invited_to_a_room_for_a_period(self, api: ManagementApi) -> None:
        begin, end = (to_datetime(NOW + hours * 3600).isoformat().replace("+00:00", "Z") for hours in (1, 2))
        limits = {"ambients": [KITCHEN.id], "validFrom": begin, "validUntil": end}
        body = {"email": "dora@example.com", "limits": limits}
        await api.ok("POST", f"/plants/{HOUSE.id}/invitations", body, status=201)
        shown = {"floors": [], "ambients": [KITCHEN.id], "modules": [], "validFrom": begin, "validUntil": end}
        invitations = (await api.ok("GET", f"/plants/{HOUSE.id}"))["invitations"]
        assert invitations[-1] == {"email": "dora@example.com", "limits": shown}

    async def test_the_limits_of_an_invitation_are_set_and_lifted(self, api: ManagementApi) -> None:
        path = f"/plants/{HOUSE.id}/invitations/{CARLA.email}"
        changed = await api.ok("PATCH", path, {"limits": {"modules": [LAMP.id]}})
        assert changed["invitations"][0]["limits"]["modules"] == [LAMP.id]
        assert changed == await api.ok("GET", f"/plants/{HOUSE.id}")
        assert (await api.ok("PATCH", path, {"limits": None}))["invitations"][0]["limits"] is None
        await api.refused("PATCH", path, {"limits": {"modules": [KITCHEN.id]}}, status=422)
        await api.refused("PATCH", f"/plants/{HOUSE.id}/invitations/{BRUNO.email}", {"limits": None}, status=404)

    async def test_a_place_that_was_deleted_may_stay_in_the_limits(self, api: ManagementApi) -> None:
        """Otherwise a change of the period could leave no place, and the guest would see all of the plant."""
        path = f"/plants/{HOUSE.id}/allowed/{BRUNO.id}"
        await api.env.store.set_member_limits(HOUSE.id, BRUNO.id, Limits(ambients=(an_id(404),)))
        limits = (await api.ok("GET", f"/plants/{HOUSE.id}"))["allowed"][0]["limits"]
        longer = {**limits, "validUntil": "2100-01-01T00:00:00Z"}
        changed = await api.ok("PATCH", path, {"limits": longer})
        assert changed["allowed"][0]["limits"] == longer
        await api.refused("PATCH", path, {"limits": {"ambients": [an_id(405)]}}, status=422)

    async def test_the_limits_of_a_member_are_set_and_lifted(self, api: ManagementApi) -> None:
        path = f"/plants/{HOUSE.id}/allowed/{BRUNO.id}"
        changed = await api.ok("PATCH", path, {"limits": {"floors": [GROUND.id], "modules": [LAMP.id]}})
        assert changed == await api.ok("GET", f"/plants/{HOUSE.id}")
        limits = changed["allowed"][0]["limits"]
        assert (limits["floors"], limits["ambients"], limits["modules"]) == ([GROUND.id], [], [LAMP.id])
        nothing: list[dict[str, Any] | None] = [None, {}]
        for lifted in nothing:
            assert (await api.ok("PATCH", path, {"limits": lifted}))["allowed"][0]["limits"] is None
        await api.refused("PATCH", path, {}, status=400)
        await api.refused("PATCH", f"/plants/{HOUSE.id}/allowed/{CARLA.id}", {"limits": None}, status=404)

    @pytest.mark.parametrize(
        ("limits", "status"),
        [
            ({"ambients": [an_id(404)]}, 422),
            ({"floors": [KITCHEN.id]}, 422),
            ({"modules": ["x"]}, 400),
            ({"validUntil": "2001-01-01T00:00:00Z"}, 422),
            ({"validFrom": "2100-01-02T00:00:00Z", "validUntil": "2100-01-01T00:00:00Z"}, 422),
            ({"validUntil": "9999-12-31T23:59:59-14:00"}, 400),
            ({"validFrom": "1901-01-01T00:00:00Z"}, 422),
            ({"validUntil": "2100-01-01T00:00:00"}, 400),
            ({"rooms": []}, 400),
        ],
    )
    async def test_limits_that_make_no_sense_are_refused(self, api: ManagementApi, limits: Any, status: int) -> None:
        await api.refused("PATCH", f"/plants/{HOUSE.id}/allowed/{BRUNO.id}", {"limits": limits}, status=status)
        body = {"email": "dora@example.com", "limits": limits}
        await api.refused("POST", f"/plants/{HOUSE.id}/invitations", body, status=status)
        assert (await api.ok("GET", f"/plants/{HOUSE.id}"))["allowed"][0]["limits"] is None

    async def test_the_owner_has_no_limits(self, api: ManagementApi) -> None:
        body = {"limits": {"floors": [GROUND.id]}}
        await api.refused("PATCH", f"/plants/{HOUSE.id}/allowed/{ANNA.id}", body, status=409)

    async def test_a_user_is_allowed_and_withdrawn_but_never_the_owner(self, api: ManagementApi) -> None:
        for _ in range(2):
            await api.ok("PUT", f"/plants/{HOUSE.id}/allowed/{CARLA.id}", status=204)
        assert len((await api.ok("GET", f"/plants/{HOUSE.id}"))["allowed"]) == 2
        await api.ok("DELETE", f"/plants/{HOUSE.id}/allowed/{CARLA.id}", status=204)
        await api.refused("DELETE", f"/plants/{HOUSE.id}/allowed/{CARLA.id}", status=404)
        assert "owns" in await api.refused("DELETE", f"/plants/{HOUSE.id}/allowed/{ANNA.id}", status=409)
        await api.refused("PUT", f"/plants/{HOUSE.id}/allowed/{an_id(0xDEAD)}", status=404)
        await api.refused("PUT", f"/plants/{an_id(0xDEAD)}/allowed/{CARLA.id}", status=404)


class TestSubscriptions:
    async def test_a_key_is_shown_once_and_kept_as_a_hash(self, api: ManagementApi) -> None:
        body = {"name": "our app", "rate": "10/second", "dailyQuota": 500, "expiresAt": "2099-01-01T00:00:00Z"}
        made = await api.ok("POST", "/subscriptions", body, status=201)
        assert made["subscription"]["expiresAt"] == "2099-01-01T00:00:00Z"
        assert made["key"].startswith(made["subscription"]["hint"])
        assert await api.env.store.find_subscription(hashlib.sha256(made["key"].encode()).hexdigest()) is not None
        assert made["key"] not in (await api.send("GET", "/subscriptions")).text

    async def test_a_key_is_revoked(self, api: ManagementApi) -> None:
        await api.ok("DELETE", f"/subscriptions/{KEY.id}", status=204)
        (listed,) = (await api.ok("GET", "/subscriptions"))["items"]
        assert listed["revokedAt"] is not None
        await api.refused("DELETE", f"/subscriptions/{an_id(0xDEAD)}", status=404)
        await api.ok("DELETE", f"/subscriptions/{KEY.id}", status=204)
        assert (await api.env.noted()).count("key revoked") == 1

    @pytest.mark.parametrize(
        ("body", "status"),
        [
            ({"name": "x", "rate": "10/fortnight"}, 422),
            ({"name": "x", "expiresAt": "2001-01-01T00:00:00Z"}, 422),
            ({"name": "x\ny"}, 422),
            ({"name": "x", "expiresAt": "2099-01-01T00:00:00"}, 400),
            ({"name": "x", "dailyQuota": 0}, 400),
            ({"name": "x", "dailyQuota": 2**53 + 1}, 400),
            ({"name": ""}, 400),
            ({"name": "x", "key": "mine"}, 400),
        ],
    )
    async def test_bad_limits_issue_nothing(self, api: ManagementApi, body: dict[str, Any], status: int) -> None:
        await api.refused("POST", "/subscriptions", body, status=status)
        assert len(await api.env.store.list_subscriptions()) == 1


class TestSigningKeys:
    async def test_a_rotation_publishes_the_next_key_and_tokens_stay_valid(self, api: ManagementApi) -> None:
        (current,) = (await api.ok("GET", "/signing-keys"))["items"]
        rotated = await api.ok("POST", "/signing-keys/rotation", {}, status=201)
        states = {key["kid"]: key["state"] for key in rotated["keys"]}
        assert states == {current["kid"]: "current", rotated["kid"]: "next"}
        await api.ok("GET", "/users")

    async def test_after_an_emergency_rotation_every_present_token_is_refused(self, api: ManagementApi) -> None:
        await api.ok("POST", "/signing-keys/rotation", {"emergency": True}, status=201)
        await api.refused("GET", "/users", status=401)
        await api.ok("GET", "/users", token=await api.mint(api.operator))

    async def test_nothing_private_is_shown(self, api: ManagementApi) -> None:
        text = (await api.send("GET", "/signing-keys")).text
        assert re.search(r'"(d|p|q|jwk|k)"', text) is None
        stored = (await api.env.store.list_signing_keys())[0]
        assert stored.jwk not in text
