"""Operations on clients: the applications that people can give access to."""

from datetime import datetime

import msgspec
from msgspec import UNSET, UnsetType

from domogate.domain.people import Client, Grant, GrantType
from domogate.http_api.operations import OperationTable
from domogate.http_api.paging import Listing, Page, first_page, page_of
from domogate.http_api.requests import read_optional_id
from domogate.management.services import ManagementServices, OperatorCall
from domogate.wire import InputModel, OutputModel, given_fields
from domogate.wire.clients import RegistrationOut

OPERATIONS = OperationTable("clients")


class ClientOut(RegistrationOut, frozen=True):
    grants: tuple[GrantType, ...]
    access_token_everywhere: bool
    pkce_exempt: bool


class NewClient(InputModel, frozen=True):
    """An application to register. `confidential` says whether the application can keep a secret: an application in a browser
    or on a phone cannot keep a secret.
    """

    id: str
    name: str
    confidential: bool
    redirect_uris: tuple[str, ...] = ()
    post_logout_redirect_uris: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()
    grants: tuple[GrantType, ...] = (GrantType.AUTHORIZATION_CODE, GrantType.REFRESH_TOKEN)
    scopes: tuple[str, ...] = ()
    access_token_everywhere: bool = False
    pkce_exempt: bool = False


class CreatedClientOut(OutputModel, frozen=True):
    """A new client and its secret, which is shown only in this answer. A public client has no secret."""

    client: ClientOut
    secret: str | None


class ClientChange(InputModel, frozen=True, omit_defaults=True):
    name: str | UnsetType = UNSET
    redirect_uris: tuple[str, ...] | UnsetType = UNSET
    post_logout_redirect_uris: tuple[str, ...] | UnsetType = UNSET
    origins: tuple[str, ...] | UnsetType = UNSET
    grants: tuple[GrantType, ...] | UnsetType = UNSET
    scopes: tuple[str, ...] | UnsetType = UNSET
    access_token_everywhere: bool | UnsetType = UNSET
    pkce_exempt: bool | UnsetType = UNSET


class ClientSecretOut(OutputModel, frozen=True):
    secret: str


class ClientGrantOut(OutputModel, frozen=True):
    """The consent of a person to an application. `plants` are the plants that the person chose; null means all plants."""

    id: str
    user_id: str
    email: str
    scopes: tuple[str, ...]
    flow: GrantType
    created_at: datetime
    plants: tuple[str, ...] | None


def _client_grant_out(grant: Grant, email: str) -> ClientGrantOut:
    return ClientGrantOut.of(grant, email=email, plants=None if grant.plants is None else sorted(grant.plants))


@OPERATIONS.add("GET /clients", "The registered applications, sorted by id")
async def list_clients(services: ManagementServices, _call: OperatorCall, query: Page) -> Listing[ClientOut]:
    return page_of(await services.store.list_clients(), query, lambda client: client.id, ClientOut.of)


@OPERATIONS.add("POST /clients", "Register an application; its secret is shown only once", status=201, errors=(409, 422))
async def create_client(services: ManagementServices, call: OperatorCall, body: NewClient) -> CreatedClientOut:
    fields = msgspec.structs.asdict(body)
    confidential = fields.pop("confidential")
    client, secret = await services.people.clients.add(Client(**fields), confidential=confidential, by=call.caller)
    return CreatedClientOut(ClientOut.of(client), secret)


@OPERATIONS.add("GET /clients/{clientId}", "One application")
async def get_client(services: ManagementServices, call: OperatorCall) -> ClientOut:
    return ClientOut.of(await services.people.clients.get(call.path["clientId"]))


@OPERATIONS.add(
    "PATCH /clients/{clientId}", "Change an application's registration; missing fields keep their values", errors=(422,)
)
async def change_client(services: ManagementServices, call: OperatorCall, body: ClientChange) -> ClientOut:
    fields = given_fields(body)
    changed = await services.people.clients.change(
        call.path["clientId"], lambda client: msgspec.structs.replace(client, **fields), by=call.caller
    )
    return ClientOut.of(changed)


@OPERATIONS.add(
    "POST /clients/{clientId}/secret",
    "Make a new secret, shown only once; the old secret is refused from now on",
    status=201,
    errors=(409,),
)
async def rotate_client_secret(services: ManagementServices, call: OperatorCall) -> ClientSecretOut:
    return ClientSecretOut(await services.people.clients.rotate_secret(call.path["clientId"], by=call.caller))


@OPERATIONS.add(
    "GET /clients/{clientId}/grants",
    "The grants that people gave to the application, sorted by id; revokeGrant revokes a grant",
)
async def list_grants_of_client(services: ManagementServices, call: OperatorCall, query: Page) -> Listing[ClientGrantOut]:
    client = await services.people.clients.get(call.path["clientId"])
    after = read_optional_id("query", "after", query.after)
    found = await services.store.list_grants_of_client(client.id, after, query.limit + 1)
    return first_page(found, query.limit, lambda one: one[0].id, lambda one: _client_grant_out(*one))


@OPERATIONS.add("DELETE /clients/{clientId}", "Delete an application and all grants that people gave to it")
async def delete_client(services: ManagementServices, call: OperatorCall) -> None:
    await services.people.clients.delete(call.path["clientId"], by=call.caller)
