"""Operations on plants: their names and owners, whether they are served, and who may use them."""

from datetime import datetime

from msgspec import UNSET, UnsetType

from domogate.domain.ids import Id
from domogate.domain.plants import Member, Plant, PlantStatus, PlantType
from domogate.http_api.limits import InvitationLinkOut, InvitedPersonOut, LimitsOut, NewLimits, read_limits
from domogate.http_api.operations import OperationTable
from domogate.http_api.paging import Listing, Page, first_page
from domogate.http_api.requests import read_optional_id
from domogate.management.services import ManagementServices, OperatorCall
from domogate.services.audit import AuditAction
from domogate.services.people import InvitedAs
from domogate.services.people.owners import plant_ref
from domogate.services.refusals import Invalid, Reason
from domogate.wire import InputModel, Line, Name, OutputModel, given_fields

OPERATIONS = OperationTable("plants")


class MemberOut(OutputModel, frozen=True):
    """A member of a plant. `limits` is null for a member who may use all of the plant at any time."""

    user_id: str
    email: str
    limits: LimitsOut | None


class PlantOut(OutputModel, frozen=True):
    id: str
    name: str
    type: PlantType
    status: PlantStatus
    removed_at: datetime | None
    country: str | None
    zip_code: str | None
    address: str | None
    time_zone: str | None
    emergency_lighting: bool
    owner: MemberOut
    allowed: tuple[MemberOut, ...]
    invited: tuple[str, ...]
    invitations: tuple[InvitedPersonOut, ...]


def plant_out(plant: Plant) -> PlantOut:
    return PlantOut.of(plant, invited=tuple(invitation.email for invitation in plant.invited), invitations=plant.invited)


class NewPlant(InputModel, frozen=True):
    name: Name
    type: PlantType
    owner: str
    """The e-mail address of a user."""
    country: Line | None = None
    zip_code: Line | None = None
    address: Line | None = None
    time_zone: Line | None = None


class PlantChange(InputModel, frozen=True, omit_defaults=True):
    status: PlantStatus | UnsetType = UNSET
    name: Name | UnsetType = UNSET
    type: PlantType | UnsetType = UNSET
    owner: str | UnsetType = UNSET
    """The e-mail address of the new owner, who must be a user. The former owner loses access."""
    country: Line | UnsetType | None = UNSET
    zip_code: Line | UnsetType | None = UNSET
    address: Line | UnsetType | None = UNSET
    time_zone: Line | UnsetType | None = UNSET


class NewInvitation(InputModel, frozen=True):
    email: str
    show_link: bool = False
    limits: NewLimits | None = None


class MemberChange(InputModel, frozen=True):
    limits: NewLimits | None


class LinkOut(OutputModel, frozen=True):
    """A one-time link. `url` is null if the link was mailed: then only the person who gets the mail sees the link."""

    url: str | None
    mailed: bool
    expires_at: datetime


class OwnersLinkOut(InvitationLinkOut, frozen=True):
    """An invitation link that can still be used, and the owner who made it."""

    user_id: str
    email: str


class InvitationOut(OutputModel, frozen=True):
    """The result of an invitation. An active user becomes a member at once.

    Other people get a link with which they become active.
    """

    outcome: InvitedAs
    link: LinkOut | None


@OPERATIONS.add("GET /plants", "All plants, sorted by id, including removed plants")
async def list_plants(services: ManagementServices, _call: OperatorCall, query: Page) -> Listing[PlantOut]:
    after = read_optional_id("query", "after", query.after)
    found = await services.store.list_plants(after, query.limit + 1)
    return first_page(found, query.limit, lambda plant: plant.id, plant_out)


@OPERATIONS.add("POST /plants", "Create a plant without floors and modules", status=201, errors=(422,))
async def create_plant(services: ManagementServices, call: OperatorCall, body: NewPlant) -> PlantOut:
    owner = await _find_owner(services, body.owner)
    plant = await services.editor.create(
        body.name,
        body.type,
        owner,
        country=body.country,
        zip_code=body.zip_code,
        address=body.address,
        time_zone=body.time_zone,
    )
    note_change(services, call, plant.id, "created")
    return plant_out(await services.people.get_plant(plant.id))


@OPERATIONS.add("GET /plants/{plantId}", "One plant with its people")
async def get_plant(services: ManagementServices, call: OperatorCall) -> PlantOut:
    return plant_out(await services.people.get_plant(call.id_of("plantId")))


