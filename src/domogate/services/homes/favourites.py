"""The favourite modules of each person in each home."""

from collections.abc import Sequence

from domogate.domain.ids import Id
from domogate.ports import FavouriteStore
from domogate.services.homes.homes import Home
from domogate.services.refusals import Invalid, NotFound, Reason

MOST = 100
"""The number of favourites that a person may have in one home."""


class Favourites:
    """Lists and replaces the favourite modules of a person in a home.

    A module that the person cannot see is never listed.
    """

    def __init__(self, store: FavouriteStore) -> None:
        self._store = store

    async def list(self, user_id: Id, home: Home) -> tuple[Id, ...]:
        stored = await self._store.find_favourites(user_id, home.plant.id)
        return tuple(module_id for module_id in stored if module_id in home.view.modules)

    async def set(self, user_id: Id, home: Home, module_ids: Sequence[Id]) -> tuple[Id, ...]:
        """Replace the favourites, and return the stored list, which has no duplicates.

        Raises Invalid for an unknown module or a list that is too long. Raises NotFound if the person is not a member any more.
        """
        wanted = tuple(dict.fromkeys(module_ids))
        if len(wanted) > MOST:
            raise Invalid(f"A person can have at most {MOST} favourites in a home.", Reason.TOO_MANY_FAVOURITES)
        if unknown := [module_id for module_id in wanted if module_id not in home.view.modules]:
            raise Invalid(f"The home has no module {unknown[0]}.", Reason.NO_SUCH_PLACE)
        if not await self._store.set_favourites(user_id, home.plant.id, wanted):
            raise NotFound("The person is not a member of this home any more.")
        return wanted
