"""Users, their sessions and grants, over HTTP."""

import pytest

from domogate.domain.ids import new_id
from domogate.domain.people import Grant, Standing
from support.management import Office
from support.people import GOOD_PASSWORD, token_of
from support.stores import ANNA, APP, BRUNO, CARLA, HOUSE, an_id

pytestmark = pytest.mark.slow

NOBODY = an_id(0xDEAD)


class TestListing:
    async def test_pages_hold_everybody_once_in_order(self, office: Office) -> None:
        everybody, after = [], ""
        for _ in range(10):
            page = await office.good("GET", f"/users?limit=2{after}")
            assert len(page["items"]) <= 2
            everybody += [user["id"] for user in page["items"]]
            if page["next"] is None:
                break
            after = f"&after={page['next']}"
        assert everybody == sorted({ANNA.id, BRUNO.id, CARLA.id, office.olga.id})

    async def test_one_is_found_by_email_in_any_case(self, office: Office) -> None:
        found = await office.good("GET", "/users?email=ANNA@example.com")
        assert [user["id"] for user in found["items"]] == [ANNA.id]
        assert (await office.good("GET", "/users?email=nobody@example.com"))["items"] == []

    @pytest.mark.parametrize(
        "query", ["limit=0", "limit=201", "limit=x", "limit=1.5", "limit=1&limit=2", "page=2", "after=" + "x" * 301]
    )
    async def test_a_query_that_is_not_as_described_is_400(self, office: Office, query: str) -> None:
        await office.refused("GET", f"/users?{query}", status=400)

    async def test_nothing_secret_is_shown(self, office: Office) -> None:
        text = (await office.send("GET", "/users")).text
        assert "hash" not in text
        assert {"id", "email", "name", "active", "standing", "operator", "secondFactor"} == set(
            await office.good("GET", f"/users/{ANNA.id}")
        )


class TestMaking:
    async def test_a_user_with_a_link_that_works(self, office: Office) -> None:
        made = await office.good("POST", "/users", {"email": "dora@example.com", "name": "Dora"}, status=201)
        assert made["user"]["active"] is False
        assert made["link"]["mailed"] is False
        await office.village.people.redeem_link(token_of(made["link"]["url"]), GOOD_PASSWORD)
        assert (await office.good("GET", f"/users/{made['user']['id']}"))["active"] is True

    async def test_where_there_is_mail_the_link_is_not_in_the_answer_unless_asked_for(self, office: Office) -> None:
        office.village.mail.sends = True
        made = await office.good("POST", "/users", {"email": "dora@example.com"}, status=201)
        assert made["link"] == {"url": None, "mailed": True, "expiresAt": made["link"]["expiresAt"]}
        shown = await office.good("POST", f"/users/{made['user']['id']}/password-link", {"showLink": True}, status=201)
        assert shown["url"] is not None

    async def test_mail_that_fails_is_502_and_says_what_to_do(self, office: Office) -> None:
        office.village.mail.failure = OSError("no route")
        assert "shown" in await office.refused("POST", "/users", {"email": "dora@example.com"}, status=502)

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
    async def test_what_is_refused_makes_nobody(self, office: Office, body: object, status: int) -> None:
        before = await office.village.store.list_users()
        await office.refused("POST", "/users", body, status=status)
        assert await office.village.store.list_users() == before

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
    async def test_a_body_that_is_no_good_json(self, office: Office, content: bytes, status: int) -> None:
        await office.refused("POST", "/users", content=content, status=status)

    @pytest.mark.parametrize("content_type", ["text/plain", "application/xml", "application/json; charset=utf-16"])
    async def test_a_body_of_another_type_is_415(self, office: Office, content_type: str) -> None:
        headers = {"content-type": content_type}
        await office.refused("POST", "/users", {"email": "dora@example.com"}, headers=headers, status=415)


