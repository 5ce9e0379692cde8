"""Operations for the developer's own applications, and an operation that shows the operator's rules for self-service."""

from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, UnsetType

from domogate.developer.services import DeveloperCall, DeveloperServices, actor_of
from domogate.domain.people import Client
from domogate.http_api.operations import OperationTable
from domogate.http_api.paging import Listing
from domogate.services.developer.self_service import MOST_APPLICATIONS, MOST_KEYS, SCOPES
from domogate.wire import InputModel, OutputModel, given_fields
from domogate.wire.clients import RegistrationOut

OPERATIONS = OperationTable("applications")


class SelfServiceOut(OutputModel, frozen=True):
    """The rules of the operator for self-service. `enabled`: whether people may register applications and keys for themselves.

    `scopes` are the scopes that these applications can have. `rate` and `dailyQuota` apply to each key.
    """

    enabled: bool
    scopes: tuple[str, ...]
    most_applications: int
    most_keys: int
    rate: str
    daily_quota: int


class NewApplication(InputModel, frozen=True):
    """An application to register. `confidential`: whether it can keep a secret. Browsers and phones cannot keep secrets."""

    name: Annotated[str, Meta(min_length=1)]
    confidential: bool
    redirect_uris: tuple[str, ...]
    post_logout_redirect_uris: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()
    scopes: tuple[str, ...] = ()


class CreatedApplicationOut(OutputModel, frozen=True):
    """A new application and its secret, which is shown only in this answer. A public application has no secret."""

    application: RegistrationOut
    secret: str | None


class ApplicationChange(InputModel, frozen=True, omit_defaults=True):
    name: Annotated[str, Meta(min_length=1)] | UnsetType = UNSET
    redirect_uris: tuple[str, ...] | UnsetType = UNSET
    post_logout_redirect_uris: tuple[str, ...] | UnsetType = UNSET
    origins: tuple[str, ...] | UnsetType = UNSET
    scopes: tuple[str, ...] | UnsetType = UNSET


class ApplicationSecretOut(OutputModel, frozen=True):
    secret: str


@OPERATIONS.add("GET /self-service", "The rules of the operator for self-service")
async def get_self_service(services: DeveloperServices, _call: DeveloperCall) -> SelfServiceOut:
    return SelfServiceOut.of(
        services.self_service.rules, scopes=SCOPES, most_applications=MOST_APPLICATIONS, most_keys=MOST_KEYS
    )


@OPERATIONS.add("GET /applications", "The applications that the person registered, sorted by id")
async def list_applications(services: DeveloperServices, call: DeveloperCall) -> Listing[RegistrationOut]:
    found = await services.self_service.list_applications(call.caller.user_id)
    return Listing([RegistrationOut.of(client) for client in found])


@OPERATIONS.add("POST /applications", "Register an application; its secret is shown only once", status=201, errors=(409, 422))
async def create_application(services: DeveloperServices, call: DeveloperCall, body: NewApplication) -> CreatedApplicationOut:
    fields = msgspec.structs.asdict(body)
    confidential = fields.pop("confidential")
    client, secret = await services.self_service.add_application(
        Client("", **fields), confidential=confidential, by=actor_of(call)
    )
    return CreatedApplicationOut(RegistrationOut.of(client), secret)


@OPERATIONS.add(
    "PATCH /applications/{clientId}", "Change an application of the person; missing fields keep their values", errors=(422,)
)
async def change_application(services: DeveloperServices, call: DeveloperCall, body: ApplicationChange) -> RegistrationOut:
    given = given_fields(body)
    changed = await services.self_service.change_application(
        call.path["clientId"], lambda client: msgspec.structs.replace(client, **given), by=actor_of(call)
    )
    return RegistrationOut.of(changed)


@OPERATIONS.add(
    "POST /applications/{clientId}/secret", "Make a new secret; the old secret is refused", status=201, errors=(409,)
)
async def rotate_application_secret(services: DeveloperServices, call: DeveloperCall) -> ApplicationSecretOut:
    return ApplicationSecretOut(await services.self_service.rotate_secret(call.path["clientId"], by=actor_of(call)))


@OPERATIONS.add("DELETE /applications/{clientId}", "Delete an application and all grants that people gave to it")
async def delete_application(services: DeveloperServices, call: DeveloperCall) -> None:
    await services.self_service.delete_application(call.path["clientId"], by=actor_of(call))
