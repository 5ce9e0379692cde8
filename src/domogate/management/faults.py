"""Faults on demand: have a plant or a module suffer one, and take it away again."""

from collections.abc import Iterable
from datetime import datetime
from typing import Annotated

import msgspec

from domogate.domain.ids import DASHED_UUID, Id
from domogate.domain.injections import InjectedFault, Injection
from domogate.http_api.problems import Problem
from domogate.management.modules import find_plant
from domogate.management.operation import Call, Desk, Listing, Operation, Page, page_of, queried_id
from domogate.management.wire import Taken
from domogate.wire import Shown, moment_or_none


class ShownFault(Shown, frozen=True):
    """A fault that holds now: of a module, or of the whole plant (`moduleId` null); until a moment or until it is cleared."""

    plant_id: str
    module_id: str | None
    fault: InjectedFault
    value: str
    until: datetime | None


class NewFault(Taken, frozen=True):
    """`value` is for battery and failure alone. It lasts for `seconds`, `until` a moment, or until it is cleared."""

    fault: InjectedFault
    module_id: str | None = None
    value: str = ""
    seconds: Annotated[float, msgspec.Meta(gt=0, le=1e9)] | None = None
    until: Annotated[datetime, msgspec.Meta(tz=True)] | None = None


class Cleared(Shown, frozen=True):
    cleared: int


class FaultChoice(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    module_id: Annotated[str, msgspec.Meta(description="Only those of this module.")] | None = None
    fault: Annotated[InjectedFault, msgspec.Meta(description="Only this fault.")] | None = None


def show_faults(found: Iterable[tuple[Id, Injection]]) -> list[ShownFault]:
    return [ShownFault(plant_id, one.module_id, one.fault, one.value, moment_or_none(one.until)) for plant_id, one in found]


async def list_faults(desk: Desk, call: Call) -> Listing[ShownFault]:
    return _page(await desk.devices.fault_injector.list(), call.query)


async def list_faults_of_plant(desk: Desk, call: Call) -> Listing[ShownFault]:
    plant_id = (await find_plant(desk, call)).plant.id
    return _page([one for one in await desk.devices.fault_injector.list() if one[0] == plant_id], call.query)


def _page(found: Iterable[tuple[Id, Injection]], page: Page) -> Listing[ShownFault]:
    """By plant, then module, then fault, of which there is one each."""
    faults, following = page_of(show_faults(found), page, lambda one: f"{one.plant_id} {one.module_id or ''} {one.fault}")
    return Listing(faults, following)


async def inject_fault(desk: Desk, call: Call) -> Listing[ShownFault]:
    plant_id, new = call.id_of("plantId"), call.body
    assert isinstance(new, NewFault)
    module_id = None if new.module_id is None else DASHED_UUID.parse_id(new.module_id)
    if new.module_id is not None and module_id is None:
        raise Problem(400, f"The body is not as expected: moduleId must be {DASHED_UUID.name}.")
    if new.seconds is not None and new.until is not None:
        raise Problem(400, "The body is not as expected: how long it lasts is said twice, by seconds and by until.")
    until = new.until.timestamp() if new.until is not None else None
    if new.seconds is not None:
        until = desk.clock.now() + new.seconds
    injected = await desk.devices.fault_injector.inject(
        plant_id, module_id, new.fault, new.value, until, who=call.operator.id, address=call.address
    )
    return Listing(show_faults((plant_id, one) for one in injected))


async def clear_faults_of_plant(desk: Desk, call: Call) -> Cleared:
    plant_id = (await find_plant(desk, call)).plant.id
    choice: FaultChoice = call.query
    return await _clear(desk, call, plant_id, queried_id("moduleId", choice.module_id), choice.fault)


async def clear_faults(desk: Desk, call: Call) -> Cleared:
    choice: FaultChoice = call.query
    return await _clear(desk, call, None, queried_id("moduleId", choice.module_id), choice.fault)


async def _clear(desk: Desk, call: Call, plant_id: Id | None, module_id: Id | None, fault: InjectedFault | None) -> Cleared:
    doer = {"who": call.operator.id, "address": call.address}
    return Cleared(await desk.devices.fault_injector.clear(plant_id, module_id, fault, **doer))


_OF_PLANT = "/plants/{plantId}/faults"

OPERATIONS = (
    Operation(
        id="listFaults", tag="faults", summary="The faults that are injected now, in all plants",
        method="GET", path="/faults", handler=list_faults, query=Page, answer=Listing[ShownFault],
    ),
    Operation(
        id="clearFaults", tag="faults", summary="Take faults away in all plants",
        method="DELETE", path="/faults", handler=clear_faults, query=FaultChoice, answer=Cleared,
    ),
    Operation(
        id="listFaultsOfPlant", tag="faults", summary="The faults that are injected now into a plant and its modules",
        method="GET", path=_OF_PLANT, handler=list_faults_of_plant,
        query=Page, answer=Listing[ShownFault], errors=frozenset({404}),
    ),
    Operation(
        id="injectFault", tag="faults", summary="Have a plant or a module suffer a fault, for a while or until it is cleared",
        method="POST", path=_OF_PLANT, handler=inject_fault,
        body=NewFault, status=201, answer=Listing[ShownFault], errors=frozenset({404}),
    ),
    Operation(
        id="clearFaultsOfPlant", tag="faults", summary="Take faults away from a plant and its modules",
        method="DELETE", path=_OF_PLANT, handler=clear_faults_of_plant,
        query=FaultChoice, answer=Cleared, errors=frozenset({404}),
    ),
)  # fmt: skip
