"""Credentials and rights: every operation refuses everybody who may not use it, and then changes nothing."""

from typing import Any

import msgspec
import pytest

from domogate.domain.invitation_links import InvitationLink
from domogate.domain.limits import Limits
from domogate.domain.people import HOME_SCOPE, GrantType, Scope, Standing, TokenKind
from domogate.homes.surface import SURFACE
from domogate.http_api.operations import Operation
from domogate.ports import OrderFilter
from support.clocks import NOW
from support.home_setup import WEBHOOK, HomeApi
from support.hostile_requests import Attack, send_hostile_requests
from support.stores import ANNA, APP, BRUNO, CARLA, GRANT, HOUSE, KITCHEN, LAMP, PLUG, SCENE, an_id
from support.token_api import problem

pytestmark = pytest.mark.slow

OPERATIONS = SURFACE.operations
LINK = InvitationLink(an_id(780), "hash of a token", HOUSE.id, ANNA.id, "Emil", NOW, NOW + 3600)
EXAMPLES = {
    "homeId": HOUSE.id,
    "moduleId": LAMP.id,
    "email": BRUNO.email,
    "clientId": APP.id,
    "webhookId": WEBHOOK.id,
    "linkId": LINK.id,
}
OTHER_EXAMPLES: dict[str, dict[str, str]] = {"runScene": {"moduleId": SCENE.id}}
BODIES: dict[str, Any] = {
    "commandModule": {"do": "set light", "on": False},
    "setFavourites": {"modules": [LAMP.id]},
    "invite": {"email": "eve@example.com"},
    "changePerson": {"limits": {"modules": [LAMP.id]}},
    "makeInvitationLink": {"note": "Eve"},
}
ONLY_OWNERS = {
    *("getPeople", "invite", "changePerson", "withdrawPerson"),
    *("listInvitationLinks", "makeInvitationLink", "withdrawInvitationLink"),
}
OF_A_HOME = [operation for operation in OPERATIONS if "homeId" in operation.parameters]
EXPECTED = {"getPicture": 400, "leaveHome": 409, "getSafety": 404}
"""Statuses of operations that do not succeed in the house."""


def path_of(operation: Operation, **ids: str) -> str:
    return operation.path.format(**EXAMPLES | OTHER_EXAMPLES.get(operation.id, {}) | ids)


async def everything(api: HomeApi) -> bytes:
    """Everything that an operation could change."""
    store = api.env.store
    orders = await store.list_orders(OrderFilter(), 100)
    people = (ANNA, BRUNO, CARLA)
    grants = [await store.list_grants(user.id) for user in people]
    favourites = [await store.find_favourites(user.id, HOUSE.id) for user in people]
    links = await store.list_invitation_links(HOUSE.id, NOW)
    return msgspec.json.encode([await store.export_estate(), orders, grants, favourites, await store.list_webhooks(), links])


