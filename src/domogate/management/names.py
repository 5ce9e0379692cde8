"""Finds the names of plants and modules, for lists that have only their ids."""

from collections.abc import Iterable, Mapping
from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from domogate.http_api.paging import Page
from domogate.management.services import ManagementServices
from domogate.ports import Named

NO_NAMES: Mapping[str, Named] = {}


class NamedPage(Page, frozen=True, forbid_unknown_fields=True, rename="camel"):
    names: Annotated[bool, Meta(description="Also return the names of the plants and modules.")] = False


async def find_names(services: ManagementServices, query: NamedPage, ids: Iterable[str | None]) -> Mapping[str, Named]:
    """Return the names of these plants and modules by id. If the query does not ask for names, return no names."""
    return await services.store.find_names(sorted({one for one in ids if one is not None})) if query.names else NO_NAMES


def name_of(names: Mapping[str, Named], thing_id: str | None) -> str | UnsetType:
    """Return the name that `names` has for this id.

    Return UNSET if `thing_id` is None, if the request did not ask for names, or if the thing was deleted.
    """
    found = None if thing_id is None else names.get(thing_id)
    return UNSET if found is None else found.name
