"""Applications and subscription keys that developers register for themselves, and faults on demand."""

import re
from typing import Any

import msgspec
import pytest

from domogate.common.secrets import hash_secret
from domogate.domain.estate import Estate
from domogate.domain.people import MANAGE_SCOPE, Client
from domogate.identity.quotas import day_of, print_day
from domogate.ports import Usage
from domogate.services.developer.self_service import MOST_APPLICATIONS, MOST_KEYS, MOST_NEW
from support.clocks import NOW
from support.developer_setup import QUOTA, RATE, DeveloperApi
from support.stores import ANNA, APP, BRUNO, HOUSE, KEY, LAMP

pytestmark = pytest.mark.slow

APPLICATION: dict[str, Any] = {
    "name": "Lamps",
    "confidential": True,
    "redirectUris": ["https://lamps.example/back"],
    "scopes": ["light.read", "openid"],
}


async def register(api: DeveloperApi, **changed: Any) -> tuple[str, str | None]:
    made = await api.ok("POST", "/applications", APPLICATION | changed, status=201)
    return made["application"]["id"], made["secret"]


async def stored(api: DeveloperApi, client_id: str) -> Client:
    found = await api.env.store.find_client(client_id)
    assert found is not None
    return found


class TestApplications:
    async def test_a_developer_registers_changes_and_deletes_an_application(self, api: DeveloperApi) -> None:
        client_id, secret = await register(api)
        client = await stored(api, client_id)
        assert secret is not None
        assert client.secret_hash == hash_secret(secret)
        (listed,) = (await api.ok("GET", "/applications"))["items"]
        assert listed.items() >= (APPLICATION | {"id": client_id}).items()
        assert secret not in str(listed)

        changed = await api.ok(
            "PATCH", f"/applications/{client_id}", {"scopes": ["plug.read"], "origins": ["https://a.example"]}
        )
        assert (changed["name"], changed["scopes"], changed["origins"]) == ("Lamps", ["plug.read"], ["https://a.example"])
        rotated = await api.ok("POST", f"/applications/{client_id}/secret", status=201)
        assert (await stored(api, client_id)).secret_hash == hash_secret(rotated["secret"])

        await api.ok("DELETE", f"/applications/{client_id}", status=204)
        assert await api.env.store.find_client(client_id) is None
        assert (await api.env.noted())[-4:] == ["client saved"] * 3 + ["client deleted"]

    async def test_a_public_application_has_no_secret(self, api: DeveloperApi) -> None:
        client_id, secret = await register(api, confidential=False)
        assert (secret, (await stored(api, client_id)).confidential) == (None, False)
        await api.refused("POST", f"/applications/{client_id}/secret", status=409)

    @pytest.mark.parametrize(
        "wrong",
        [
            {"scopes": [MANAGE_SCOPE]},
            {"scopes": ["developer.use"]},
            {"scopes": ["no.such"]},
            {"scopes": []},
            {"redirectUris": []},
            {"redirectUris": ["localhost:9999/back"]},
            {"redirectUris": ["lamps.example:9999/back"]},
            {"redirectUris": ["lamps://back"]},
            {"postLogoutRedirectUris": ["localhost:9999/"]},
            {"redirectUris": ["http://lamps.example/back"]},
            {"redirectUris": [f"https://lamps.example/{number}" for number in range(11)]},
            {"origins": ["https://lamps.example/" + 1000 * "a"]},
            {"origins": ["https://lamps.example", "https://lamps.example"]},
            {"name": "  "},
        ],
    )
    async def test_a_wrong_registration_is_refused(self, api: DeveloperApi, wrong: dict[str, Any]) -> None:
        await api.refused("POST", "/applications", APPLICATION | wrong, status=422)
        client_id, _ = await register(api)
        before = await stored(api, client_id)
        await api.refused("PATCH", f"/applications/{client_id}", wrong, status=422)
        assert await stored(api, client_id) == before

    @pytest.mark.parametrize(
        ("wrong", "words"),
        [
            ({"redirectUris": []}, "An application that logs people in needs an address to return to"),
            ({"redirectUris": ["localhost:9999/back"]}, "Begin it with https://"),
            ({"scopes": []}, "at least one scope"),
        ],
    )
    async def test_a_refusal_says_what_to_change(self, api: DeveloperApi, wrong: dict[str, Any], words: str) -> None:
        assert words in await api.refused("POST", "/applications", APPLICATION | wrong, status=422)

    async def test_an_application_on_a_phone_returns_by_its_own_scheme(self, api: DeveloperApi) -> None:
        await register(api, confidential=False, redirectUris=["com.example.lamps:/back", "http://localhost:9999/back"])

    async def test_only_an_operator_changes_an_application_with_more_scopes(self, api: DeveloperApi) -> None:
        client_id, _ = await register(api)
        await api.env.people.clients.change(client_id, lambda one: msgspec.structs.replace(one, scopes=(MANAGE_SCOPE,)))
        detail = await api.refused("PATCH", f"/applications/{client_id}", {"name": "Mine"}, status=422)
        assert "operator" in detail

    async def test_applications_of_the_operator_are_not_found(self, api: DeveloperApi) -> None:
        await api.refused("DELETE", f"/applications/{APP.id}", status=404)
        await api.refused("PATCH", "/applications/domogate-pages", {"name": "Mine"}, status=404)

    async def test_each_person_has_a_limited_number(self, api: DeveloperApi) -> None:
        ids = [(await register(api))[0] for _ in range(MOST_APPLICATIONS)]
        assert "limit" in await api.refused("POST", "/applications", APPLICATION, status=409)
        await api.ok("POST", "/applications", APPLICATION, status=201, token=await api.mint(BRUNO))
        await api.ok("DELETE", f"/applications/{ids[0]}", status=204)
        await register(api)

    async def test_deleting_and_registering_again_is_limited_by_day(self, api: DeveloperApi) -> None:
        for _ in range(MOST_NEW):
            client_id, _ = await register(api)
            await api.ok("DELETE", f"/applications/{client_id}", status=204)
        await api.refused("POST", "/keys", {"name": "Key"}, status=429)
        api.env.clock.advance(86_400)
        await api.ok("POST", "/keys", {"name": "Key"}, status=201, token=await api.mint(ANNA))


