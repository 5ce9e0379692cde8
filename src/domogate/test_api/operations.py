"""Operations that reset the gateway, replace its estate, issue tokens, advance the clock, and show commands and traffic."""

from datetime import datetime
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from domogate.domain.commands import OrderRecord
from domogate.http_api.operations import OperationTable
from domogate.http_api.paging import Listing
from domogate.http_api.requests import read_id, read_optional_id
from domogate.ports import OrderFilter
from domogate.test_api.names import find_operation
from domogate.test_api.services import KitServices, TestCall, TokenRequest
from domogate.test_api.traffic import ExchangeOut
from domogate.wire import InputModel, OutputModel, to_datetime
from domogate.wire.commands import OrderFacts, command_body

OPERATIONS = OperationTable("testing")

MAX_DOCUMENT = 4 * 1024 * 1024
LONGEST_LEAP = 366 * 86_400.0
_LONGEST_LIFETIME = 10 * 366 * 86_400.0


class NewEstate(InputModel, frozen=True):
    """The estate as an object, with the fields of an estate file, or as the text of an estate file (YAML)."""

    estate: dict[str, Any] | Annotated[str, Meta(max_length=MAX_DOCUMENT)]


class EstateContentOut(OutputModel, frozen=True):
    """The numbers of records of the estate, without the records of the test kit itself."""

    users: int
    plants: int
    modules: int


class NewTokens(InputModel, frozen=True):
    """The user for whom tokens are issued, and the content of the tokens.

    Without `scopes`, the tokens have all scopes of the client. Without `plants`, they are for all plants of the user. Without
    `client`, they belong to the client `test-kit`. Without `seconds`, they have the usual lifetime.
    """

    user: Annotated[str, Meta(description="The e-mail of the user.")]
    scopes: tuple[str, ...] | None = None
    plants: tuple[str, ...] | None = None
    client: str | None = None
    seconds: Annotated[float, Meta(gt=0, le=_LONGEST_LIFETIME)] | None = None


class TokensOut(OutputModel, frozen=True):
    """An access token and an id token of a new grant."""

    access_token: str
    id_token: str
    client_id: str
    scopes: tuple[str, ...]
    expires_at: datetime


class TimeLeap(InputModel, frozen=True):
    seconds: Annotated[float, Meta(gt=0, le=LONGEST_LEAP)]


class TimeOut(OutputModel, frozen=True):
    """The time of the gateway."""

    now: datetime


class CommandFilter(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    plant_id: Annotated[str, Meta(description="Only commands for this plant.")] | None = None
    module_id: Annotated[str, Meta(description="Only commands for this module.")] | None = None
    limit: Annotated[int, Meta(ge=1, le=10_000, description="The newest commands, at most this number.")] = 1_000


class CommandOut(OrderFacts, frozen=True):
    """A command for a module, and its result."""

    at: datetime


class TrafficFilter(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    operation: Annotated[str, Meta(description="Only requests of this operation: its name or its id.")] | None = None


@OPERATIONS.add("POST /reset", "Return to the state after the start, or after the estate was replaced")
async def reset(services: KitServices, _call: TestCall) -> None:
    await services.gateway.reset()


@OPERATIONS.add(
    "POST /estate",
    "Start again with another estate; later resets return to this estate",
    errors={422: "The estate has mistakes"},
    max_body=2 * MAX_DOCUMENT,
)
async def replace_estate(services: KitServices, _call: TestCall, body: NewEstate) -> EstateContentOut:
    document = body.estate if isinstance(body.estate, str) else msgspec.json.encode(body.estate).decode()
    return EstateContentOut.of(await services.gateway.replace_estate(document))


@OPERATIONS.add("POST /tokens", "Issue tokens for a user, without a login", status=201, errors=(404, 422))
async def issue_tokens(services: KitServices, _call: TestCall, body: NewTokens) -> TokensOut:
    plants = None if body.plants is None else frozenset(read_id("body", "plants", plant) for plant in body.plants)
    request = TokenRequest(body.user, body.scopes, plants, body.client, body.seconds)
    return TokensOut.of(await services.gateway.issue_tokens(request))


@OPERATIONS.add("POST /time", "Move the time of the gateway forward")
async def advance_time(services: KitServices, _call: TestCall, body: TimeLeap) -> TimeOut:
    await services.gateway.advance(body.seconds)
    return TimeOut(to_datetime(services.clock.now()))


@OPERATIONS.add("GET /time", "The time of the gateway")
async def get_time(services: KitServices, _call: TestCall) -> TimeOut:
    return TimeOut(to_datetime(services.clock.now()))


@OPERATIONS.add("GET /commands", "The commands that the gateway sent or tried to send to modules; the oldest is first")
async def list_commands(services: KitServices, _call: TestCall, query: CommandFilter) -> Listing[CommandOut]:
    plant_id = read_optional_id("query", "plantId", query.plant_id)
    module_id = read_optional_id("query", "moduleId", query.module_id)
    found = await services.store.list_orders(OrderFilter(plant_id, module_id), query.limit, None)
    # The store also returns all orders that have the same time as the last of them.
    return Listing([_command_out(record) for record in reversed(found[: query.limit])])


def _command_out(record: OrderRecord) -> CommandOut:
    return CommandOut.of(record, record.order, command=command_body(record.order.command), at=record.queued_at)


@OPERATIONS.add(
    "GET /traffic", "The last requests and their answers, without secrets; the oldest of them is first", errors=(422,)
)
async def list_traffic(services: KitServices, _call: TestCall, query: TrafficFilter) -> Listing[ExchangeOut]:
    wanted = None if query.operation is None else find_operation(services.operations, query.operation).name
    return Listing([one for one in services.traffic.list() if wanted in (None, one.operation)])
