"""An estate of lights in several plants of one owner, for clients of a cluster."""

import uuid
from dataclasses import dataclass
from typing import Any

from domogate.app import Tools, open_tools
from domogate.domain.ids import new_id
from domogate.domain.people import HOME_SCOPE, Grant, TokenKind
from domogate.settings import Settings
from support.cluster_clients import Right, light_of
from support.spec_operations import ALL_SCOPES

PLANTS, LIGHTS = 9, 2
OWNER, APP, KEY = "owner@example.com", "cluster-app", "cluster-estate-0123456789"
_NAMESPACE = uuid.UUID("6f0f7c57-3b44-4f0e-9a55-0d1a5b7f7c11")


def _id(*words: object) -> str:
    return str(uuid.uuid5(_NAMESPACE, "/".join(map(str, words))))


PLANT_IDS = [_id(plant) for plant in range(PLANTS)]
LIGHTS_OF = {plant: [_id(plant, light) for light in range(LIGHTS)] for plant in PLANT_IDS}

ALL_LIGHTS = frozenset(light for lights in LIGHTS_OF.values() for light in lights)


def light_estate() -> dict[str, Any]:
    def room(plant: str) -> dict[str, Any]:
        lights = [{"id": light, "name": "Lamp", "kind": "light", "state": light_of(0)} for light in LIGHTS_OF[plant]]
        return {"id": _id(plant, "room"), "name": "Room", "type": "office", "modules": lights}

    return {
        "users": [{"email": OWNER, "name": "Owner", "password": "a good long password"}],
        "subscriptions": [{"name": "streams", "key": KEY}],
        "clients": [{"id": APP, "name": "App", "scopes": [*ALL_SCOPES, HOME_SCOPE], "redirectUris": ["http://localhost/cb"]}],
        "plants": [
            {"id": plant, "name": "Plant", "type": "office", "owner": OWNER, "ambients": [room(plant)]} for plant in PLANT_IDS
        ],
    }


@dataclass(frozen=True)
class Owner:
    """The credentials of the owner of all plants, and rights to be withdrawn."""

    user_id: str
    access_token: str
    id_token: str
    rights: list[Right]


async def issue_rights(settings: Settings, count: int) -> Owner:
    async with open_tools(settings) as tools:
        user, client = await tools.store.find_user_by_email(OWNER), (await tools.store.list_clients())[0]
        assert user is not None

        async def issue(tools: Tools, *kinds: TokenKind) -> list[str]:
            grant = Grant(new_id(), user.id, client.id, client.scopes, created_at=tools.clock.now())
            await tools.store.add_grant(grant)
            signer = await tools.open_signer()
            return [await signer.mint_token(kind, user, client, grant) for kind in kinds]

        access, identity = await issue(tools, TokenKind.ACCESS, TokenKind.ID)
        rights = [Right(f"right {number}", (await issue(tools, TokenKind.ACCESS))[0]) for number in range(count)]
        return Owner(user.id, access, identity, rights)
