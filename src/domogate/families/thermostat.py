"""Thermostat (legacy): status and programs of chronothermostats (E12, E13, Spec 2.8, 2.9).

Extensions: set a chronothermostat (X1) and find it (X3, X4). Subscribe to its changes (X6 to X8), and read only what it
measures (X9).
"""

from functools import partial
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from domogate.common.http_messages import Answer
from domogate.domain.devices import DeviceKind
from domogate.domain.people import Scope
from domogate.domain.plants import Program, ThermostatDetail
from domogate.domain.states import ThermostatState
from domogate.families._call import Call, ReadServices, Services
from domogate.families._chronothermostats import (
    ChronothermostatStatus,
    Measures,
    Sender,
    cached_wire,
    measures_to_wire,
    sender_to_wire,
)
from domogate.families._family import DELETE, LEGACY, POST, Family, Operation, any_of
from domogate.families._orders import THERMOSTAT_BODY, send_command, thermostat_command
from domogate.families._plants import Plants, list_plants, plants_operation, topology_operation
from domogate.families._subscriptions import (
    NewSubscription,
    Subscription,
    SubscriptionOrder,
    list_subscriptions,
    subscribe,
    unsubscribe,
)
from domogate.families._wire import (
    EMPTY_ANSWER,
    Uuid,
    cached_answer,
    find_state_answer,
    json_answer,
    keep_state_answer,
    print_time,
)
from domogate.services.plants.read_model import ModuleView, PlantView


class WireProgram(msgspec.Struct):
    number: Annotated[int, Meta(ge=0, le=11)]
    name: str


class ProgramsOfOne(msgspec.Struct):
    programs: list[WireProgram]
    sender: Sender


class ProgramList(msgspec.Struct):
    """The body of the answer to E13: the programs of one chronothermostat (Spec 2.9)."""

    chronothermostats: list[ProgramsOfOne]


class WireModule(msgspec.Struct):
    device: Literal["chronothermostat"]
    id: Uuid
    name: str


class WirePlant(msgspec.Struct):
    id: Uuid
    name: str
    modules: list[WireModule]


class PlantTopology(msgspec.Struct):
    """The body of the answer to X4. It has the form of other topologies and lists only chronothermostats."""

    plant: WirePlant


async def read_chronothermostat(services: ReadServices, call: Call) -> Answer:
    state = services.control.find_fresh(call.module) or await services.control.read_state(call.module)
    assert isinstance(state, ThermostatState)
    time = print_time(services.clock.now(), state.utc_offset_minutes)
    encodings = call.module.encodings
    return find_state_answer(encodings, "E12", state, time) or keep_state_answer(
        encodings, "E12", state, _status_to_wire(state, call.module, time), time
    )


def _status_to_wire(state: ThermostatState, view: ModuleView, time: str) -> ChronothermostatStatus:
    wire = cached_wire(state, view)
    wire.time = time
    return ChronothermostatStatus([wire])


async def read_measures(services: ReadServices, call: Call) -> Answer:
    state = services.control.find_fresh(call.module) or await services.control.read_state(call.module)
    assert isinstance(state, ThermostatState)
    encodings = call.module.encodings
    return find_state_answer(encodings, "X9", state) or keep_state_answer(
        encodings, "X9", state, measures_to_wire(state, call.module)
    )


async def list_programs(services: ReadServices, call: Call) -> Answer:
    """List the programs. For an offline thermostat the answer is 404, as in E12, although the gateway knows its programs."""
    await services.control.check_reachable(call.module)
    listed = [WireProgram(program.number, program.name) for program in _programs_of(call.module)]
    return json_answer(ProgramList([ProgramsOfOne(listed, sender_to_wire(call.module))]))


async def set_chronothermostat(services: Services, call: Call) -> Answer:
    state = call.module.state
    command = thermostat_command(
        call.body,
        known_programs=[program.number for program in _programs_of(call.module)],
        offset_minutes=state.utc_offset_minutes if isinstance(state, ThermostatState) else 0,
        now=services.clock.now(),
    )
    await send_command(services, call, command, f"X1 set chronothermostat:{call.module.module.id}")
    return EMPTY_ANSWER


