"""Operations on the favourite modules of the person in a home."""

from typing import Annotated

from msgspec import Meta

from domogate.homes.services import HomeCall, HomeServices
from domogate.http_api.operations import OperationTable
from domogate.http_api.requests import read_id
from domogate.services.homes.favourites import MOST
from domogate.wire import InputModel, OutputModel

OPERATIONS = OperationTable("favourites")


class FavouritesOut(OutputModel, frozen=True):
    """The ids of the favourite modules, in the sequence that the person chose."""

    modules: tuple[str, ...]


class NewFavourites(InputModel, frozen=True):
    modules: Annotated[tuple[str, ...], Meta(max_length=MOST)]


@OPERATIONS.add("GET /homes/{homeId}/favourites", "The modules that the person wants to see first")
async def get_favourites(services: HomeServices, call: HomeCall) -> FavouritesOut:
    return FavouritesOut(await services.favourites.list(call.caller.user_id, await services.open_home(call)))


@OPERATIONS.add("PUT /homes/{homeId}/favourites", "Replace the favourites of the person", errors=(422,))
async def set_favourites(services: HomeServices, call: HomeCall, body: NewFavourites) -> FavouritesOut:
    home = await services.open_home(call)
    modules = [read_id("body", "modules", text) for text in body.modules]
    return FavouritesOut(await services.favourites.set(call.caller.user_id, home, modules))
