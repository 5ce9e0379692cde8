"""Every scope has a group on the consent page."""

from domogate.domain.commands import Command, OpenLock
from domogate.domain.devices import DeviceKind
from domogate.domain.people import DEVELOPER_SCOPE, KNOWN_SCOPES, MANAGE_SCOPE, IdentityScope, Scope
from domogate.families import FAMILIES
from domogate.services.authorization.scopes import GROUP_OF, ON_PURPOSE, ScopeGroup, group_scopes, is_about_plants
from domogate.services.tickets.rights import COMMAND_OF, SCOPE


def test_every_known_scope_has_a_group() -> None:
    assert set(GROUP_OF) == set(KNOWN_SCOPES)


def test_scopes_that_can_open_a_lock_or_administer_something_are_granted_on_purpose() -> None:
    """A ticket opens a lock. A scene can have any command as a step. An operator can send any command."""
    assert OpenLock() in COMMAND_OF.values()
    assert OpenLock in Command.__args__
    opening = {SCOPE, MANAGE_SCOPE, DEVELOPER_SCOPE}
    for family in FAMILIES:
        for operation in family.operations:
            if operation.method != "GET" and {DeviceKind.SCENE, DeviceKind.LOCK}.intersection(operation.kinds):
                opening.update(operation.scopes)
    assert {scope for scope, group in GROUP_OF.items() if group in ON_PURPOSE} == opening


def test_a_scope_that_changes_something_is_not_only_for_seeing() -> None:
    changing = {
        scope
        for family in FAMILIES
        for operation in family.operations
        if operation.method != "GET" and operation.kinds
        for scope in operation.scopes
    }
    assert changing
    assert all(GROUP_OF[scope] is not ScopeGroup.SEE for scope in changing)


def test_scopes_of_families_are_about_plants_and_others_are_not() -> None:
    assert all(is_about_plants([scope]) for scope in Scope)
    assert not is_about_plants([*IdentityScope, MANAGE_SCOPE, "unknown"])


def test_groups_are_in_the_order_of_the_page_and_keep_the_order_of_scopes() -> None:
    grouped = group_scopes(["openid", "scene.launch", "plug.read", "light.read", "unknown"])
    assert list(grouped.items()) == [
        (ScopeGroup.SEE, ("plug.read", "light.read")),
        (ScopeGroup.DOORS, ("scene.launch",)),
        (ScopeGroup.PERSON, ("openid",)),
    ]
