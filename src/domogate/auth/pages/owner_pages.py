"""The base class of the pages for the owner of a home."""

from starlette.responses import Response

from domogate.auth.pages.context import ACCOUNT_PATH
from domogate.auth.pages.logged_in import FormRefused, LoggedInPages, Visit, done
from domogate.domain.ids import DASHED_UUID
from domogate.ports import StoredPlant
from domogate.services.rights.access import may_invite

PEOPLE_PATH = f"{ACCOUNT_PATH}/plants/people"


class OwnerPages(LoggedInPages):
    """Pages about one home. Only the owner of the home may use them."""

    async def _find_own(self, visit: Visit) -> StoredPlant | None:
        """Return the home that the request names. Return None if the person does not own this home, or if it is removed."""
        plant_id = DASHED_UUID.parse_id(visit.get("plant"))
        stored = None if plant_id is None else await self._context.store.find_plant(plant_id)
        return stored if stored is not None and may_invite(visit.user, stored.plant) else None

    async def _find_posted(self, visit: Visit) -> StoredPlant:
        plant = await self._find_own(visit)
        if plant is None:
            raise FormRefused(403)
        return plant


def path_of(plant: StoredPlant) -> str:
    """Return the path of the page with the people of the home."""
    return f"{PEOPLE_PATH}?plant={plant.plant.id}"


def done_at(plant: StoredPlant, what: str) -> Response:
    return done(what, path_of(plant))
