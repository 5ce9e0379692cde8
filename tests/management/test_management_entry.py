"""Who gets in: over all operations, nobody but an operator with an access token that has the scope."""

from typing import Any

import msgspec
import pytest

from domogate.domain.commands import Order, SetLight
from domogate.domain.people import MANAGE_SCOPE, Grant, GrantType, Scope, TokenKind, User
from domogate.domain.webhooks import Webhook
from domogate.http_api.operations import Operation
from domogate.management import safety
from domogate.management.surface import SURFACE
from support.management import Office, problem
from support.safety_site import SITE, site_estate
from support.stores import ANNA, APP, BRUNO, CARLA, HOUSE, KEY, LAMP, NOW, SCENE, an_id

pytestmark = pytest.mark.slow

OPERATIONS = SURFACE.operations
EXAMPLES = {
    "userId": BRUNO.id,
    "grantId": an_id(5),
    "clientId": APP.id,
    "plantId": HOUSE.id,
    "email": CARLA.email,
    "subscriptionId": KEY.id,
    "moduleId": LAMP.id,
    "orderId": "an order",
    "webhookId": an_id(600),
}
OTHER_EXAMPLES = {
    "runScene": {"moduleId": SCENE.id},
    **{operation.id: {"plantId": SITE.id} for operation in safety.OPERATIONS},
}
BODIES: dict[str, Any] = {
    "createUser": {"email": "eve@example.com", "operator": True},
    "changeUser": {"operator": True},
    "issuePasswordLink": {"showLink": True},
    "createClient": {"id": "eve", "name": "Eve", "confidential": False, "redirectUris": ["https://eve.example/"]},
    "changeClient": {"redirectUris": ["https://eve.example/"]},
    "changePlant": {"status": "removed"},
    "invite": {"email": "eve@example.com"},
    "createSubscription": {"name": "eve"},
    "rotateSigningKeys": {"emergency": True},
    "commandModule": {"do": "set light", "on": False},
    "injectFault": {"fault": "slow"},
    "replayDeadLetters": {},
    "writeLogbook": {"kind": "note", "by": "Eve", "words": "all is well"},
}


WEBHOOK = Webhook(
    id=EXAMPLES["webhookId"],
    client_id=APP.id,
    user_id=ANNA.id,
    grant_id=an_id(5),
    plant_id=HOUSE.id,
    url="https://receiver.example/",
    secret="whsec_c2VjcmV0",
    created_at=NOW,
    position=0,
)


def path_of(operation: Operation) -> str:
    return operation.path.format(**EXAMPLES | OTHER_EXAMPLES.get(operation.id, {}))


async def everything(office: Office) -> bytes:
    """All that an operation could change."""
    store = office.village.store
    estate = await store.export_estate()
    sessions = [await store.list_sessions(user.id) for user in estate.users]
    orders, faults = await store.list_orders(None, None, None, None, 100), await store.list_injections()
    logged, webhooks = await store.list_logbook(SITE.id, limit=100), await store.list_webhooks()
    return msgspec.json.encode([estate, await store.list_signing_keys(), sessions, orders, faults, logged, webhooks])


class TestEveryOperation:
    """Over the whole table: the same refusal from each, in the shape of a problem, and nothing is changed."""

    async def refuse(self, office: Office, token: str, status: int, challenge: str = "") -> None:
        await office.village.open_session(BRUNO.id)
        await office.village.store.import_estate(site_estate([]), prune=False)
        await office.village.store.add_webhook(WEBHOOK)
        before = await everything(office)
        for operation in OPERATIONS:
            answer = await office.send(operation.method, path_of(operation), BODIES.get(operation.id), token=token)
            problem(answer, status)
            assert challenge in answer.headers.get("www-authenticate", ""), operation.id
        assert await everything(office) == before

    def test_the_table_of_bodies_is_whole(self) -> None:
        assert BODIES.keys() == {operation.id for operation in OPERATIONS if operation.body is not None}

    async def test_each_would_have_been_done_by_an_operator(self, driven: Office) -> None:
        """So that no refusal below is one for another reason."""
        office = driven
        await office.village.store.import_estate(site_estate([]), prune=False)
        order = Order(EXAMPLES["orderId"], HOUSE.id, LAMP.id, SetLight(on=True), NOW + 5)
        await office.village.store.add_orders((order,), NOW, sent=True)
        await office.village.store.add_webhook(WEBHOOK)
        await office.village.people.set_operator(ANNA.id, True)
        await office.village.store.add_grant(Grant(EXAMPLES["grantId"], BRUNO.id, APP.id, ("light.read",)))
        await office.village.people.change_user(BRUNO.id, lambda user: msgspec.structs.replace(user, totp_secret="A" * 16))
        last = (
            "removeWebhook",
            "changePlant",
            "withdrawUser",
            "revokeGrants",
            "deleteUser",
            "deleteClient",
            "rotateSigningKeys",
        )
        ordered = sorted(OPERATIONS, key=lambda operation: last.index(operation.id) if operation.id in last else -1)
        for operation in ordered:
            answer = await office.send(operation.method, path_of(operation), BODIES.get(operation.id))
            assert answer.status_code == operation.status, f"{operation.id}: {answer.text}"

    async def test_without_a_token_it_is_401(self, office: Office) -> None:
        await self.refuse(office, "", 401, 'Bearer realm="domogate"')

    async def test_with_a_token_that_is_none_it_is_401(self, office: Office) -> None:
        await self.refuse(office, "x.y.z", 401, 'error="invalid_token"')

    async def test_with_an_operators_token_without_the_scope_it_is_403(self, office: Office) -> None:
        scopes = (*map(str, Scope), "openid", "gateway.managed", "GATEWAY.MANAGE")
        token = await office.mint(office.olga, scopes=scopes)
        await self.refuse(office, token, 403, f'error="insufficient_scope", scope="{MANAGE_SCOPE}"')

    @pytest.mark.parametrize("user", [ANNA, BRUNO], ids=["owner", "guest"])
    async def test_with_the_scope_but_no_operator_it_is_403(self, office: Office, user: User) -> None:
        await self.refuse(office, await office.mint(user), 403)

    async def test_with_an_id_token_it_is_401(self, office: Office) -> None:
        await self.refuse(office, await office.mint(office.olga, kind=TokenKind.ID), 401, "invalid_token")

    async def test_with_an_implicit_token_it_is_401(self, office: Office) -> None:
        await self.refuse(office, await office.mint(office.olga, flow=GrantType.IMPLICIT), 401, "invalid_token")


