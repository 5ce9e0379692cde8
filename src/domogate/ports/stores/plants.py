"""Ports for stored plants, and the people in them."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import msgspec

from domogate.domain.estate import EstatePlant
from domogate.domain.ids import Id
from domogate.domain.injections import Injection
from domogate.domain.limits import Limits
from domogate.domain.plants import Plant, PlantStatus, Topology
from domogate.domain.reachability import Absence
from domogate.domain.states import State


class StoredState(msgspec.Struct, frozen=True, gc=False):
    """The last known state of a module.

    `at` is the time of the report with this state. `at` is 0.0 in three cases: the state came from an estate file; the driver
    or the options of the module were changed after the report; an injected fault that replaced the state has ended.
    """

    state: State | None
    reachable: bool
    at: float
    absence: Absence | None = None


NO_STATE_YET = StoredState(state=None, reachable=True, at=0.0)
"""The state of a module that has never sent a report."""


class StoredPlant(msgspec.Struct, frozen=True):
    """A consistent snapshot of one plant. It includes every change up to `cursor`."""

    plant: Plant
    topology: Topology
    states: dict[Id, StoredState]
    cursor: int
    injections: tuple[Injection, ...] = ()
    joined: dict[Id, int] = {}
    """For each member, the cursor of the newest change at the time when the member joined.

    The member does not see the events up to this cursor. When the limits of the member change, the cursor of the newest change
    is stored again in three cases: the new limits name other floors, ambients or modules; their period begins earlier; the
    former period had ended.
    """


class PlantStore(Protocol):
    """Stores plants with their modules and states."""

    async def find_plant(self, plant_id: Id) -> StoredPlant | None: ...
    async def list_plants(self, after: Id | None, limit: int) -> Sequence[Plant]:
        """Return up to `limit` plants with ids above `after`, including removed plants, ordered by id. For operators."""
        ...

    async def list_plants_of(self, user_id: Id) -> tuple[tuple[Plant, ...], int]:
        """Return the plants that the user owns or may use, including removed plants, ordered by name and then by id.

        Also return a cursor: the list includes all changes up to this cursor.
        """
        ...

    async def list_plant_ids(self, driver: str, limit: int) -> tuple[Id, ...]:
        """Return the ids of at most `limit` active plants that have a module of this driver, ordered by id."""
        ...

    async def set_plant_status(self, plant_id: Id, status: PlantStatus, at: float) -> None: ...
    async def set_module_options(self, module_id: Id, options: dict[str, Any]) -> bool:
        """Replace the options of the module. Return False if the module does not exist."""
        ...


class PlantEditStore(Protocol):
    """Changes plants for operators."""

    async def edit_plant(self, plant_id: Id, edit: Callable[[EstatePlant], EstatePlant]) -> None:
        """Replace the plant by the result of `edit`, in one transaction and on another thread.

        Floors, ambients and modules that are not in the result are removed; allowed users and invitations stay. Raises
        ValueError if there is no such plant, or if a new id is used already.
        """
        ...


class FavouriteStore(Protocol):
    """Stores the favourites of people: the modules that a person wants to see first."""

    async def find_favourites(self, user_id: Id, plant_id: Id) -> Sequence[Id]:
        """Return the modules in the sequence that the person chose. Some of these modules may have been deleted."""
        ...

    async def set_favourites(self, user_id: Id, plant_id: Id, module_ids: Sequence[Id]) -> bool:
        """Replace the list of favourites. Return False if the person is not a member of the plant."""
        ...


class MemberStore(Protocol):
    """Stores the people of a plant: its owner, allowed users and invitations."""

    async def allow_user(self, plant_id: Id, user_id: Id, limits: Limits | None = None) -> bool:
        """Make the user a member, and remove an invitation of the user. Return False if the user is a member already.

        Raise ValueError if there is no such plant or no such user.
        """
        ...

    async def set_member_limits(self, plant_id: Id, user_id: Id, limits: Limits | None) -> bool:
        """Replace the limits of the member. Return False if the user is not a member.

        Raise ValueError for the owner, who has no limits.
        """
        ...

    async def withdraw_user(self, plant_id: Id, user_id: Id) -> bool:
        """End the membership. Return False if the user is not a member. Raise ValueError for the owner."""
        ...

    async def invite(self, plant_id: Id, email: str, limits: Limits | None = None) -> bool:
        """Invite the e-mail address. If it belongs to an active user, this user becomes a member at once.

        Return False if the address is invited already or belongs to a member. Raise ValueError if there is no such plant.
        """
        ...

    async def withdraw_invitation(self, plant_id: Id, email: str) -> bool: ...
    async def set_invitation_limits(self, plant_id: Id, email: str, limits: Limits | None) -> bool:
        """Replace the limits of the invitation. Return False if the e-mail address has no open invitation."""
        ...