class TestEveryOperation:
    async def refuse(
        self,
        api: HomeApi,
        token: str,
        *statuses: int,
        operations: list[Operation] | None = None,
        **ids: str,
    ) -> None:
        await api.env.store.add_invitation_link(LINK, 1)
        before = await everything(api)
        for operation in OPERATIONS if operations is None else operations:
            answer = await api.send(operation.method, path_of(operation, **ids), BODIES.get(operation.id), token=token)
            assert problem(answer, *statuses), operation.id
        assert await everything(api) == before

    def test_the_table_of_bodies_is_whole(self) -> None:
        assert BODIES.keys() == {operation.id for operation in OPERATIONS if operation.body is not None}

    async def test_the_owner_can_do_each(self, api: HomeApi) -> None:
        """So the refusals below have no other reason."""
        await api.env.store.add_grant(GRANT)
        await api.env.store.add_webhook(WEBHOOK)
        await api.env.store.add_invitation_link(LINK, 20)
        for operation in OPERATIONS:
            answer = await api.send(operation.method, path_of(operation), BODIES.get(operation.id))
            assert answer.status_code == EXPECTED.get(operation.id, operation.status), f"{operation.id}: {answer.text}"

    @pytest.mark.parametrize("token", ["", "x.y.z"])
    async def test_without_a_valid_token_it_is_401(self, api: HomeApi, token: str) -> None:
        await self.refuse(api, token, 401)

    async def test_without_the_scope_it_is_403(self, api: HomeApi) -> None:
        await self.refuse(api, await api.mint(ANNA, scopes=(*map(str, Scope), "openid")), 403)

    async def test_an_id_token_and_an_implicit_token_are_401(self, api: HomeApi) -> None:
        await self.refuse(api, await api.mint(ANNA, kind=TokenKind.ID), 401)
        await self.refuse(api, await api.mint(ANNA, flow=GrantType.IMPLICIT), 401)

    async def test_a_person_without_rights_on_the_home_is_403(self, api: HomeApi) -> None:
        await self.refuse(api, await api.mint(CARLA), 403, operations=OF_A_HOME)

    async def test_an_operator_has_no_rights_on_the_homes_of_others(self, api: HomeApi) -> None:
        operator = await api.env.add_operator()
        await self.refuse(api, await api.mint(operator), 403, operations=OF_A_HOME)

    async def test_a_member_whose_access_was_withdrawn_is_403(self, api: HomeApi) -> None:
        token = await api.mint(BRUNO)
        assert len((await api.ok("GET", "/homes", token=token))["items"]) == 1
        await api.env.people.withdraw_user(HOUSE.id, BRUNO.id)
        await self.refuse(api, token, 403, operations=OF_A_HOME)

    async def test_a_member_may_not_do_what_is_for_the_owner(self, api: HomeApi) -> None:
        for_owners = [operation for operation in OPERATIONS if operation.id in ONLY_OWNERS]
        await self.refuse(api, await api.mint(BRUNO), 403, operations=for_owners)

    async def test_nobody_ends_the_webhooks_and_grants_of_others(self, api: HomeApi) -> None:
        await api.env.store.add_grant(GRANT)
        await api.env.store.add_webhook(WEBHOOK)
        ending = [operation for operation in OPERATIONS if operation.id in ("endWebhook", "revokeApplication")]
        await self.refuse(api, await api.mint(BRUNO), 404, operations=ending)

    async def test_a_guest_before_the_period_is_403(self, api: HomeApi) -> None:
        await api.env.people.set_limits(HOUSE.id, BRUNO.id, Limits(valid_from=NOW + 100))
        await self.refuse(api, await api.mint(BRUNO), 403, operations=OF_A_HOME)

    async def test_a_module_outside_the_limits_of_a_guest_is_404(self, api: HomeApi) -> None:
        await api.env.people.set_limits(HOUSE.id, BRUNO.id, Limits(modules=(PLUG.id,)))
        about_modules = [operation for operation in OF_A_HOME if "moduleId" in operation.parameters]
        await self.refuse(api, await api.mint(BRUNO), 404, operations=about_modules)

    async def test_an_unknown_home_or_module_is_404(self, api: HomeApi) -> None:
        for home in (an_id(999), "house", LAMP.id):
            await self.refuse(api, api.token, 404, operations=OF_A_HOME, homeId=home)
        about_modules = [operation for operation in OF_A_HOME if "moduleId" in operation.parameters]
        for module in (an_id(999), "lamp", KITCHEN.id):
            await self.refuse(api, api.token, 404, operations=about_modules, moduleId=module)

    @pytest.mark.parametrize(
        ("standing", "status"), [(Standing.PASSWORD_EXPIRED, 469), (Standing.TERMS_EXPIRED, 470), (Standing.BOTH_EXPIRED, 469)]
    )
    async def test_a_person_who_must_go_to_the_account_page_first(self, api: HomeApi, standing: Standing, status: int) -> None:
        await api.env.people.set_standing(ANNA.id, standing)
        await self.refuse(api, api.token, status, operations=[one for one in OPERATIONS if one.id != "getMe"])

    async def test_a_revoked_grant_is_401(self, api: HomeApi) -> None:
        await api.env.people.revoke_grants(ANNA.id)
        await self.refuse(api, api.token, 401)

    async def test_a_refusal_because_of_rights_is_in_the_audit_log(self, api: HomeApi) -> None:
        await api.refused("GET", f"/homes/{HOUSE.id}", token=await api.mint(CARLA), status=403)
        assert (await api.env.noted())[-1] == "refusal"

    async def test_no_subscription_key_is_needed(self, api: HomeApi) -> None:
        await api.ok("GET", "/homes", token=await api.mint(ANNA, scopes=(HOME_SCOPE,)))

    async def test_hostile_requests_are_refused_in_words(self, api: HomeApi) -> None:
        attack = Attack(SURFACE, lambda operation, others: path_of(operation, **others), BODIES)
        assert await send_hostile_requests(api, attack) == []
        for path in ("/me", "/homes", f"/homes/{HOUSE.id}/people", "/applications"):
            await api.ok("GET", path)
