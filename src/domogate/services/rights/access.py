"""Finds out who is calling, and decides whether a person may see a module of a plant now.

The functions that decide about rights need only the read model, so they are not coroutines. A guest may see some parts of a
plant for some time. So callers use the plant that `Access` has, and check the rights again after the time `Access.until`.
"""

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from math import inf
from typing import NoReturn, Protocol

import msgspec

from domogate.common.http_messages import join_header
from domogate.common.secrets import SentSecret
from domogate.domain.devices import DeviceKind
from domogate.domain.faults import KeyRefused, NoSuchPlant, NotYourPlant, PasswordToRenew, TermsToAccept, TokenRefused
from domogate.domain.ids import Id
from domogate.domain.notices import Notice, NoticeKind
from domogate.domain.people import HOME_SCOPE, Principal, Scope, Standing, User
from domogate.domain.plants import Plant, PlantStatus
from domogate.ports import Admission, Admitted, Verifier
from domogate.services.plants.read_model import PlantView
from domogate.services.rights.guests import view_for_guest

READ_SCOPE: dict[DeviceKind, Scope] = {
    DeviceKind.LIGHT: Scope.LIGHT_READ,
    DeviceKind.PLUG: Scope.PLUG_READ,
    DeviceKind.MULTISOCKET: Scope.PLUG_READ,
    DeviceKind.REMOTE: Scope.TOPOLOGY_READ,
    DeviceKind.CHRONOTHERMOSTAT: Scope.COMFORT_READ,
    DeviceKind.EMERGENCY_CONTROLLER: Scope.SAFETY_READ,
    DeviceKind.EMERGENCY_UNIT: Scope.SAFETY_READ,
}
"""For each kind of device, the scope that allows reading its state (E2, E4, E8, E12, E16, E18).

The scope `home.use` allows reading the states of all kinds.
"""

PLANT_SCOPES = frozenset({Scope.TOPOLOGY_READ, Scope.COMFORT_READ, HOME_SCOPE})
"""Scopes with which an application may list plants (E6, E10, E14, X3, X5, /home/v1). One of them is enough."""
SITE_SCOPES = PLANT_SCOPES | {Scope.SAFETY_READ}
"""Scopes with which an application may list plants with emergency lighting (E17). One of them is enough."""


class Role(StrEnum):
    """The role of a person in a plant."""

    OWNER = "owner"
    MEMBER = "member"
    GUEST = "guest"
    """A member with limits."""


class Viewer(Protocol):
    """A person, and the scopes and plants of the application that acts for this person.

    Principal and GrantHolder implement this Protocol.
    """

    @property
    def user_id(self) -> Id: ...
    @property
    def scopes(self) -> frozenset[str]: ...
    @property
    def plants(self) -> frozenset[Id] | None: ...


class Access(msgspec.Struct, frozen=True, gc=False):
    """The part of one plant that one person may see."""

    plant: PlantView
    """The plant with the modules that this person may see."""
    scopes: frozenset[str]
    until: float
    """A time in the future. From this time on the rights may be different, even without a change in the store."""
    joined: int
    """The person gets only events after this cursor. It is set at joining and at some changes of limits (Decision 0056)."""
    begun: float = 0.0
    """The time at which the period of a guest began."""
    guest_id: Id | None = None
    """The id of the user if the user is a guest, otherwise None."""

    def role_of(self, user_id: Id) -> Role:
        """Return the role of the person in the plant. `user_id` is the id of the person to whom this access belongs."""
        if self.guest_id is not None:
            return Role.GUEST
        return Role.OWNER if self.plant.plant.owner.user_id == user_id else Role.MEMBER

    def may_get(self, notice: Notice) -> bool:
        """Whether the person may get the notice.

        The scopes must allow it, and the person must have been a member when the change happened. A guest gets a notice about
        the people of the plant only if the notice is about this guest.
        """
        if notice.cursor <= self.joined or notice.at < self.begun or not self.may_see(notice.module_id):
            return False
        return self.guest_id is None or NoticeKind.PEOPLE not in notice.kinds or self.guest_id in notice.members

    def may_see(self, module_id: Id | None) -> bool:
        """Whether the person may see this module, and the scopes of the application allow reading its state.

        If `module_id` is None, whether the scopes allow reading the name and topology of the plant.
        """
        if module_id is None:
            scopes = SITE_SCOPES if self.plant.plant.emergency_lighting else PLANT_SCOPES
            return not scopes.isdisjoint(self.scopes)
        view = self.plant.modules.get(module_id)
        return view is not None and (HOME_SCOPE in self.scopes or READ_SCOPE.get(view.module.kind) in self.scopes)


