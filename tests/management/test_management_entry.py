"""Credentials: every operation is only for an operator with an access token that has the scope."""

from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from domogate.domain.commands import Order, SetLight
from domogate.domain.estate import EstatePlant
from domogate.domain.ids import Id
from domogate.domain.invitation_links import InvitationLink
from domogate.domain.passkeys import UsedChallenge
from domogate.domain.people import MANAGE_SCOPE, Grant, GrantType, Scope, TokenKind, User
from domogate.domain.plants import Floor, Topology
from domogate.http_api.operations import Operation
from domogate.management import safety
from domogate.management.surface import SURFACE
from domogate.ports import DriverConnection, LogbookFilter, OrderFilter
from support.clocks import NOW
from support.hostile_requests import Attack, send_hostile_requests
from support.management_setup import ManagementApi
from support.safety_site import SITE, site_estate
from support.stores import (
    ANNA,
    APP,
    BRUNO,
    CARLA,
    GROUND,
    HALL,
    HOUSE,
    HOUSE_TOPOLOGY,
    KEY,
    LAMP,
    PLUG,
    SCENE,
    a_passkey,
    a_webhook,
    an_id,
)
from support.token_api import problem

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
    "webhookId": a_webhook().id,
    "passkeyId": an_id(800),
    "number": "1",
    "floorId": GROUND.id,
    "ambientId": HALL.id,
    "driver": "simulator",
    "linkId": an_id(780),
}
LINK = InvitationLink(Id(EXAMPLES["linkId"]), "hash of a token", HOUSE.id, ANNA.id, "Emil", NOW, NOW + 3600)
OTHER_EXAMPLES: dict[str, dict[str, str]] = {
    "runScene": {"moduleId": SCENE.id},
    "deleteModule": {"moduleId": PLUG.id},
    "deleteFloor": {"floorId": an_id(950)},
    "setConnection": {"driver": "mqtt"},
    "deleteConnection": {"driver": "mqtt"},
    **{operation.id: {"plantId": SITE.id} for operation in safety.OPERATIONS},
}
QUERIES = {"getOptionsSchema": "?kind=light"}
BODIES: dict[str, Any] = {
    "createUser": {"email": "eve@example.com", "operator": True},
    "changeUser": {"operator": True},
    "issuePasswordLink": {"showLink": True},
    "createClient": {"id": "eve", "name": "Eve", "confidential": False, "redirectUris": ["https://eve.example/"]},
    "changeClient": {"redirectUris": ["https://eve.example/"]},
    "changePlant": {"status": "removed"},
    "createPlant": {"name": "Villa", "type": "house", "owner": "olga@example.com"},
    "createFloor": {"name": "Attic"},
    "changeFloor": {"name": "First floor"},
    "createAmbient": {"name": "Cellar"},
    "changeAmbient": {"name": "Entrance"},
    "setConnection": {"url": "mqtt://127.0.0.1:1"},
    "createModule": {"name": "Spot", "kind": "light", "driver": "simulator"},
    "discover": {"driver": "simulator"},
    "createPlacement": {"modules": [{"name": "Spot", "kind": "light", "driver": "simulator"}]},
    "deleteModules": {"ids": [an_id(404)]},
    "changeModule": {"name": "Ceiling lamp"},
    "invite": {"email": "eve@example.com"},
    **{key: {"document": "users: [{email: eve@example.com}]"} for key in ("checkEstate", "compareEstate", "importEstate")},
    "changeMember": {"limits": {"modules": [LAMP.id]}},
    "changeInvitation": {"limits": {"modules": [LAMP.id]}},
    "createSubscription": {"name": "eve"},
    "rotateSigningKeys": {"emergency": True},
    "commandModule": {"do": "set light", "on": False},
    "injectFault": {"fault": "slow"},
    "replayDeadLetters": {},
    "verifyAudit": {},
    "writeLogbook": {"kind": "note", "by": "Eve", "words": "all is well"},
}


def module_path(operation: Operation, others: Mapping[str, str] | None = None) -> str:
    ids = EXAMPLES | OTHER_EXAMPLES.get(operation.id, {}) | dict(others or {})
    return operation.path.format(**ids) + QUERIES.get(operation.id, "")


async def everything(api: ManagementApi) -> bytes:
    """Everything that an operation could change."""
    store = api.env.store
    estate = await store.export_estate()
    logins = [(await store.list_sessions(user.id), await store.list_passkeys(user.id)) for user in estate.users]
    orders, faults = await store.list_orders(OrderFilter(), 100), await store.list_injections()
    logged, webhooks = await store.list_logbook(SITE.id, LogbookFilter(), 100), await store.list_webhooks()
    brokers, links = await store.list_connections(), await store.list_invitation_links(HOUSE.id, NOW)
    keys = await store.list_signing_keys()
    return msgspec.json.encode([estate, keys, logins, orders, faults, logged, webhooks, brokers, links])