async def read_topology(_: ReadServices, call: Call) -> Answer:
    return cached_answer(call.plant.encodings, "X4", lambda: PlantTopology(_plant_to_wire(call.plant)))


def _plant_to_wire(view: PlantView) -> WirePlant:
    modules = [module for module in view.topology.every_module() if module.kind is DeviceKind.CHRONOTHERMOSTAT]
    return WirePlant(
        view.plant.id, view.plant.name, [WireModule("chronothermostat", module.id, module.name) for module in modules]
    )


def _programs_of(view: ModuleView) -> tuple[Program, ...]:
    detail = view.module.detail
    return detail.programs if isinstance(detail, ThermostatDetail) else ()


_PATH = "chronothermostat/thermoregulation/addressLocation/plants/{plantId:plant}/modules/parameter/id/value/{moduleId:module}"
_ERRORS = frozenset({400, 401, 404, 408, 469, 470, 500})
_SUBSCRIPTION_ERRORS = frozenset({400, 401, 404, 500})
_chronothermostat_operation = partial(Operation, kinds=frozenset({DeviceKind.CHRONOTHERMOSTAT}), errors=_ERRORS)

FAMILY = Family(
    name="thermostat",
    slug="thermostat",
    prefix="/thermostat/v2.0",
    lifecycle=LEGACY,
    operations=(
        _chronothermostat_operation(
            id="E12",
            summary="Get chronothermostat status",
            path=_PATH,
            handler=read_chronothermostat,
            scopes=any_of(Scope.COMFORT_READ),
            answer=ChronothermostatStatus,
        ),
        _chronothermostat_operation(
            id="E13",
            summary="Get chronothermostat program list",
            path=f"{_PATH}/programlist",
            handler=list_programs,
            scopes=any_of(Scope.COMFORT_READ),
            answer=ProgramList,
        ),
        _chronothermostat_operation(
            id="X1",
            extension="E12 only reads a chronothermostat; this operation sets it",
            summary="Set chronothermostat status",
            method=POST,
            path=_PATH,
            handler=set_chronothermostat,
            scopes=any_of(Scope.COMFORT_WRITE),
            body=THERMOSTAT_BODY,
        ),
        plants_operation(
            "X3",
            list_plants,
            Plants,
            _ERRORS,
            scope=Scope.COMFORT_READ,
            extension="X4 needs a plant id, and this list shows it",
        ),
        topology_operation(
            "X4",
            read_topology,
            PlantTopology,
            _ERRORS,
            scope=Scope.COMFORT_READ,
            extension="E12 needs the ids of chronothermostats, and no other topology shows them",
        ),
        Operation(
            id="X6",
            extension="with a subscription an application need not poll E12",
            summary="Subscribe to a plant",
            method=POST,
            path="plants/{plantId:plant}/subscription",
            handler=subscribe,
            scopes=any_of(Scope.COMFORT_READ),
            body=SubscriptionOrder,
            answer=NewSubscription,
            status=201,
            errors=_SUBSCRIPTION_ERRORS | {409},
        ),
        Operation(
            id="X7",
            extension="after a restart an application can find its subscriptions",
            summary="Get subscriptions",
            path="subscription",
            handler=list_subscriptions,
            scopes=any_of(Scope.COMFORT_READ),
            answer=list[Subscription],
            may_be_empty=True,
            errors=_SUBSCRIPTION_ERRORS,
        ),
        Operation(
            id="X8",
            extension="it ends what X6 started",
            summary="Unsubscribe from a plant",
            method=DELETE,
            path="plants/{plantId:plant}/subscription/{subscriptionId:subscription}",
            handler=unsubscribe,
            scopes=any_of(Scope.COMFORT_READ),
            errors=_SUBSCRIPTION_ERRORS,
        ),
        _chronothermostat_operation(
            id="X9",
            extension="applications in the field read temperature and humidity here",
            summary="Get measured temperature and humidity",
            path=f"{_PATH}/measures",
            handler=read_measures,
            scopes=any_of(Scope.COMFORT_READ),
            answer=Measures,
        ),
    ),
)