def get_access(viewer: Viewer, plant_id: Id, plant: PlantView | None, now: float) -> Access:
    """Return the access of the viewer to the plant. `plant` is the plant with `plant_id` in the read model, or None.

    Raises NoSuchPlant if the plant does not exist or is not active. Otherwise raises NotYourPlant if the person has no rights
    on the plant now (Decision 0016). Also raises NotYourPlant if the person did not choose the plant for the application. The
    answer is the same as for a plant of other people, so an application learns nothing about a plant that was not chosen
    (Decision 0079).
    """
    if plant is None or plant.plant.status is not PlantStatus.ACTIVE:
        raise NoSuchPlant(f"no plant has the id {plant_id}")
    member = plant.members.get(viewer.user_id)
    if member is None or not is_chosen(viewer.plants, plant_id):
        raise NotYourPlant(f"the user has no rights on the plant {plant_id}")
    limits, joined = member.limits, plant.joined.get(viewer.user_id, 0)
    if limits is None:
        return Access(plant, viewer.scopes, inf, joined)
    if not limits.holds(now):
        raise NotYourPlant(f"the user has no rights on the plant {plant_id} at this time")
    begun = limits.valid_from or 0.0
    return Access(view_for_guest(plant, limits), viewer.scopes, limits.next_change(now), joined, begun, guest_id=viewer.user_id)


def is_chosen(granted: frozenset[Id] | None, plant_id: Id) -> bool:
    """Whether the person chose this plant for the application. If `granted` is None, the person chose all plants."""
    return granted is None or plant_id in granted


class PlantList(msgspec.Struct, frozen=True):
    """The plants that one person may see.

    The list is valid until the time `until`. At this time, a period in which the person is a guest of a plant begins or ends.
    """

    plants: list[Plant]
    until: float = inf
    left_out: str = ""
    """A text that identifies the person's plants that are not in this list.

    This text is a part of the keys of cached answers. The answers differ for different lists.
    """


def list_own_plants(
    plants: Iterable[Plant], user_id: Id, granted: frozenset[Id] | None, now: float, *, removed_since: float = inf
) -> PlantList:
    """Return the person's active plants, and the plants that were removed since `removed_since`.

    If the person is a guest of a plant, the returned plant names only the owner and this guest. A plant is left out while the
    guest's period is not running.

    `granted` are the plants that the person chose for the application. None means all plants.
    """
    listed: list[Plant] = []
    left_out: list[str] = []
    until = inf
    for number, plant in enumerate(plants):
        member = plant.find_member(user_id)
        limits = None if member is None else member.limits
        if limits is not None:
            until = min(until, limits.next_change(now))
        served = plant.status is PlantStatus.ACTIVE or (plant.removed_at or 0.0) >= removed_since
        if member is None or not is_chosen(granted, plant.id) or not served or (limits is not None and not limits.holds(now)):
            left_out.append(str(number))
        elif limits is not None:
            listed.append(msgspec.structs.replace(plant, allowed=(member,), invited=()))
        else:
            listed.append(plant)
    return PlantList(listed, until, ",".join(left_out))