class TestKeys:
    async def test_a_key_has_the_default_limits_and_shows_its_usage(self, api: DeveloperApi) -> None:
        made = await api.ok("POST", "/keys", {"name": "My key"}, status=201)
        found = await api.env.store.find_subscription(hash_secret(made["key"]))
        assert found is not None
        assert (found.daily_quota, found.rate, found.name) == (QUOTA, RATE, "My key")
        await api.env.store.add_usage([Usage(found.id, print_day(day_of(NOW)), 7), Usage(found.id, "2020-01-01", 3)])
        (listed,) = (await api.ok("GET", "/keys"))["items"]
        assert (listed["usedToday"], listed["dailyQuota"], listed["hint"]) == (7, 500, made["key"][:8])
        assert made["key"] not in str(listed)

    async def test_a_revoked_key_is_gone(self, api: DeveloperApi) -> None:
        made = await api.ok("POST", "/keys", {"name": "My key"}, status=201)
        await api.ok("DELETE", f"/keys/{made['subscription']['id']}", status=204)
        assert await api.env.store.find_subscription(hash_secret(made["key"])) is None
        assert (await api.env.noted())[-2:] == ["key issued", "key revoked"]

    async def test_a_key_that_an_operator_revoked_says_so(self, api: DeveloperApi) -> None:
        made = (await api.ok("POST", "/keys", {"name": "My key"}, status=201))["subscription"]
        assert (made["revokedAt"], made["expiresAt"]) == (None, None)
        await api.env.store.revoke_subscription(made["id"], NOW)
        (listed,) = (await api.ok("GET", "/keys"))["items"]
        assert listed["revokedAt"] is not None

    async def test_each_person_has_a_limited_number(self, api: DeveloperApi) -> None:
        for _ in range(MOST_KEYS):
            await api.ok("POST", "/keys", {"name": "Key"}, status=201)
        await api.refused("POST", "/keys", {"name": "Key"}, status=409)

    async def test_keys_of_the_operator_are_not_found(self, api: DeveloperApi) -> None:
        await api.refused("DELETE", f"/keys/{KEY.id}", status=404)
        assert (await api.ok("GET", "/keys"))["items"] == []


class TestOwners:
    async def test_an_import_keeps_what_people_registered(self, api: DeveloperApi) -> None:
        exported = await api.env.store.export_estate()
        client_id, _ = await register(api)
        made = await api.ok("POST", "/keys", {"name": "Key"}, status=201)
        await api.env.store.import_estate(exported, prune=True)
        await api.env.store.import_estate(await api.env.store.export_estate(), prune=True)
        assert [one["id"] for one in (await api.ok("GET", "/applications"))["items"]] == [client_id]
        assert [one["id"] for one in (await api.ok("GET", "/keys"))["items"]] == [made["subscription"]["id"]]

    async def test_they_are_deleted_with_their_owner(self, api: DeveloperApi) -> None:
        token = await api.mint(BRUNO)
        client_id = (await api.ok("POST", "/applications", APPLICATION, status=201, token=token))["application"]["id"]
        key = (await api.ok("POST", "/keys", {"name": "Key"}, status=201, token=token))["key"]
        await api.env.people.delete_user(BRUNO.id)
        assert await api.env.store.find_client(client_id) is None
        assert await api.env.store.find_subscription(hash_secret(key)) is None


class TestFaults:
    async def test_an_owner_injects_a_fault_into_a_simulated_module_for_a_short_time(self, api: DeveloperApi) -> None:
        path = f"/homes/{HOUSE.id}/modules/{LAMP.id}/faults"
        await api.ok("POST", path, {"fault": "offline", "seconds": 30}, status=201)
        ((plant_id, injection),) = await api.env.store.list_injections()
        assert (plant_id, injection.module_id, injection.fault) == (HOUSE.id, LAMP.id, "offline")
        assert injection.until == api.env.clock.now() + 30
        await api.ok("DELETE", path, status=204)
        assert await api.env.store.list_injections() == []

    @pytest.mark.parametrize("wrong", [{"fault": "battery"}, {"fault": "offline", "seconds": 61}, {"fault": "fire"}])
    async def test_a_wrong_fault_is_400(self, api: DeveloperApi, wrong: dict[str, Any]) -> None:
        await api.refused("POST", f"/homes/{HOUSE.id}/modules/{LAMP.id}/faults", wrong, status=400)

    async def test_a_real_device_gets_none(self, api: DeveloperApi) -> None:
        text = msgspec.json.encode(await api.env.store.export_estate())
        real = msgspec.json.decode(re.sub(rb'"driver":"\w*"', b'"driver":"mqtt"', text), type=Estate)
        await api.env.store.import_estate(real, prune=False)
        await api.refused("POST", f"/homes/{HOUSE.id}/modules/{LAMP.id}/faults", {"fault": "offline"}, status=403)
        assert await api.env.store.list_injections() == []
