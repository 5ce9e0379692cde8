"""Credentials and rights: every operation refuses everybody who may not use it, and then changes nothing."""

from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from domogate.developer.surface import SURFACE
from domogate.domain.people import GrantType, Scope, Standing, TokenKind
from domogate.http_api.operations import Operation
from support.developer_setup import DeveloperApi
from support.hostile_requests import Attack, send_hostile_requests
from support.stores import ANNA, BRUNO, HOUSE, LAMP, an_id
from support.token_api import problem

pytestmark = pytest.mark.slow

OPERATIONS = SURFACE.operations
APPLICATION = {"name": "Lamps", "confidential": True, "redirectUris": ["https://lamps.example/back"], "scopes": ["light.read"]}
BODIES: dict[str, Any] = {
    "createApplication": APPLICATION,
    "changeApplication": {"name": "Other lamps"},
    "createKey": {"name": "Second key"},
    "injectFault": {"fault": "offline"},
}
ONLY_IF_ALLOWED = {
    "createApplication",
    "changeApplication",
    "rotateApplicationSecret",
    "createKey",
    "injectFault",
    "clearFaults",
}


async def own_things(api: DeveloperApi) -> dict[str, str]:
    """Anna registers one of each. Returns the path parameters of all operations."""
    made = await api.ok("POST", "/applications", APPLICATION, status=201)
    key = await api.ok("POST", "/keys", {"name": "Key"}, status=201)
    receiver = await api.ok("POST", "/receivers", status=201)
    return {
        "clientId": made["application"]["id"],
        "keyId": key["subscription"]["id"],
        "receiverId": receiver["id"],
        "homeId": HOUSE.id,
        "moduleId": LAMP.id,
    }


async def everything(api: DeveloperApi) -> bytes:
    store = api.env.store
    return msgspec.json.encode([await store.export_estate(), await store.list_injections()])


async def send(api: DeveloperApi, operation: Operation, ids: Mapping[str, str], token: str | None = None) -> Any:
    return await api.send(operation.method, operation.path.format(**ids), BODIES.get(operation.id), token=token)


class TestEveryOperation:
    def test_the_table_of_bodies_is_whole(self) -> None:
        assert BODIES.keys() == {operation.id for operation in OPERATIONS if operation.body is not None}

    async def test_the_developer_can_do_each(self, api: DeveloperApi) -> None:
        """So the refusals below have no other reason."""
        ids = await own_things(api)
        for operation in sorted(OPERATIONS, key=lambda one: one.method == "DELETE"):
            answer = await send(api, operation, ids)
            assert answer.status_code == operation.status, f"{operation.id}: {answer.text}"

    async def test_nobody_else_can(self, api: DeveloperApi) -> None:
        ids = await own_things(api)
        before = await everything(api)
        scopes = (*map(str, Scope), "openid", "home.use")
        refusals = {
            "x.y.z": 401,
            await api.mint(ANNA, kind=TokenKind.ID): 401,
            await api.mint(ANNA, flow=GrantType.IMPLICIT): 401,
            await api.mint(ANNA, scopes=scopes): 403,
        }
        for token, status in refusals.items():
            for operation in OPERATIONS:
                assert problem(await send(api, operation, ids, token), status), operation.id
        for operation in OPERATIONS:
            assert problem(await api.send(operation.method, operation.path.format(**ids), token=""), 401), operation.id
        assert await everything(api) == before

    async def test_another_person_does_not_find_them(self, api: DeveloperApi) -> None:
        ids = await own_things(api)
        before, token = await everything(api), await api.mint(BRUNO)
        for operation in OPERATIONS:
            if operation.parameters:
                status = 403 if "homeId" in operation.parameters else 404
                assert problem(await send(api, operation, ids, token), status), operation.id
        for path in ("/applications", "/keys"):
            assert (await api.ok("GET", path, token=token))["items"] == []
        assert await everything(api) == before

    async def test_unknown_things_are_404(self, api: DeveloperApi) -> None:
        ids = dict.fromkeys(await own_things(api), an_id(999))
        for operation in OPERATIONS:
            if operation.parameters:
                assert problem(await send(api, operation, ids), 404), operation.id

    @pytest.mark.parametrize(("standing", "status"), [(Standing.PASSWORD_EXPIRED, 469), (Standing.TERMS_EXPIRED, 470)])
    async def test_a_person_who_must_go_to_the_account_page_first(
        self, api: DeveloperApi, standing: Standing, status: int
    ) -> None:
        ids = await own_things(api)
        await api.env.people.set_standing(ANNA.id, standing)
        for operation in OPERATIONS:
            assert problem(await send(api, operation, ids), status), operation.id

    async def test_if_the_operator_does_not_allow_self_service_it_is_403(self, disabled: DeveloperApi) -> None:
        assert (await disabled.ok("GET", "/self-service"))["enabled"] is False
        receiver = await disabled.ok("POST", "/receivers", status=201)
        ids = {"clientId": "app-1", "keyId": an_id(1), "receiverId": receiver["id"], "homeId": HOUSE.id, "moduleId": LAMP.id}
        before = await everything(disabled)
        for operation in OPERATIONS:
            if operation.id in ONLY_IF_ALLOWED:
                assert "operator" in problem(await send(disabled, operation, ids), 403), operation.id
        assert await everything(disabled) == before

    async def test_requests_of_one_person_are_limited(self, api: DeveloperApi) -> None:
        for _ in range(1200):
            await api.send("GET", "/self-service")
        answer = await api.send("GET", "/self-service")
        assert (answer.status_code, "retry-after" in answer.headers) == (429, True)
        await api.ok("GET", "/self-service", token=await api.mint(BRUNO))

    async def test_hostile_requests_are_refused_in_words(self, api: DeveloperApi) -> None:
        ids = await own_things(api)
        attack = Attack(SURFACE, lambda operation, others: operation.path.format(**ids | others), BODIES)
        assert await send_hostile_requests(api, attack) == []
        for path in ("/self-service", "/applications", "/keys"):
            await api.ok("GET", path)