def check_standing(standing: Standing) -> None:
    """Raises PasswordToRenew (469) if the password has expired.

    Otherwise raises TermsToAccept (470) if the terms are not accepted.
    """
    if standing is Standing.GOOD:
        return
    if standing.password_is_due:
        raise PasswordToRenew("the user must renew their password on their account page")
    raise TermsToAccept("the user must accept the terms and conditions on their account page")


def may_manage(user: User | None) -> bool:
    """Whether the user may use the management API, which shows and changes every plant."""
    return user is not None and user.operator and user.active


def may_remove(user: User | None, plant: Plant) -> bool:
    """Whether the user may remove and restore the plant. The owner and operators may do this."""
    return user is not None and (user.id == plant.owner.user_id or may_manage(user))


def may_invite(user: User | None, plant: Plant) -> bool:
    """Whether the user may invite people to the plant and end their membership.

    The result is True only for the owner of an active plant. Operators invite with other functions.
    """
    return user is not None and user.active and user.id == plant.owner.user_id and plant.status is PlantStatus.ACTIVE


# The credentials of a request: a subscription key and a token (Spec 5, Decision 0005).

KEY, AUTHORIZATION = b"ocp-apim-subscription-key", b"authorization"
_LISTS = (b"accept", b"if-none-match")
"""The headers that surfaces read from the result of `read_headers`, and whose values are lists."""


class Caller(msgspec.Struct, frozen=True):
    """A verified caller. The credentials are kept for later checks."""

    principal: Principal
    admitted: Admitted | None
    key: bytes | None
    """The subscription key. None for the gateway's own pages, which need no key on our own surfaces (Decision 0076)."""
    unverified_token: bytes


async def authenticate(headers: Sequence[tuple[bytes, bytes]], admission: Admission, verifier: Verifier) -> Caller:
    """Check the key, then the token. Raises KeyRefused, TooManyRequests, TokenRefused, PasswordToRenew, TermsToAccept."""
    found, key = read_headers(headers)
    admitted = admission.admit_known(key) or await admission.admit(key)
    unverified_token = find_token(found)
    principal = verifier.find_verified(unverified_token) or await verifier.verify(unverified_token)
    check_standing(principal.standing)
    return Caller(principal, admitted, key, unverified_token)


def read_headers(listed: Sequence[tuple[bytes, bytes]]) -> tuple[dict[bytes, bytes], bytes]:
    """Return the headers by name, and the subscription key. If a header whose value is a list is repeated, join its values.

    Raises KeyRefused if the key is missing or sent twice. Raises TokenRefused if two tokens are sent.
    """
    headers = dict(listed)
    if len(headers) != len(listed):
        refuse_repeated(listed)
        headers |= {name: joined for name in _LISTS if (joined := join_header(listed, name)) is not None}
    key = headers.get(KEY)
    if key is None:
        raise KeyRefused
    return headers, SentSecret(key)


def find_token(headers: Mapping[bytes, bytes]) -> bytes:
    return SentSecret(read_token(headers.get(AUTHORIZATION)))


def refuse_repeated(headers: Sequence[tuple[bytes, bytes]]) -> None:
    names = [name for name, _ in headers]
    if names.count(KEY) > 1:
        raise KeyRefused
    if names.count(AUTHORIZATION) > 1:
        raise TokenRefused("the header Authorization must not be repeated")


def read_token(authorization: bytes | None) -> bytes:
    """Return the unverified token from `Bearer TOKEN` (`Bearer` in upper or lower case) or a bare token (Decision 0005).

    Raises TokenRefused if there is no token.
    """
    if not authorization:
        _refuse_no_token()
    if authorization[:7].lower() == b"bearer ":
        authorization = authorization[7:].strip(b" ")
    elif authorization.lower() == b"bearer":
        authorization = b""
    if not authorization:
        _refuse_no_token()
    return authorization


def _refuse_no_token() -> NoReturn:
    raise TokenRefused("the header Authorization with a token is missing", given=False)
