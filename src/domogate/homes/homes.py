"""Operations that show homes with their floors, rooms and modules."""

from contextlib import suppress
from datetime import datetime

from domogate.common.times import LATEST
from domogate.domain.faults import NoSuchPlant, NotYourPlant
from domogate.domain.ids import Id
from domogate.domain.plants import Ambient, Plant, PlantType
from domogate.homes.modules import ModuleOut, module_out
from domogate.homes.services import HomeCall, HomeServices
from domogate.http_api.operations import OperationTable, RequestHeader
from domogate.http_api.paging import Listing, Page, page_of
from domogate.services.homes.homes import Home
from domogate.services.rights.access import Role
from domogate.wire import OutputModel, to_datetime

OPERATIONS = OperationTable("homes")


class _HomeFacts(OutputModel, frozen=True):
    id: str
    name: str
    type: PlantType
    role: Role
    site: bool


class HomeOut(_HomeFacts, frozen=True):
    """A home of the person. `site` is true if the home has emergency lighting."""

    floors: int
    rooms: int
    modules: int
    unreachable: int


def _home_out(home: Home) -> HomeOut:
    view = home.view
    return HomeOut.of(
        home,
        home.plant,
        site=home.plant.emergency_lighting,
        floors=len(view.topology.floors),
        rooms=len(view.ambients),
        modules=len(view.modules),
        unreachable=sum(not module.reachable for module in view.modules.values()),
    )


class RoomOut(OutputModel, frozen=True):
    id: str
    name: str
    type: str


def _rooms(ambients: tuple[Ambient, ...]) -> list[RoomOut]:
    return [RoomOut(room.id, room.name, room.type) for room in ambients]


class FloorOut(OutputModel, frozen=True):
    id: str
    name: str
    rooms: list[RoomOut]


class WholeHomeOut(_HomeFacts, frozen=True):
    """A home with everything in it that the person may see.

    `rooms` are the rooms without a floor. `modules` has all modules; a module without a room has `roomId` null. For a guest,
    `until` is the time at which the guest's rights may end or change. `timeZone` is the IANA name of the home's time zone, or
    null if it is not known.
    """

    until: datetime | None
    time_zone: str | None
    floors: list[FloorOut]
    rooms: list[RoomOut]
    modules: list[ModuleOut]


@OPERATIONS.add("GET /homes", "The homes of the person, sorted by id, each with its number of rooms and modules")
async def list_homes(services: HomeServices, call: HomeCall, query: Page) -> Listing[HomeOut]:
    page: Listing[Plant] = page_of(await services.homes.list_plants(call.caller), query, lambda plant: plant.id, lambda it: it)
    homes: list[HomeOut] = []
    for plant in page.items:
        # The home may have been removed, or the person's rights may have ended, since the homes were listed.
        with suppress(NoSuchPlant, NotYourPlant):
            homes.append(_home_out(await services.homes.open(call.caller, plant.id)))
    return Listing(homes, page.next)


@OPERATIONS.add(
    "GET /homes/{homeId}",
    "One home: its floors, its rooms, and its modules with their states",
    has_etag=True,
    header=RequestHeader("If-None-Match", "The ETag of an earlier answer"),
)
async def get_home(services: HomeServices, call: HomeCall) -> WholeHomeOut:
    home = await services.open_home(call)
    plant, topology = home.plant, home.view.topology
    room_of: dict[Id, str] = {module.id: room.id for room in topology.every_ambient() for module in room.modules}
    return WholeHomeOut(
        id=plant.id,
        name=plant.name,
        type=plant.type,
        role=home.role,
        site=plant.emergency_lighting,
        until=None if home.access.until > LATEST else to_datetime(home.access.until),
        time_zone=plant.time_zone,
        floors=[FloorOut(floor.id, floor.name, _rooms(floor.ambients)) for floor in topology.floors],
        rooms=_rooms(topology.ambients),
        modules=[module_out(home, view, room_of.get(view.module.id)) for view in home.view.modules.values()],
    )