class TestChanging:
    async def test_what_is_given_changes_and_the_rest_stays(self, office: Office) -> None:
        changed = await office.good("PATCH", f"/users/{ANNA.id}", {"standing": "terms expired"})
        assert (changed["standing"], changed["name"]) == ("terms expired", "Anna")
        changed = await office.good("PATCH", f"/users/{ANNA.id}", {"name": "Annabella", "operator": True})
        assert (changed["standing"], changed["name"], changed["operator"]) == ("terms expired", "Annabella", True)
        user = await office.village.user(ANNA.id)
        assert (user.standing, user.name, user.operator) == (Standing.TERMS_EXPIRED, "Annabella", True)
        assert user.password_hash == ANNA.password_hash

    async def test_a_change_that_is_refused_in_part_is_not_made_at_all(self, office: Office) -> None:
        body = {"name": "x" * 101, "operator": True, "standing": "terms expired"}
        await office.refused("PATCH", f"/users/{ANNA.id}", body, status=422)
        detail = await office.refused("PATCH", f"/users/{office.olga.id}", {"operator": False, "name": "Olga II"}, status=409)
        assert "last operator" in detail
        assert await office.village.user(ANNA.id) == ANNA
        assert (await office.village.user(office.olga.id)).name == "Olga"

    @pytest.mark.parametrize("body", [{"standing": "bad"}, {"email": "new@example.com"}, {"name": None}, {"operator": 1}])
    async def test_what_cannot_be_changed_is_400(self, office: Office, body: object) -> None:
        await office.refused("PATCH", f"/users/{ANNA.id}", body, status=400)

    async def test_the_second_factor_is_taken_away_once(self, office: Office) -> None:
        await office.refused("DELETE", f"/users/{ANNA.id}/second-factor", status=409)


class TestDeleting:
    async def test_they_are_gone(self, office: Office) -> None:
        await office.good("DELETE", f"/users/{BRUNO.id}", status=204)
        await office.refused("GET", f"/users/{BRUNO.id}", status=404)

    async def test_an_owner_is_kept_with_the_name_of_the_plant(self, office: Office) -> None:
        assert HOUSE.name in await office.refused("DELETE", f"/users/{ANNA.id}", status=409)

    @pytest.mark.parametrize("user_id", [NOBODY, "x", "%2e%2e%2f", ANNA.id + "0", "%00", "%7B" + ANNA.id + "%7D"])
    async def test_who_is_not_there_is_404(self, office: Office, user_id: str) -> None:
        for method, path in (("GET", ""), ("DELETE", ""), ("DELETE", "/sessions"), ("GET", "/grants"), ("GET", "/plants")):
            await office.refused(method, f"/users/{user_id}{path}", status=404)


class TestTheirSessionsGrantsAndPlants:
    async def test_sessions_are_listed_and_ended(self, office: Office) -> None:
        session = await office.village.open_session(ANNA.id)
        listed = await office.good("GET", f"/users/{ANNA.id}/sessions")
        assert [one["id"] for one in listed["items"]] == [session.id]
        assert session.token_hash not in str(listed)
        await office.good("DELETE", f"/users/{ANNA.id}/sessions", status=204)
        assert (await office.good("GET", f"/users/{ANNA.id}/sessions"))["items"] == []

    async def test_grants_are_listed_and_revoked_and_only_those_of_that_user(self, office: Office) -> None:
        grants = [Grant(new_id(), ANNA.id, APP.id, ("light.read",), created_at=float(n)) for n in range(3)]
        for grant in grants:
            await office.village.store.add_grant(grant)
        assert len((await office.good("GET", f"/users/{ANNA.id}/grants"))["items"]) == 3
        await office.refused("DELETE", f"/users/{BRUNO.id}/grants/{grants[0].id}", status=404)
        await office.good("DELETE", f"/users/{ANNA.id}/grants/{grants[0].id}", status=204)
        assert len((await office.good("GET", f"/users/{ANNA.id}/grants"))["items"]) == 2
        await office.good("DELETE", f"/users/{ANNA.id}/grants", status=204)
        assert (await office.good("GET", f"/users/{ANNA.id}/grants"))["items"] == []

    async def test_a_revoked_token_is_refused_from_the_next_call(self, office: Office) -> None:
        await office.good("PATCH", f"/users/{ANNA.id}", {"operator": True})
        annas = await office.mint(ANNA)
        await office.good("GET", "/users", token=annas)
        (grant,) = (await office.good("GET", f"/users/{ANNA.id}/grants"))["items"]
        assert grant["clientId"] == "console"
        await office.good("DELETE", f"/users/{ANNA.id}/grants/{grant['id']}", status=204)
        await office.refused("GET", "/users", token=annas, status=401)

    async def test_their_plants_are_listed(self, office: Office) -> None:
        for user in (ANNA, BRUNO):
            assert [plant["id"] for plant in (await office.good("GET", f"/users/{user.id}/plants"))["items"]] == [HOUSE.id]
        assert (await office.good("GET", f"/users/{CARLA.id}/plants"))["items"] == []
