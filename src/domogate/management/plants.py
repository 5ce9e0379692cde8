"""Plants: whether they are served, and who is in them. What stands in them is the estate file's matter."""

from domogate.domain.plants import PlantStatus
from domogate.management.operation import Call, Desk, Listing, Operation, Page, cut, queried_id
from domogate.management.wire import NewInvitation, PlantChange, ShownInvitation, ShownPlant, show_link, show_plant


async def list_plants(desk: Desk, call: Call) -> Listing[ShownPlant]:
    page: Page = call.query
    after = queried_id("after", page.after)
    plants, following = cut(await desk.store.list_plants(after, page.limit + 1), page.limit, lambda plant: plant.id)
    return Listing([show_plant(plant) for plant in plants], following)


async def get_plant(desk: Desk, call: Call) -> ShownPlant:
    return show_plant(await desk.people.get_plant(call.id_of("plantId")))


async def change_plant(desk: Desk, call: Call) -> ShownPlant:
    plant_id = call.id_of("plantId")
    change: PlantChange = call.body
    if (await desk.people.get_plant(plant_id)).status is not change.status:
        set_status = desk.people.remove_plant if change.status is PlantStatus.REMOVED else desk.people.restore_plant
        await set_status(plant_id, by=call.by)
    return show_plant(await desk.people.get_plant(plant_id))


async def invite(desk: Desk, call: Call) -> ShownInvitation:
    wish: NewInvitation = call.body
    invited = await desk.people.invite(call.id_of("plantId"), wish.email, show_link=wish.show_link, by=call.by)
    return ShownInvitation(invited.outcome, None if invited.link is None else show_link(invited.link))


async def withdraw_invitation(desk: Desk, call: Call) -> None:
    await desk.people.withdraw_invitation(call.id_of("plantId"), call.path["email"], by=call.by)


async def allow_user(desk: Desk, call: Call) -> None:
    await desk.people.allow(call.id_of("plantId"), call.id_of("userId"), by=call.by)


async def withdraw_user(desk: Desk, call: Call) -> None:
    await desk.people.withdraw_user(call.id_of("plantId"), call.id_of("userId"), by=call.by)


OPERATIONS = (
    Operation(
        id="listPlants", tag="plants", summary="All plants, removed ones too, by id",
        method="GET", path="/plants", handler=list_plants, query=Page, answer=Listing[ShownPlant],
    ),
    Operation(
        id="getPlant", tag="plants", summary="One plant with its people",
        method="GET", path="/plants/{plantId}", handler=get_plant, answer=ShownPlant, errors=frozenset({404}),
    ),
    Operation(
        id="changePlant", tag="plants", summary="Remove a plant, or bring it back",
        method="PATCH", path="/plants/{plantId}", handler=change_plant,
        body=PlantChange, answer=ShownPlant, errors=frozenset({404, 409}),
    ),
    Operation(
        id="invite", tag="plants", summary="Invite somebody by e-mail; who is active is in at once",
        method="POST", path="/plants/{plantId}/invitations", handler=invite,
        body=NewInvitation, status=201, answer=ShownInvitation, errors=frozenset({404, 409, 422, 502}),
    ),
    Operation(
        id="withdrawInvitation", tag="plants", summary="Withdraw an invitation that was not taken up yet",
        method="DELETE", path="/plants/{plantId}/invitations/{email}", handler=withdraw_invitation,
        status=204, errors=frozenset({404}),
    ),
    Operation(
        id="allowUser", tag="plants", summary="Let a user into the plant",
        method="PUT", path="/plants/{plantId}/allowed/{userId}", handler=allow_user, status=204, errors=frozenset({404}),
    ),
    Operation(
        id="withdrawUser", tag="plants", summary="Withdraw a user's right on the plant; the owner's cannot be",
        method="DELETE", path="/plants/{plantId}/allowed/{userId}", handler=withdraw_user,
        status=204, errors=frozenset({404, 409}),
    ),
)  # fmt: skip
