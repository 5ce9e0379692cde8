"""Operations on users: list, create, change and delete them, and manage their ways to log in."""

from collections.abc import Awaitable, Callable, Iterable
from datetime import datetime
from typing import Annotated, TypeVar

from msgspec import UNSET, Meta, UnsetType

from domogate.common.user_agents import describe_agent
from domogate.domain.authorization import Session
from domogate.domain.ids import Id
from domogate.domain.people import Grant, GrantType, Standing, User
from domogate.http_api.operations import OperationTable
from domogate.http_api.paging import Listing, Page, page_of
from domogate.management.plants import LinkOut, PlantOut, plant_out
from domogate.management.services import ManagementServices, OperatorCall
from domogate.services.people import check_language, check_name
from domogate.wire import InputModel, OutputModel

OPERATIONS = OperationTable("users")

T = TypeVar("T")
Out = TypeVar("Out", bound=OutputModel)


class UserOut(OutputModel, frozen=True):
    id: str
    email: str
    name: str
    active: bool
    standing: Standing
    operator: bool
    second_factor: bool
    language: str | None
    """The language that the user chose for pages and mails."""
    terms_version: str | None
    """The version of the terms that the user accepted last."""


def user_out(user: User) -> UserOut:
    return UserOut.of(user, second_factor=user.has_second_factor)


class NewUser(InputModel, frozen=True):
    email: str
    name: str = ""
    operator: bool = False
    show_link: bool = False
    """Show the one-time link in the answer, even if a mail server is configured."""


class CreatedUserOut(OutputModel, frozen=True):
    user: UserOut
    link: LinkOut


class UserChange(InputModel, frozen=True, omit_defaults=True):
    email: str | UnsetType = UNSET
    """The new e-mail address counts as not verified. The old address gets a mail about the change, if mail is configured."""
    name: str | UnsetType = UNSET
    standing: Standing | UnsetType = UNSET
    operator: bool | UnsetType = UNSET
    language: str | UnsetType | None = UNSET
    """de, en, fr or it. `null` means: the language of the browser."""


class PasswordLinkRequest(InputModel, frozen=True):
    show_link: bool = False


class SessionOut(OutputModel, frozen=True):
    id: str
    created_at: datetime
    seen_at: datetime
    expires_at: datetime
    address: str
    agent: str
    """The User-Agent header of the browser."""
    browser: str
    """The browser that the User-Agent header names. Empty if the header names no known browser."""
    system: str
    """The operating system that the User-Agent header names. Empty if the header names no known operating system."""
    factors: tuple[str, ...]


def _session_out(session: Session) -> SessionOut:
    return SessionOut.of(session, describe_agent(session.agent))


class PasskeyOut(OutputModel, frozen=True):
    id: str
    name: str
    created_at: datetime
    used_at: datetime | None


class GrantOut(OutputModel, frozen=True):
    """The user's consent to an application: its scopes, and the plants for which it is valid."""

    id: str
    client_id: str
    scopes: tuple[str, ...]
    flow: GrantType
    created_at: datetime
    plants: (
        Annotated[
            tuple[str, ...], Meta(description="The plants that the user chose. null: all plants of the user, also later ones.")
        ]
        | None
    )


def _grant_out(grant: Grant) -> GrantOut:
    return GrantOut.of(grant, plants=None if grant.plants is None else sorted(grant.plants))


class ExternalAccountOut(OutputModel, frozen=True):
    issuer: str
    subject: str
    bound_at: datetime


async def _list_of_user(
    services: ManagementServices, call: OperatorCall, find: Callable[[Id], Awaitable[Iterable[T]]], out: Callable[[T], Out]
) -> Listing[Out]:
    user = await services.people.get_user(call.id_of("userId"))
    return Listing([out(one) for one in await find(user.id)])


class UserPage(Page, frozen=True, forbid_unknown_fields=True):
    email: Annotated[str, Meta(description="Only the user with this e-mail.")] | None = None


@OPERATIONS.add("GET /users", "The users, sorted by id")
async def list_users(services: ManagementServices, _call: OperatorCall, query: UserPage) -> Listing[UserOut]:
    if query.email is not None:
        found = await services.store.find_user_by_email(query.email)
        return Listing([] if found is None else [user_out(found)])
    return page_of(await services.store.list_users(), query, lambda user: user.id, user_out)


@OPERATIONS.add("POST /users", "Create a user, who sets the password with a one-time link", status=201, errors=(409, 422, 502))
async def create_user(services: ManagementServices, call: OperatorCall, body: NewUser) -> CreatedUserOut:
    user, link = await services.people.create_user(
        body.email, body.name, operator=body.operator, show_link=body.show_link, by=call.caller
    )
    return CreatedUserOut(user_out(user), LinkOut.of(link))


@OPERATIONS.add("GET /users/{userId}", "One user")
async def get_user(services: ManagementServices, call: OperatorCall) -> UserOut:
    return user_out(await services.people.get_user(call.id_of("userId")))