async def add_passkey(api: ManagementApi) -> None:
    session = await api.env.open_session(BRUNO.id)
    assert await api.env.store.add_passkey(a_passkey(800, BRUNO), UsedChallenge("challenge", NOW), session.id)


class TestEveryOperation:
    """Every operation gives the same refusal as a problem, and changes nothing."""

    async def refuse(self, api: ManagementApi, token: str, status: int, challenge: str = "") -> None:
        await add_passkey(api)
        await api.env.store.import_estate(site_estate([]), prune=False)
        await api.env.store.add_webhook(a_webhook())
        await api.env.store.add_invitation_link(LINK, 1)
        before = await everything(api)
        for operation in OPERATIONS:
            answer = await api.send(operation.method, module_path(operation), BODIES.get(operation.id), token=token)
            problem(answer, status)
            assert challenge in answer.headers.get("www-authenticate", ""), operation.id
        assert await everything(api) == before

    def test_the_table_of_bodies_is_whole(self) -> None:
        assert BODIES.keys() == {operation.id for operation in OPERATIONS if operation.body is not None}

    async def test_an_operator_can_do_each(self, driven: ManagementApi) -> None:
        """So the refusals below have no other reason."""
        api = driven
        await api.env.store.import_estate(site_estate([]), prune=False)
        attic = Floor(an_id(950), an_id(951), "Attic")
        more = Topology((GROUND, attic), HOUSE_TOPOLOGY.ambients, HOUSE_TOPOLOGY.modules)
        await api.env.store.edit_plant(HOUSE.id, lambda now: EstatePlant(now.plant, more))
        order = Order(EXAMPLES["orderId"], HOUSE.id, LAMP.id, SetLight(on=True), NOW + 5)
        await api.env.store.add_orders((order,), NOW, sent=True)
        await api.env.store.add_webhook(a_webhook())
        await api.env.store.add_invitation_link(LINK, 1)
        await api.env.store.set_connection(DriverConnection("mqtt", "mqtt://127.0.0.1:1"))
        await api.env.people.set_operator(ANNA.id, True)
        await api.env.store.add_grant(Grant(Id(EXAMPLES["grantId"]), BRUNO.id, APP.id, ("light.read",)))
        await api.env.people.change_user(BRUNO.id, lambda user: msgspec.structs.replace(user, totp_secret="A" * 16))
        await add_passkey(api)
        await api.env.store.bind_external_account("https://id.example", "bruno-at-id", BRUNO.email, NOW)
        last = (
            "resetSecondFactor",
            "removeWebhook",
            "withdrawInvitation",
            "withdrawInvitationLink",
            "changePlant",
            "withdrawUser",
            "revokeGrants",
            "deleteUser",
            "deleteClient",
            "rotateSigningKeys",
        )
        ordered = sorted(OPERATIONS, key=lambda operation: last.index(operation.id) if operation.id in last else -1)
        for operation in ordered:
            if operation.id == "listen":  # It does not end. tests/end_to_end/test_operators_view.py listens.
                continue
            if operation.id == "setConnection":  # It needs a broker. test_management_connections.py has one.
                continue
            answer = await api.send(operation.method, module_path(operation), BODIES.get(operation.id))
            assert answer.status_code == operation.status, f"{operation.id}: {answer.text}"

    async def test_without_a_token_it_is_401(self, api: ManagementApi) -> None:
        await self.refuse(api, "", 401, 'Bearer realm="domogate"')

    async def test_with_an_invalid_token_it_is_401(self, api: ManagementApi) -> None:
        await self.refuse(api, "x.y.z", 401, 'error="invalid_token"')

    async def test_with_an_operators_token_without_the_scope_it_is_403(self, api: ManagementApi) -> None:
        scopes = (*map(str, Scope), "openid", "gateway.managed", "GATEWAY.MANAGE")
        token = await api.mint(api.operator, scopes=scopes)
        await self.refuse(api, token, 403, f'error="insufficient_scope", scope="{MANAGE_SCOPE}"')

    @pytest.mark.parametrize("user", [ANNA, BRUNO], ids=["owner", "guest"])
    async def test_with_the_scope_but_a_user_who_is_not_an_operator_it_is_403(self, api: ManagementApi, user: User) -> None:
        await self.refuse(api, await api.mint(user), 403)

    async def test_with_an_id_token_it_is_401(self, api: ManagementApi) -> None:
        await self.refuse(api, await api.mint(api.operator, kind=TokenKind.ID), 401, "invalid_token")

    async def test_with_an_implicit_token_it_is_401(self, api: ManagementApi) -> None:
        await self.refuse(api, await api.mint(api.operator, flow=GrantType.IMPLICIT), 401, "invalid_token")

    async def test_hostile_requests_are_refused_in_words(self, driven: ManagementApi) -> None:
        attack = Attack(SURFACE, module_path, BODIES, frozenset({"listen", "rotateSigningKeys"}), share=4)
        assert await send_hostile_requests(driven, attack) == []
        for operation in OPERATIONS:
            if operation.is_list:
                answer = await driven.send("GET", module_path(operation))
                assert answer.status_code in (200, 404), f"{operation.id}: {answer.text}"


