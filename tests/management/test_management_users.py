"""Users, their sessions and grants, over HTTP."""

import msgspec
import pytest

from domogate.domain.ids import new_id
from domogate.domain.passkeys import UsedChallenge
from domogate.domain.people import Grant, Standing
from support.management_setup import ManagementApi
from support.people_setup import GOOD_PASSWORD, token_of
from support.stores import ANNA, APP, BRUNO, CARLA, HOUSE, a_passkey, an_id

pytestmark = pytest.mark.slow

NOBODY = an_id(0xDEAD)


class TestListing:
    async def test_pages_hold_everybody_once_in_order(self, api: ManagementApi) -> None:
        everybody, after = [], ""
        for _ in range(10):
            page = await api.ok("GET", f"/users?limit=2{after}")
            assert len(page["items"]) <= 2
            everybody += [user["id"] for user in page["items"]]
            if page["next"] is None:
                break
            after = f"&after={page['next']}"
        assert everybody == sorted({ANNA.id, BRUNO.id, CARLA.id, api.operator.id})

    async def test_one_is_found_by_email_in_any_case(self, api: ManagementApi) -> None:
        found = await api.ok("GET", "/users?email=ANNA@example.com")
        assert [user["id"] for user in found["items"]] == [ANNA.id]
        assert (await api.ok("GET", "/users?email=nobody@example.com"))["items"] == []

    @pytest.mark.parametrize(
        "query", ["limit=0", "limit=201", "limit=x", "limit=1.5", "limit=1&limit=2", "page=2", "after=" + "x" * 301]
    )
    async def test_a_query_that_is_not_as_described_is_400(self, api: ManagementApi, query: str) -> None:
        await api.refused("GET", f"/users?{query}", status=400)

    async def test_nothing_secret_is_shown(self, api: ManagementApi) -> None:
        text = (await api.send("GET", "/users")).text
        assert "hash" not in text
        assert {"id", "email", "name", "active", "standing", "operator", "secondFactor", "language", "termsVersion"} == set(
            await api.ok("GET", f"/users/{ANNA.id}")
        )


class TestCreating:
    async def test_a_user_with_a_link_that_works(self, api: ManagementApi) -> None:
        made = await api.ok("POST", "/users", {"email": "dora@example.com", "name": "Dora"}, status=201)
        assert made["user"]["active"] is False
        assert made["link"]["mailed"] is False
        await api.env.people.redeem_link(token_of(made["link"]["url"]), GOOD_PASSWORD)
        assert (await api.ok("GET", f"/users/{made['user']['id']}"))["active"] is True

    async def test_where_there_is_mail_the_link_is_not_in_the_answer_unless_asked_for(self, api: ManagementApi) -> None:
        api.env.mail.sends = True
        made = await api.ok("POST", "/users", {"email": "dora@example.com"}, status=201)
        assert made["link"] == {"url": None, "mailed": True, "expiresAt": made["link"]["expiresAt"]}
        shown = await api.ok("POST", f"/users/{made['user']['id']}/password-link", {"showLink": True}, status=201)
        assert shown["url"] is not None

    async def test_mail_that_fails_is_502_and_says_what_to_do(self, api: ManagementApi) -> None:
        api.env.mail.failure = OSError("no route")
        assert "shown" in await api.refused("POST", "/users", {"email": "dora@example.com"}, status=502)

    @pytest.mark.parametrize(
        ("body", "status"),
        [
            ({"email": "anna@EXAMPLE.com"}, 409),
            ({"email": "no address"}, 422),
            ({"email": "dora@example.com", "name": "x" * 101}, 422),
            ({"email": "dora@example.com", "password": "let me choose"}, 400),
            ({"email": "dora@example.com", "operator": "yes"}, 400),
            ({"email": None}, 400),
            ({}, 400),
            ([], 400),
            (None, 400),
        ],
    )
    async def test_a_refused_request_creates_no_user(self, api: ManagementApi, body: object, status: int) -> None:
        before = await api.env.store.list_users()
        await api.refused("POST", "/users", body, status=status)
        assert await api.env.store.list_users() == before

    @pytest.mark.parametrize(
        ("content", "status"),
        [
            (b'{"email":"a@example.com","email":"b@example.com"}', 400),
            (b'{"email":NaN}', 400),
            (b'{"email":1e400}', 400),
            (b'{"email":' + b"9" * 1900 + b"}", 400),
            (b"\xff{}", 400),
            ('\ufeff{"email":"a@example.com"}'.encode(), 400),
            (b'{"email":', 400),
            (b"[" * 1900, 400),
            (b'{"email":"' + b"a" * 2000 + b'"}', 413),
        ],
    )
    async def test_a_body_that_is_not_strict_json_is_refused(self, api: ManagementApi, content: bytes, status: int) -> None:
        await api.refused("POST", "/users", content=content, status=status)

    @pytest.mark.parametrize("content_type", ["text/plain", "application/xml", "application/json; charset=utf-16"])
    async def test_a_body_of_another_type_is_415(self, api: ManagementApi, content_type: str) -> None:
        headers = {"content-type": content_type}
        await api.refused("POST", "/users", {"email": "dora@example.com"}, headers=headers, status=415)