@OPERATIONS.add(
    "PATCH /users/{userId}",
    "Change the e-mail, the name, the language, the standing, or whether the user is an operator",
    errors=(409, 422),
)
async def change_user(services: ManagementServices, call: OperatorCall, body: UserChange) -> UserOut:
    """Change the given fields. The steps that can be refused come first, so a refused request changes nothing."""
    user_id, people = call.id_of("userId"), services.people
    user = await people.get_user(user_id)
    if body.name is not UNSET:
        check_name(body.name)
    if body.language is not UNSET:
        check_language(body.language)
    if body.email is not UNSET:
        await people.check_new_email(user_id, body.email)
    if body.operator is not UNSET:
        user = await people.set_operator(user_id, body.operator, by=call.caller)
    if body.email is not UNSET:
        user = await people.set_email(user_id, body.email, by=call.caller)
    if body.name is not UNSET:
        user = await people.set_name(user_id, body.name, by=call.caller)
    if body.language is not UNSET:
        user = await people.set_language(user_id, body.language, by=call.caller)
    if body.standing is not UNSET:
        user = await people.set_standing(user_id, body.standing, by=call.caller)
    return user_out(user)


@OPERATIONS.add(
    "DELETE /users/{userId}", "Delete a user and all data of the user; refused while the user owns plants", errors=(409,)
)
async def delete_user(services: ManagementServices, call: OperatorCall) -> None:
    await services.people.delete_user(call.id_of("userId"), by=call.caller)


@OPERATIONS.add(
    "POST /users/{userId}/password-link",
    "Make a new one-time link to set the password; earlier links stop working",
    status=201,
    errors=(502,),
)
async def issue_password_link(services: ManagementServices, call: OperatorCall, body: PasswordLinkRequest) -> LinkOut:
    user_id = call.id_of("userId")
    return LinkOut.of(await services.people.issue_password_link(user_id, show_link=body.show_link, by=call.caller))


@OPERATIONS.add(
    "DELETE /users/{userId}/second-factor",
    "Remove the second factor of a user who lost it: authenticator app, passkeys and recovery codes",
    errors=(409,),
)
async def reset_second_factor(services: ManagementServices, call: OperatorCall) -> None:
    await services.people.reset_second_factor(call.id_of("userId"), by=call.caller)


@OPERATIONS.add("GET /users/{userId}/passkeys", "The passkeys of the user")
async def list_passkeys(services: ManagementServices, call: OperatorCall) -> Listing[PasskeyOut]:
    return await _list_of_user(services, call, services.store.list_passkeys, PasskeyOut.of)


@OPERATIONS.add("DELETE /users/{userId}/passkeys/{passkeyId}", "Remove a passkey, for example of a lost device")
async def remove_passkey(services: ManagementServices, call: OperatorCall) -> None:
    await services.people.remove_passkey(call.id_of("userId"), call.id_of("passkeyId"), by=call.caller)


@OPERATIONS.add("GET /users/{userId}/external-accounts", "The accounts at other issuers that are bound to the user")
async def list_external_accounts(services: ManagementServices, call: OperatorCall) -> Listing[ExternalAccountOut]:
    return await _list_of_user(services, call, services.store.list_external_accounts, ExternalAccountOut.of)


@OPERATIONS.add(
    "DELETE /users/{userId}/external-accounts",
    "Unbind all accounts at other issuers; the next token with the user's e-mail address binds an account again",
    errors=(409,),
)
async def unbind_external_accounts(services: ManagementServices, call: OperatorCall) -> None:
    await services.people.unbind_external_accounts(call.id_of("userId"), by=call.caller)


@OPERATIONS.add("GET /users/{userId}/sessions", "The browsers in which the user is logged in")
async def list_sessions(services: ManagementServices, call: OperatorCall) -> Listing[SessionOut]:
    return await _list_of_user(services, call, services.store.list_sessions, _session_out)


@OPERATIONS.add("DELETE /users/{userId}/sessions", "Log the user out of every browser")
async def end_sessions(services: ManagementServices, call: OperatorCall) -> None:
    await services.people.end_sessions(call.id_of("userId"), by=call.caller)


@OPERATIONS.add("GET /users/{userId}/grants", "The grants that the user gave to applications")
async def list_grants(services: ManagementServices, call: OperatorCall) -> Listing[GrantOut]:
    return await _list_of_user(services, call, services.store.list_grants, _grant_out)


@OPERATIONS.add("DELETE /users/{userId}/grants/{grantId}", "Revoke a grant; its tokens are refused from now on")
async def revoke_grant(services: ManagementServices, call: OperatorCall) -> None:
    await services.people.revoke_grant(call.id_of("userId"), call.id_of("grantId"), by=call.caller)


@OPERATIONS.add("DELETE /users/{userId}/grants", "Revoke all grants that the user gave to applications")
async def revoke_grants(services: ManagementServices, call: OperatorCall) -> None:
    await services.people.revoke_grants(call.id_of("userId"), by=call.caller)


@OPERATIONS.add("GET /users/{userId}/plants", "The plants that the user owns or may use")
async def list_plants_of_user(services: ManagementServices, call: OperatorCall) -> Listing[PlantOut]:
    user = await services.people.get_user(call.id_of("userId"))
    return Listing([plant_out(plant) for plant in (await services.store.list_plants_of(user.id))[0]])
