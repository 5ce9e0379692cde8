"""Operations on the people of a home.

Only the owner of the home sees these people and changes their access. Every other member can leave the home (Decision 0059).
"""

from typing import Annotated

from msgspec import Meta

from domogate.domain.formats import NAME_LENGTH
from domogate.domain.plants import Member
from domogate.homes.services import HomeCall, HomeServices
from domogate.http_api.limits import InvitationLinkOut, InvitedPersonOut, LimitsOut, NewLimits, read_limits
from domogate.http_api.operations import OperationTable
from domogate.services.homes.homes import Home
from domogate.services.people import InvitedAs
from domogate.services.refusals import Forbidden
from domogate.services.rights.access import Role
from domogate.wire import InputModel, OutputModel

OPERATIONS = OperationTable("people")

_LONGEST_EMAIL = 254


class PersonOut(OutputModel, frozen=True):
    """A person of the home. `limits` is null for a person who may use all of the home at any time."""

    email: str
    name: str
    limits: LimitsOut | None


class HomePeopleOut(OutputModel, frozen=True):
    owner: PersonOut
    members: list[PersonOut]
    invited: list[InvitedPersonOut]


async def _people_of(services: HomeServices, home: Home) -> HomePeopleOut:
    plant = await services.people.get_plant(home.plant.id)

    async def person(member: Member) -> PersonOut:
        user = await services.identities.find_user(member.user_id)
        return PersonOut.of(member, name="" if user is None else user.name)

    return HomePeopleOut(
        owner=await person(plant.owner),
        members=[await person(member) for member in plant.allowed],
        invited=[InvitedPersonOut.of(invitation) for invitation in plant.invited],
    )


class NewHomeInvitation(InputModel, frozen=True):
    """A new invitation: an e-mail address, and the limits of the guest.

    Without limits, the person may use all of the home at any time.
    """

    email: Annotated[str, Meta(max_length=_LONGEST_EMAIL)]
    limits: NewLimits | None = None


class PersonChange(InputModel, frozen=True):
    limits: NewLimits | None


class InvitationResultOut(OutputModel, frozen=True):
    """The result of an invitation. An active user is a member at once. All others become members when they set a password.

    `mailed` is true if the gateway mailed the link to set the password. If `outcome` is `invited` and `mailed` is false, an
    operator can give the person a link, or the owner can make an invitation link.
    """

    outcome: InvitedAs
    mailed: bool


async def _open_own(services: HomeServices, call: HomeCall) -> Home:
    home = await services.open_home(call)
    if home.role is not Role.OWNER:
        raise Forbidden("Only the owner of the home may do this.")
    return home


@OPERATIONS.add("GET /homes/{homeId}/people", "The people of the home and what they may use; only for its owner")
async def get_people(services: HomeServices, call: HomeCall) -> HomePeopleOut:
    return await _people_of(services, await _open_own(services, call))


@OPERATIONS.add(
    "POST /homes/{homeId}/invitations",
    "Invite a person by e-mail; an active user becomes a member at once; only for the owner",
    status=201,
    errors=(409, 422, 502),
)
async def invite(services: HomeServices, call: HomeCall, body: NewHomeInvitation) -> InvitationResultOut:
    home = await _open_own(services, call)
    outcome = await services.people.invite_by_owner(
        home.plant.id,
        body.email.strip(),
        read_limits(body.limits),
        mails_links=services.mails_links,
        address=call.address,
        user_id=call.caller.user_id,
    )
    return InvitationResultOut(outcome, outcome is InvitedAs.INVITED and services.mails_links)


@OPERATIONS.add(
    "PATCH /homes/{homeId}/people/{email}",
    "Replace the limits of a member or of an invitation; null removes them; only for the owner",
    errors=(409, 422),
)
async def change_person(services: HomeServices, call: HomeCall, body: PersonChange) -> HomePeopleOut:
    home = await _open_own(services, call)
    limits = read_limits(body.limits)
    await services.people.limit_by_owner(
        home.plant.id, call.path["email"], limits, address=call.address, user_id=call.caller.user_id
    )
    return await _people_of(services, home)


@OPERATIONS.add(
    "DELETE /homes/{homeId}/people/{email}",
    "Withdraw the access of a member, or an invitation; only for the owner",
    errors=(409,),
)
async def withdraw_person(services: HomeServices, call: HomeCall) -> None:
    home = await _open_own(services, call)
    await services.people.withdraw_by_owner(
        home.plant.id, call.path["email"], address=call.address, user_id=call.caller.user_id
    )


class InvitationLinksOut(OutputModel, frozen=True):
    items: list[InvitationLinkOut]


class NewInvitationLink(InputModel, frozen=True):
    """A new invitation link: a note about the invited person, and the limits of the guest.

    Without limits, the person may use all of the home at any time.
    """

    note: Annotated[str, Meta(max_length=NAME_LENGTH)] = ""
    limits: NewLimits | None = None


class MadeInvitationLinkOut(OutputModel, frozen=True):
    """The new invitation link. The gateway does not show `url` again."""

    link: InvitationLinkOut
    url: str


@OPERATIONS.add(
    "GET /homes/{homeId}/invitation-links",
    "The invitation links that can still be used; the newest is first; only for the owner",
)
async def list_invitation_links(services: HomeServices, call: HomeCall) -> InvitationLinksOut:
    home = await _open_own(services, call)
    links = await services.people.list_own_invitation_links(home.plant.id, user_id=call.caller.user_id)
    return InvitationLinksOut(items=[InvitationLinkOut.of(link) for link in links])


@OPERATIONS.add(
    "POST /homes/{homeId}/invitation-links",
    "Make a link with which one person joins the home within seven days; only for the owner",
    status=201,
    errors=(422,),
)
async def make_invitation_link(services: HomeServices, call: HomeCall, body: NewInvitationLink) -> MadeInvitationLinkOut:
    home = await _open_own(services, call)
    limits = read_limits(body.limits)
    link, url = await services.people.make_invitation_link(
        home.plant.id, body.note.strip(), limits, address=call.address, user_id=call.caller.user_id
    )
    return MadeInvitationLinkOut(InvitationLinkOut.of(link), url)


@OPERATIONS.add("DELETE /homes/{homeId}/invitation-links/{linkId}", "Withdraw an invitation link; only for the owner")
async def withdraw_invitation_link(services: HomeServices, call: HomeCall) -> None:
    home = await _open_own(services, call)
    await services.people.withdraw_own_invitation_link(
        home.plant.id, call.id_of("linkId"), address=call.address, user_id=call.caller.user_id
    )


@OPERATIONS.add("DELETE /homes/{homeId}/membership", "Leave the home; its owner cannot leave it", errors=(409,))
async def leave_home(services: HomeServices, call: HomeCall) -> None:
    home = await services.open_home(call)
    await services.people.leave_plant(home.plant.id, call.caller.user_id, address=call.address)