class TestFromOneRequestToTheNext:
    async def test_who_is_no_operator_any_more_is_refused_and_that_is_noted(self, office: Office) -> None:
        await office.good("GET", "/users")
        await office.village.people.set_operator(ANNA.id, True)
        await office.village.people.set_operator(office.olga.id, False)
        assert "operator" in await office.refused("GET", "/users", status=403)
        assert (await office.village.noted())[-1] == "refusal"

    async def test_a_deleted_operator_a_revoked_grant_and_an_expired_token_are_refused(self, office: Office) -> None:
        short = await office.mint(office.olga, lifetime=10)
        await office.good("GET", "/users", token=short)
        office.village.clock.at += 100
        await office.refused("GET", "/users", token=short, status=401)
        await office.good("GET", "/users")
        await office.village.people.revoke_grants(office.olga.id)
        await office.refused("GET", "/users", status=401)
        token = await office.mint(office.olga)
        await office.village.people.set_operator(ANNA.id, True)
        await office.village.people.delete_user(office.olga.id)
        await office.refused("GET", "/users", token=token, status=401)


class TestTheAuthorizationHeader:
    @pytest.mark.parametrize("value", ["", "Bearer", "Bearer ", "Basic b2xnYTp4", "{token}", "Token {token}"])
    async def test_anything_but_a_bearer_token_is_401(self, office: Office, value: str) -> None:
        headers = {"authorization": value.replace("{token}", office.token)}
        assert "Authorization" in await office.refused("GET", "/users", token="", headers=headers, status=401)

    async def test_the_scheme_is_taken_in_any_case(self, office: Office) -> None:
        await office.good("GET", "/users", token="", headers={"authorization": f"bEARER {office.token}"})

    async def test_two_of_them_are_401(self, office: Office) -> None:
        headers = [("authorization", f"Bearer {office.token}")] * 2
        answer = await office.http.get("/manage/v1/users", headers=headers)
        assert "more than once" in problem(answer, 401)

    async def test_a_token_in_the_query_is_not_read(self, office: Office) -> None:
        await office.refused("GET", f"/users?access_token={office.token}", token="", status=401)

    async def test_no_subscription_key_is_asked_for(self, office: Office) -> None:
        await office.good("GET", "/users")


class TestWrongUrlsAndMethods:
    @pytest.mark.parametrize(
        "path",
        ["", "/", "/users/", "/user", "/Users", "//users", "/users/%ff", "/plants//invitations", "/../users", "/users%2f"],
    )
    async def test_there_is_nothing_there(self, office: Office, path: str) -> None:
        answer = await office.http.send(office.http.build_request("GET", "https://gateway.example/manage/v1" + path))
        assert "openapi.json" in problem(answer, 404) or answer.status_code == 404

    async def test_another_version_is_not_there(self, office: Office) -> None:
        problem(await office.http.get("/manage/v2/users"), 404)
        problem(await office.http.get("/manage/v1users"), 404)

    @pytest.mark.parametrize(
        ("method", "path", "allow"),
        [("PUT", "/users", "GET, POST"), ("TRACE", "/audit", "GET"), ("POST", f"/users/{ANNA.id}", "DELETE, GET, PATCH")],
    )
    async def test_a_wrong_method_is_told_the_right_ones(self, office: Office, method: str, path: str, allow: str) -> None:
        answer = await office.send(method, path)
        problem(answer, 405)
        assert answer.headers["allow"] == allow

    async def test_what_fails_inside_tells_nothing_of_it(self, office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
        async def fail() -> None:
            raise RuntimeError("the secret of the insides")

        monkeypatch.setattr(office.village.store, "list_users", fail)
        assert "insides" not in await office.refused("GET", "/users", status=500)
