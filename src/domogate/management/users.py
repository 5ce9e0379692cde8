"""Users: who is there, what they may, how they get in."""

from typing import Annotated

import msgspec

from domogate.management.operation import Call, Desk, Listing, Operation, Page, page_of
from domogate.management.wire import (
    CreatedUser,
    LinkWish,
    NewUser,
    ShownGrant,
    ShownLink,
    ShownPlant,
    ShownSession,
    ShownUser,
    UserChange,
    show_grant,
    show_link,
    show_plant,
    show_session,
    show_user,
)
from domogate.services.people import check_name


class UserPage(Page, frozen=True, forbid_unknown_fields=True):
    email: Annotated[str, msgspec.Meta(description="Only the user with this e-mail.")] | None = None


async def list_users(desk: Desk, call: Call) -> Listing[ShownUser]:
    query: UserPage = call.query
    if query.email is not None:
        found = await desk.store.find_user_by_email(query.email)
        return Listing([] if found is None else [show_user(found)])
    users, after = page_of(await desk.store.list_users(), query, lambda user: user.id)
    return Listing([show_user(user) for user in users], after)


async def create_user(desk: Desk, call: Call) -> CreatedUser:
    new: NewUser = call.body
    user, link = await desk.people.create_user(new.email, new.name, operator=new.operator, show_link=new.show_link, by=call.by)
    return CreatedUser(show_user(user), show_link(link))


async def get_user(desk: Desk, call: Call) -> ShownUser:
    return show_user(await desk.people.get_user(call.id_of("userId")))


async def change_user(desk: Desk, call: Call) -> ShownUser:
    """What can be refused comes first, so that a change is made whole or not at all."""
    user_id, change = call.id_of("userId"), call.body
    assert isinstance(change, UserChange)
    user = await desk.people.get_user(user_id)
    if change.name is not msgspec.UNSET:
        check_name(change.name)
    if change.operator is not msgspec.UNSET:
        user = await desk.people.set_operator(user_id, change.operator, by=call.by)
    if change.name is not msgspec.UNSET:
        user = await desk.people.set_name(user_id, change.name, by=call.by)
    if change.standing is not msgspec.UNSET:
        user = await desk.people.set_standing(user_id, change.standing, by=call.by)
    return show_user(user)


async def delete_user(desk: Desk, call: Call) -> None:
    await desk.people.delete_user(call.id_of("userId"), by=call.by)


async def issue_link(desk: Desk, call: Call) -> ShownLink:
    wish: LinkWish = call.body
    return show_link(await desk.people.issue_password_link(call.id_of("userId"), show_link=wish.show_link, by=call.by))


async def reset_second_factor(desk: Desk, call: Call) -> None:
    await desk.people.reset_second_factor(call.id_of("userId"), by=call.by)


async def list_sessions(desk: Desk, call: Call) -> Listing[ShownSession]:
    user = await desk.people.get_user(call.id_of("userId"))
    return Listing([show_session(session) for session in await desk.store.list_sessions(user.id)])


async def end_sessions(desk: Desk, call: Call) -> None:
    await desk.people.end_sessions(call.id_of("userId"), by=call.by)


async def list_grants(desk: Desk, call: Call) -> Listing[ShownGrant]:
    user = await desk.people.get_user(call.id_of("userId"))
    return Listing([show_grant(grant) for grant in await desk.store.list_grants(user.id)])


async def revoke_grant(desk: Desk, call: Call) -> None:
    await desk.people.revoke_grant(call.id_of("userId"), call.id_of("grantId"), by=call.by)


async def revoke_grants(desk: Desk, call: Call) -> None:
    await desk.people.revoke_grants(call.id_of("userId"), by=call.by)


async def list_plants(desk: Desk, call: Call) -> Listing[ShownPlant]:
    user = await desk.people.get_user(call.id_of("userId"))
    return Listing([show_plant(plant) for plant in (await desk.store.list_plants_of(user.id))[0]])


_NOT_THERE = frozenset({404})

OPERATIONS = (
    Operation(
        id="listUsers", tag="users", summary="The users, by id", method="GET", path="/users", handler=list_users,
        query=UserPage, answer=Listing[ShownUser],
    ),
    Operation(
        id="createUser", tag="users", summary="Make a user, who sets their password by a one-time link",
        method="POST", path="/users", handler=create_user,
        body=NewUser, status=201, answer=CreatedUser, errors=frozenset({409, 422, 502}),
    ),
    Operation(
        id="getUser", tag="users", summary="One user", method="GET", path="/users/{userId}", handler=get_user,
        answer=ShownUser, errors=_NOT_THERE,
    ),
    Operation(
        id="changeUser", tag="users", summary="Change name, standing, or whether they are an operator",
        method="PATCH", path="/users/{userId}", handler=change_user,
        body=UserChange, answer=ShownUser, errors=frozenset({404, 409, 422}),
    ),
    Operation(
        id="deleteUser", tag="users", summary="Delete a user and everything of theirs; refused while they own plants",
        method="DELETE", path="/users/{userId}", handler=delete_user, status=204, errors=frozenset({404, 409}),
    ),
    Operation(
        id="issuePasswordLink", tag="users", summary="A new one-time link to set the password; former ones open nothing then",
        method="POST", path="/users/{userId}/password-link", handler=issue_link,
        body=LinkWish, status=201, answer=ShownLink, errors=frozenset({404, 502}),
    ),
    Operation(
        id="resetSecondFactor", tag="users", summary="Take the second factor away from somebody who lost it",
        method="DELETE", path="/users/{userId}/second-factor", handler=reset_second_factor,
        status=204, errors=frozenset({404, 409}),
    ),
    Operation(
        id="listSessions", tag="users", summary="The browsers in which they are logged in",
        method="GET", path="/users/{userId}/sessions", handler=list_sessions, answer=Listing[ShownSession], errors=_NOT_THERE,
    ),
    Operation(
        id="endSessions", tag="users", summary="Log them out of every browser",
        method="DELETE", path="/users/{userId}/sessions", handler=end_sessions, status=204, errors=_NOT_THERE,
    ),
    Operation(
        id="listGrants", tag="users", summary="The applications they let in",
        method="GET", path="/users/{userId}/grants", handler=list_grants, answer=Listing[ShownGrant], errors=_NOT_THERE,
    ),
    Operation(
        id="revokeGrant", tag="users", summary="Throw an application out: its tokens are refused from the next request on",
        method="DELETE", path="/users/{userId}/grants/{grantId}", handler=revoke_grant, status=204, errors=_NOT_THERE,
    ),
    Operation(
        id="revokeGrants", tag="users", summary="Throw all applications out",
        method="DELETE", path="/users/{userId}/grants", handler=revoke_grants, status=204, errors=_NOT_THERE,
    ),
    Operation(
        id="listPlantsOfUser", tag="users", summary="The plants they own or are allowed in",
        method="GET", path="/users/{userId}/plants", handler=list_plants, answer=Listing[ShownPlant], errors=_NOT_THERE,
    ),
)  # fmt: skip
