"""Selects the scopes that a person is asked for (RFC 6749 §3.3), and sorts them into groups for residents."""

from collections.abc import Iterable
from enum import StrEnum

from domogate.domain.people import DEVELOPER_SCOPE, HOME_SCOPE, KNOWN_SCOPES, MANAGE_SCOPE, Client, IdentityScope, Scope, User


class ScopeGroup(StrEnum):
    """A group of scopes about the same things, such as doors. The consent page shows the groups in the order of this enum."""

    SEE = "see"
    SWITCH = "switch"
    DOORS = "doors"
    PERSON = "person"
    GATEWAY = "gateway"


GROUP_OF: dict[str, ScopeGroup] = {
    Scope.TOPOLOGY_READ: ScopeGroup.SEE,
    Scope.LIGHT_READ: ScopeGroup.SEE,
    Scope.PLUG_READ: ScopeGroup.SEE,
    Scope.COMFORT_READ: ScopeGroup.SEE,
    Scope.SAFETY_READ: ScopeGroup.SEE,
    Scope.LIGHT_WRITE: ScopeGroup.SWITCH,
    HOME_SCOPE: ScopeGroup.SWITCH,
    Scope.PLUG_WRITE: ScopeGroup.SWITCH,
    Scope.COMFORT_WRITE: ScopeGroup.SWITCH,
    # A ticket opens a lock. A scene can have a step that opens a lock.
    Scope.AUDIOVIDEO_READ: ScopeGroup.DOORS,
    Scope.SCENE_LAUNCH: ScopeGroup.DOORS,
    Scope.SCENE_WRITE: ScopeGroup.DOORS,
    IdentityScope.OPENID: ScopeGroup.PERSON,
    IdentityScope.PROFILE: ScopeGroup.PERSON,
    IdentityScope.EMAIL: ScopeGroup.PERSON,
    IdentityScope.OFFLINE_ACCESS: ScopeGroup.PERSON,
    DEVELOPER_SCOPE: ScopeGroup.GATEWAY,
    MANAGE_SCOPE: ScopeGroup.GATEWAY,
}

ON_PURPOSE = frozenset((ScopeGroup.DOORS, ScopeGroup.GATEWAY))
"""The groups whose scopes can open a lock or administer something.

The consent page does not tick these scopes. The person must tick them.
"""

PLANT_GROUPS = frozenset((ScopeGroup.SEE, ScopeGroup.SWITCH, ScopeGroup.DOORS))
"""The groups that are about the plants of the person."""


def is_about_plants(scopes: Iterable[str]) -> bool:
    """Whether one of the scopes is about the plants of the person."""
    return any(GROUP_OF.get(scope) in PLANT_GROUPS for scope in scopes)


def group_scopes(scopes: Iterable[str]) -> dict[ScopeGroup, tuple[str, ...]]:
    """Return the groups of these scopes, in the order in which the consent page shows them.

    The scopes of a group keep their order.
    """
    listed = tuple(scopes)
    found = {group: tuple(scope for scope in listed if GROUP_OF.get(scope) is group) for group in ScopeGroup}
    return {group: members for group, members in found.items() if members}


def split_scopes(text: str) -> tuple[str, ...]:
    """Return the scopes that the text names, in the same order and without duplicates."""
    return tuple(dict.fromkeys(text.split(" "))) if text.strip(" ") else ()


def choose_scopes(client: Client, asked: str | None) -> tuple[str, ...]:
    """Return the scopes that the client asks for and may have. If the client asks for no scopes, return all its registered
    scopes.

    Unknown scopes are ignored, as RFC 6749 §3.3 allows and OpenID Connect Core §3.1.2.1 requires.
    """
    wanted = client.scopes if asked is None else split_scopes(asked)
    return client.limit_scopes(str(scope) for scope in wanted if scope in KNOWN_SCOPES)


def for_person(scopes: Iterable[str], user: User) -> tuple[str, ...]:
    """Return the scopes that this person can grant. Only an operator can grant the scope to manage the gateway."""
    return tuple(scope for scope in scopes if scope != MANAGE_SCOPE or user.operator)