class TestChanging:
    async def test_given_fields_change_and_the_others_stay(self, api: ManagementApi) -> None:
        changed = await api.ok("PATCH", f"/users/{ANNA.id}", {"standing": "terms expired"})
        assert (changed["standing"], changed["name"]) == ("terms expired", "Anna")
        changed = await api.ok("PATCH", f"/users/{ANNA.id}", {"name": "Annabella", "operator": True})
        assert (changed["standing"], changed["name"], changed["operator"]) == ("terms expired", "Annabella", True)
        user = await api.env.user(ANNA.id)
        assert (user.standing, user.name, user.operator) == (Standing.TERMS_EXPIRED, "Annabella", True)
        assert user.password_hash == ANNA.password_hash

    async def test_a_new_email_is_not_verified_and_the_old_address_gets_a_notice(self, api: ManagementApi) -> None:
        await api.env.store.save_user(msgspec.structs.replace(ANNA, email_verified=True))
        api.env.mail.sends = True
        changed = await api.ok("PATCH", f"/users/{ANNA.id}", {"email": "anna@example.org"})
        assert changed["email"] == "anna@example.org"
        assert not (await api.env.user(ANNA.id)).email_verified
        assert api.env.mail.sent == [("email_changed", ANNA.email, None)]

    async def test_an_email_of_another_user_or_without_a_domain_changes_nothing(self, api: ManagementApi) -> None:
        body = {"email": BRUNO.email.upper(), "operator": True, "name": "Annabella"}
        assert "already" in await api.refused("PATCH", f"/users/{ANNA.id}", body, status=409)
        await api.refused("PATCH", f"/users/{ANNA.id}", {**body, "email": "anna"}, status=422)
        assert await api.env.user(ANNA.id) == ANNA

    async def test_the_language_is_set_and_taken_back(self, api: ManagementApi) -> None:
        assert (await api.ok("PATCH", f"/users/{ANNA.id}", {"language": "it"}))["language"] == "it"
        assert (await api.ok("PATCH", f"/users/{ANNA.id}", {"name": "Annabella"}))["language"] == "it"
        assert (await api.ok("PATCH", f"/users/{ANNA.id}", {"language": None}))["language"] is None
        assert "de, en, fr, it" in await api.refused("PATCH", f"/users/{ANNA.id}", {"language": "pt"}, status=422)

    async def test_a_change_that_is_partly_refused_is_not_made_at_all(self, api: ManagementApi) -> None:
        body = {"name": "x" * 101, "operator": True, "standing": "terms expired"}
        await api.refused("PATCH", f"/users/{ANNA.id}", body, status=422)
        detail = await api.refused("PATCH", f"/users/{api.operator.id}", {"operator": False, "name": "Olga II"}, status=409)
        assert "last operator" in detail
        assert await api.env.user(ANNA.id) == ANNA
        assert (await api.env.user(api.operator.id)).name == "Olga"

    @pytest.mark.parametrize("body", [{"standing": "bad"}, {"active": True}, {"name": None}, {"operator": 1}])
    async def test_a_field_that_cannot_be_changed_is_400(self, api: ManagementApi, body: object) -> None:
        await api.refused("PATCH", f"/users/{ANNA.id}", body, status=400)

    async def test_the_second_factor_is_removed_once(self, api: ManagementApi) -> None:
        await api.refused("DELETE", f"/users/{ANNA.id}/second-factor", status=409)

    async def test_passkeys_are_listed_and_removed(self, api: ManagementApi) -> None:
        path = f"/users/{ANNA.id}/passkeys"
        assert (await api.ok("GET", path))["items"] == []
        session = await api.env.open_session(ANNA.id)
        for number in (1, 2):
            passkey = a_passkey(number, created_at=1_800_000_000.0)
            await api.env.store.add_passkey(passkey, UsedChallenge(passkey.id, 1_800_000_300.0), session.id)
        (one, _) = (await api.ok("GET", path))["items"]
        assert {**one, "id": ""} == {"id": "", "name": "Phone", "createdAt": "2027-01-15T08:00:00Z", "usedAt": None}
        assert (await api.ok("GET", f"/users/{ANNA.id}"))["secondFactor"] is True
        await api.refused("DELETE", f"/users/{BRUNO.id}/passkeys/{one['id']}", status=404)
        await api.ok("DELETE", f"{path}/{one['id']}", status=204)
        await api.refused("DELETE", f"{path}/{one['id']}", status=404)
        await api.ok("DELETE", f"/users/{ANNA.id}/second-factor", status=204)
        assert (await api.ok("GET", path))["items"] == []
        assert (await api.ok("GET", f"/users/{ANNA.id}"))["secondFactor"] is False

    async def test_accounts_of_other_issuers_are_listed_and_unbound(self, api: ManagementApi) -> None:
        path = f"/users/{ANNA.id}/external-accounts"
        assert (await api.ok("GET", path))["items"] == []
        await api.refused("DELETE", path, status=409)
        await api.env.store.bind_external_account("https://id.example", "anna-at-id", ANNA.email, 1_800_000_000.0)
        (account,) = (await api.ok("GET", path))["items"]
        assert (account["issuer"], account["subject"]) == ("https://id.example", "anna-at-id")
        await api.ok("DELETE", path, status=204)
        assert (await api.ok("GET", path))["items"] == []


