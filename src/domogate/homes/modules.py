"""Operations on the modules of a home: show their states, and send commands to them."""

from datetime import datetime

from starlette.responses import Response

from domogate.domain.devices import DeviceKind
from domogate.domain.ids import Id
from domogate.domain.plants import ThermostatDetail
from domogate.domain.reachability import AbsenceReason
from domogate.homes.services import HomeCall, HomeServices
from domogate.http_api.operations import OperationTable, RequestHeader
from domogate.services.homes.commands import LONGEST_KEY, CommandResult, Outcome
from domogate.services.homes.homes import Home
from domogate.services.plants.read_model import ModuleView
from domogate.wire import OutputModel, to_datetime
from domogate.wire.commands import CommandBody, command_body
from domogate.wire.states import StateOut, state_out

OPERATIONS = OperationTable("modules")

_IDEMPOTENCY_KEY = RequestHeader(
    "Idempotency-Key",
    "A request that the same person sends again with the same key is not carried out again; its answer has the outcome of the "
    "first request.",
    max_length=LONGEST_KEY,
)


class UnreachableOut(OutputModel, frozen=True):
    """The absence of a module that cannot be reached. The evidence is left out, because it may name machines of the network."""

    why: AbsenceReason
    since: datetime


class ProgramOut(OutputModel, frozen=True):
    number: int
    name: str


class ModuleOut(OutputModel, frozen=True):
    """A module and its last known state.

    `command` is the value of the field `do` in a command to this module. For a scene, `command` is `run scene`: use the
    operation `runScene`. `command` is null if the module accepts no commands, or if its command needs the scope for doors and
    cameras and the token lacks this scope. `lastHeardAt` is null if the module has never reported. `simulated` is true if the
    device does not exist: its states are invented.
    """

    id: str
    name: str
    kind: DeviceKind
    room_id: str | None
    command: str | None
    state: StateOut | None
    reachable: bool
    unreachable: UnreachableOut | None
    last_heard_at: datetime | None
    simulated: bool
    programs: list[ProgramOut]


class CommandResultOut(OutputModel, frozen=True):
    """The result of a command.

    `outcome` says whether the device confirmed the command, did not answer in time, cannot be reached, or refused the command.
    A device that did not answer in time may have executed the command. `outcome` is `unknown` if the gateway does not know what
    happened. `detail` is a sentence about a failure. `module` is the module after the command.
    """

    order_id: str
    command: CommandBody
    outcome: Outcome
    detail: str
    began_at: datetime
    ended_at: datetime | None
    module: ModuleOut


def module_out(home: Home, view: ModuleView, room_id: Id | str | None) -> ModuleOut:
    module, absence = view.module, view.absence
    programs = module.detail.programs if isinstance(module.detail, ThermostatDetail) else ()
    return ModuleOut(
        id=module.id,
        name=module.name,
        kind=module.kind,
        room_id=room_id,
        command=home.find_command(module),
        state=None if view.state is None else state_out(view.state),
        reachable=view.reachable,
        unreachable=None if view.reachable or absence is None else UnreachableOut(absence.why, to_datetime(absence.since)),
        last_heard_at=to_datetime(view.reported_at) if view.reported_at else None,
        simulated=module.is_simulated,
        programs=[ProgramOut(program.number, program.name) for program in programs],
    )


def _module_of(home: Home, view: ModuleView) -> ModuleOut:
    rooms = (room.id for room in home.view.ambients.values() for module in room.modules if module.id == view.module.id)
    return module_out(home, view, next(rooms, None))


@OPERATIONS.add("GET /homes/{homeId}/modules/{moduleId}", "One module and its last known state")
async def get_module(services: HomeServices, call: HomeCall) -> ModuleOut:
    home = await services.open_home(call)
    return _module_of(home, home.find_module(call.id_of("moduleId")))


@OPERATIONS.add(
    "POST /homes/{homeId}/modules/{moduleId}/commands",
    "Send a command to a module; the answer comes at most 0.25 s after the device deadline and says how the command ended",
    header=_IDEMPOTENCY_KEY,
    errors=(409,),
)
async def command_module(services: HomeServices, call: HomeCall, body: CommandBody) -> CommandResultOut:
    """Send a command to a module.

    If the device does not execute the command, the answer is still 200: the outcome says what happened.
    """
    home = await services.open_home(call)
    result = await services.commands.send(
        call.caller, home, call.id_of("moduleId"), body, key=call.header, address=call.address
    )
    return _result_out(home, result)


def _result_out(home: Home, result: CommandResult) -> CommandResultOut:
    record = result.record
    return CommandResultOut.of(
        record,
        order_id=record.order.id,
        command=command_body(record.order.command),
        outcome=result.outcome,
        detail=record.problem,
        began_at=record.queued_at,
        module=_module_of(home, result.view),
    )


@OPERATIONS.add(
    "POST /homes/{homeId}/scenes/{moduleId}/run",
    "Run a scene; steps for one module run in order, steps for different modules at the same time",
    errors=(400,),
)
async def run_scene(services: HomeServices, call: HomeCall) -> None:
    home = await services.open_home(call)
    await services.commands.run_scene(call.caller, home, call.id_of("moduleId"), address=call.address)


@OPERATIONS.add(
    "GET /homes/{homeId}/modules/{moduleId}/picture",
    "The present picture of a camera that is on",
    success="A picture; clients must not store it",
    media_types=("image/png", "image/jpeg"),
    errors={
        400: "The module is not a camera",
        409: "The camera is off",
        502: "The camera refused",
        503: "The camera cannot be reached",
        504: "The camera did not answer in time",
    },
)
async def get_picture(services: HomeServices, call: HomeCall) -> Response:
    home = await services.open_home(call)
    taken = await services.commands.take_picture(call.caller, home, call.id_of("moduleId"), address=call.address)
    return Response(taken.content, headers={"x-content-type-options": "nosniff"}, media_type=taken.media_type)