@OPERATIONS.add(
    "PATCH /plants/{plantId}",
    "Change the name, the type, the owner, the address or the time zone of a plant; remove it, or bring it back",
    errors=(409, 422),
)
async def change_plant(services: ManagementServices, call: OperatorCall, body: PlantChange) -> PlantOut:
    plant_id, people = call.id_of("plantId"), services.people
    facts = given_fields(body)
    status = facts.pop("status", None)
    if "owner" in facts:
        facts["owner"] = await _find_owner(services, facts["owner"])
    if facts:
        await services.editor.change_facts(plant_id, **facts)
        note_change(services, call, plant_id, "changed", fields=", ".join(facts))
    if status not in (None, (await people.get_plant(plant_id)).status):
        set_status = people.remove_plant if status is PlantStatus.REMOVED else people.restore_plant
        await set_status(plant_id, by=call.caller)
    return plant_out(await people.get_plant(plant_id))


@OPERATIONS.add(
    "POST /plants/{plantId}/invitations",
    "Invite a person by e-mail; an active user becomes a member at once",
    status=201,
    errors=(409, 422, 502),
)
async def invite(services: ManagementServices, call: OperatorCall, body: NewInvitation) -> InvitationOut:
    return InvitationOut.of(
        await services.people.invite(
            call.id_of("plantId"),
            body.email,
            limits=read_limits(body.limits),
            show_link=body.show_link,
            by=call.caller,
        )
    )


@OPERATIONS.add("DELETE /plants/{plantId}/invitations/{email}", "Withdraw an open invitation")
async def withdraw_invitation(services: ManagementServices, call: OperatorCall) -> None:
    await services.people.withdraw_invitation(call.id_of("plantId"), call.path["email"], by=call.caller)


@OPERATIONS.add(
    "PATCH /plants/{plantId}/invitations/{email}",
    "Replace the limits of an open invitation; null removes them",
    errors=(422,),
)
async def change_invitation(services: ManagementServices, call: OperatorCall, body: MemberChange) -> PlantOut:
    plant_id, limits = call.id_of("plantId"), read_limits(body.limits)
    await services.people.set_invitation_limits(plant_id, call.path["email"], limits, by=call.caller)
    return plant_out(await services.people.get_plant(plant_id))


@OPERATIONS.add(
    "GET /plants/{plantId}/invitation-links",
    "The owner's invitation links that can still be used, without their URLs; the newest is first",
)
async def list_invitation_links(services: ManagementServices, call: OperatorCall) -> Listing[OwnersLinkOut]:
    plant_id = call.id_of("plantId")
    links = await services.people.list_invitation_links(plant_id)
    owner = (await services.people.get_plant(plant_id)).owner  # A link works only while its maker owns the plant.
    return Listing([OwnersLinkOut.of(link, email=owner.email) for link in links])


@OPERATIONS.add("DELETE /plants/{plantId}/invitation-links/{linkId}", "Withdraw an invitation link of the owner")
async def withdraw_invitation_link(services: ManagementServices, call: OperatorCall) -> None:
    await services.people.withdraw_invitation_link(call.id_of("plantId"), call.id_of("linkId"), by=call.caller)


@OPERATIONS.add("PUT /plants/{plantId}/allowed/{userId}", "Allow a user to use the plant")
async def allow_user(services: ManagementServices, call: OperatorCall) -> None:
    await services.people.allow(call.id_of("plantId"), call.id_of("userId"), by=call.caller)


@OPERATIONS.add(
    "PATCH /plants/{plantId}/allowed/{userId}", "Replace the limits of a member; null removes them", errors=(409, 422)
)
async def change_member(services: ManagementServices, call: OperatorCall, body: MemberChange) -> PlantOut:
    plant_id, limits = call.id_of("plantId"), read_limits(body.limits)
    await services.people.set_limits(plant_id, call.id_of("userId"), limits, by=call.caller)
    return plant_out(await services.people.get_plant(plant_id))


@OPERATIONS.add(
    "DELETE /plants/{plantId}/allowed/{userId}",
    "Withdraw a user's access to the plant; the owner's access cannot be withdrawn",
    errors=(409,),
)
async def withdraw_user(services: ManagementServices, call: OperatorCall) -> None:
    await services.people.withdraw_user(call.id_of("plantId"), call.id_of("userId"), by=call.caller)


async def _find_owner(services: ManagementServices, email: str) -> Member:
    user = await services.store.find_user_by_email(email)
    if user is None:
        raise Invalid(f"There is no user {email!r}. Create the user first.", Reason.NO_SUCH_USER)
    return Member(user.id, user.email)


def note_change(services: ManagementServices, call: OperatorCall, plant_id: Id, change: str, **detail: str) -> None:
    services.people.note(AuditAction.PLANT_CHANGED, call.caller, plant_ref(plant_id), change=change, **detail)