class TestDeleting:
    async def test_a_deleted_user_does_not_exist_any_more(self, api: ManagementApi) -> None:
        await api.ok("DELETE", f"/users/{BRUNO.id}", status=204)
        await api.refused("GET", f"/users/{BRUNO.id}", status=404)

    async def test_an_owner_is_not_deleted_and_the_detail_names_the_plant(self, api: ManagementApi) -> None:
        assert HOUSE.name in await api.refused("DELETE", f"/users/{ANNA.id}", status=409)

    @pytest.mark.parametrize("user_id", [NOBODY, "x", "%2e%2e%2f", ANNA.id + "0", "%00", "%7B" + ANNA.id + "%7D"])
    async def test_an_unknown_user_is_404(self, api: ManagementApi, user_id: str) -> None:
        for method, path in (("GET", ""), ("DELETE", ""), ("DELETE", "/sessions"), ("GET", "/grants"), ("GET", "/plants")):
            await api.refused(method, f"/users/{user_id}{path}", status=404)


class TestTheirSessionsGrantsAndPlants:
    async def test_sessions_are_listed_and_ended(self, api: ManagementApi) -> None:
        session = await api.env.open_session(ANNA.id, "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0")
        listed = await api.ok("GET", f"/users/{ANNA.id}/sessions")
        assert [one["id"] for one in listed["items"]] == [session.id]
        assert session.token_hash not in str(listed)
        assert (listed["items"][0]["browser"], listed["items"][0]["system"]) == ("Firefox", "Linux")
        await api.ok("DELETE", f"/users/{ANNA.id}/sessions", status=204)
        assert (await api.ok("GET", f"/users/{ANNA.id}/sessions"))["items"] == []

    async def test_grants_are_listed_and_revoked_and_only_those_of_that_user(self, api: ManagementApi) -> None:
        grants = [Grant(new_id(), ANNA.id, APP.id, ("light.read",), created_at=float(n)) for n in range(3)]
        for grant in grants:
            await api.env.store.add_grant(grant)
        assert len((await api.ok("GET", f"/users/{ANNA.id}/grants"))["items"]) == 3
        await api.refused("DELETE", f"/users/{BRUNO.id}/grants/{grants[0].id}", status=404)
        await api.ok("DELETE", f"/users/{ANNA.id}/grants/{grants[0].id}", status=204)
        assert len((await api.ok("GET", f"/users/{ANNA.id}/grants"))["items"]) == 2
        await api.ok("DELETE", f"/users/{ANNA.id}/grants", status=204)
        assert (await api.ok("GET", f"/users/{ANNA.id}/grants"))["items"] == []

    async def test_a_revoked_token_is_refused_from_the_next_call(self, api: ManagementApi) -> None:
        await api.ok("PATCH", f"/users/{ANNA.id}", {"operator": True})
        annas = await api.mint(ANNA)
        await api.ok("GET", "/users", token=annas)
        (grant,) = (await api.ok("GET", f"/users/{ANNA.id}/grants"))["items"]
        assert grant["clientId"] == "console"
        await api.ok("DELETE", f"/users/{ANNA.id}/grants/{grant['id']}", status=204)
        await api.refused("GET", "/users", token=annas, status=401)

    async def test_their_plants_are_listed(self, api: ManagementApi) -> None:
        for user in (ANNA, BRUNO):
            assert [plant["id"] for plant in (await api.ok("GET", f"/users/{user.id}/plants"))["items"]] == [HOUSE.id]
        assert (await api.ok("GET", f"/users/{CARLA.id}/plants"))["items"] == []