class TestChangesBetweenRequests:
    async def test_a_former_operator_is_refused_and_the_refusal_is_noted(self, api: ManagementApi) -> None:
        await api.ok("GET", "/users")
        await api.env.people.set_operator(ANNA.id, True)
        await api.env.people.set_operator(api.operator.id, False)
        assert "operator" in await api.refused("GET", "/users", status=403)
        assert (await api.env.noted())[-1] == "refusal"

    async def test_a_deleted_operator_a_revoked_grant_and_an_expired_token_are_refused(self, api: ManagementApi) -> None:
        short = await api.mint(api.operator, lifetime=10)
        await api.ok("GET", "/users", token=short)
        api.env.clock.at += 100
        await api.refused("GET", "/users", token=short, status=401)
        await api.ok("GET", "/users")
        await api.env.people.revoke_grants(api.operator.id)
        await api.refused("GET", "/users", status=401)
        token = await api.mint(api.operator)
        await api.env.people.set_operator(ANNA.id, True)
        await api.env.people.delete_user(api.operator.id)
        await api.refused("GET", "/users", token=token, status=401)


class TestTheAuthorizationHeader:
    @pytest.mark.parametrize("value", ["", "Bearer", "Bearer ", "Basic b2xnYTp4", "{token}", "Token {token}"])
    async def test_anything_but_a_bearer_token_is_401(self, api: ManagementApi, value: str) -> None:
        headers = {"authorization": value.replace("{token}", api.token)}
        assert "Authorization" in await api.refused("GET", "/users", token="", headers=headers, status=401)

    async def test_the_scheme_is_taken_in_any_case(self, api: ManagementApi) -> None:
        await api.ok("GET", "/users", token="", headers={"authorization": f"bEARER {api.token}"})

    async def test_two_of_them_are_401(self, api: ManagementApi) -> None:
        headers = [("authorization", f"Bearer {api.token}")] * 2
        answer = await api.http.get("/manage/v1/users", headers=headers)
        assert "more than once" in problem(answer, 401)

    async def test_a_token_in_the_query_is_not_read(self, api: ManagementApi) -> None:
        await api.refused("GET", f"/users?access_token={api.token}", token="", status=401)

    async def test_no_subscription_key_is_asked_for(self, api: ManagementApi) -> None:
        await api.ok("GET", "/users")


class TestWrongUrlsAndMethods:
    @pytest.mark.parametrize(
        "path",
        [
            "",
            "/",
            "/users//",
            "/user",
            "/Users",
            "//users",
            "/users/%ff",
            "/clients/a%00b",
            "/plants//invitations",
            "/../users",
            "/users%2f",
        ],
    )
    async def test_an_unknown_url_is_404(self, api: ManagementApi, path: str) -> None:
        answer = await api.http.send(api.http.build_request("GET", "https://gateway.example/manage/v1" + path))
        assert "openapi.json" in problem(answer, 404)

    async def test_a_list_may_end_with_a_slash(self, api: ManagementApi) -> None:
        assert await api.ok("GET", "/users/") == await api.ok("GET", "/users")
        problem(await api.send("POST", "/users/"), 405)
        problem(await api.send("GET", f"/users/{ANNA.id}/"), 404)

    async def test_another_version_is_not_there(self, api: ManagementApi) -> None:
        problem(await api.http.get("/manage/v2/users"), 404)
        problem(await api.http.get("/manage/v1users"), 404)

    @pytest.mark.parametrize(
        ("method", "path", "allow"),
        [("PUT", "/users", "GET, POST"), ("TRACE", "/audit", "GET"), ("POST", f"/users/{ANNA.id}", "DELETE, GET, PATCH")],
    )
    async def test_a_wrong_method_is_405_with_the_allowed_ones(
        self, api: ManagementApi, method: str, path: str, allow: str
    ) -> None:
        answer = await api.send(method, path)
        problem(answer, 405)
        assert answer.headers["allow"] == allow

    async def test_an_internal_failure_shows_no_details(self, api: ManagementApi, monkeypatch: pytest.MonkeyPatch) -> None:
        async def fail() -> None:
            raise RuntimeError("the secret of the insides")

        monkeypatch.setattr(api.env.store, "list_users", fail)
        assert "insides" not in await api.refused("GET", "/users", status=500)
