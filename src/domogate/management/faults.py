"""Operations for faults on demand: inject a fault into a plant or a module, and clear it again."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, UnsetType

from domogate.domain.ids import Id
from domogate.domain.injections import InjectedFault, Injection
from domogate.http_api.operations import OperationTable
from domogate.http_api.paging import Listing, page_of
from domogate.http_api.requests import not_as_expected, read_optional_id, read_time
from domogate.management.modules import find_plant
from domogate.management.names import NO_NAMES, NamedPage, find_names, name_of
from domogate.management.services import ManagementServices, OperatorCall
from domogate.ports import Named
from domogate.wire import InputModel, OutputModel

OPERATIONS = OperationTable("faults")


class FaultOut(OutputModel, frozen=True):
    """An active fault of a module, or of the whole plant if `moduleId` is null.

    If `until` is null, the fault stays active until it is cleared. `plantName` and `moduleName` are present only if the request
    has the query parameter `names=true`.
    """

    plant_id: str
    module_id: str | None
    fault: InjectedFault
    value: str
    until: datetime | None
    plant_name: str | UnsetType = UNSET
    module_name: str | UnsetType = UNSET


class NewFault(InputModel, frozen=True):
    """A fault to inject. Only the faults `battery` and `failure` have a `value`.

    The fault lasts for the given `seconds`, or until the time in `until`. If both fields are missing, the fault lasts until it
    is cleared.
    """

    fault: InjectedFault
    module_id: str | None = None
    value: str = ""
    seconds: Annotated[float, Meta(gt=0, le=1e9)] | None = None
    until: Annotated[datetime, Meta(tz=True)] | None = None


class ClearedOut(OutputModel, frozen=True):
    cleared: int


class FaultFilter(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    module_id: Annotated[str, Meta(description="Only faults of this module.")] | None = None
    fault: Annotated[InjectedFault, Meta(description="Only this fault.")] | None = None


def faults_out(found: Iterable[tuple[Id, Injection]], names: Mapping[str, Named] = NO_NAMES) -> list[FaultOut]:
    return [
        FaultOut.of(one, plant_id=plant_id, plant_name=name_of(names, plant_id), module_name=name_of(names, one.module_id))
        for plant_id, one in found
    ]


@OPERATIONS.add("GET /faults", "The active faults in all plants")
async def list_faults(services: ManagementServices, _call: OperatorCall, query: NamedPage) -> Listing[FaultOut]:
    return await _page(services, await services.devices.fault_injector.list(), query)


@OPERATIONS.add("DELETE /faults", "Clear faults in all plants")
async def clear_faults(services: ManagementServices, call: OperatorCall, query: FaultFilter) -> ClearedOut:
    return await _clear(services, call, None, query)


@OPERATIONS.add("GET /plants/{plantId}/faults", "The active faults of a plant and its modules")
async def list_faults_of_plant(services: ManagementServices, call: OperatorCall, query: NamedPage) -> Listing[FaultOut]:
    plant_id = (await find_plant(services, call)).plant.id
    found = [one for one in await services.devices.fault_injector.list() if one[0] == plant_id]
    return await _page(services, found, query)


@OPERATIONS.add("POST /plants/{plantId}/faults", "Inject a fault, for a limited time or until it is cleared", status=201)
async def inject_fault(services: ManagementServices, call: OperatorCall, body: NewFault) -> Listing[FaultOut]:
    plant_id = call.id_of("plantId")
    module_id = read_optional_id("body", "moduleId", body.module_id)
    if body.seconds is not None and body.until is not None:
        raise not_as_expected("body", "seconds and until cannot both be given")
    until = read_time("until", body.until)
    if body.seconds is not None:
        until = services.clock.now() + body.seconds
    injected = await services.devices.fault_injector.inject(
        plant_id, module_id, body.fault, body.value, until, who=call.caller.user_id, address=call.address
    )
    return Listing(faults_out((plant_id, one) for one in injected))


@OPERATIONS.add("DELETE /plants/{plantId}/faults", "Clear faults of a plant and its modules")
async def clear_faults_of_plant(services: ManagementServices, call: OperatorCall, query: FaultFilter) -> ClearedOut:
    return await _clear(services, call, (await find_plant(services, call)).plant.id, query)


async def _clear(services: ManagementServices, call: OperatorCall, plant_id: Id | None, query: FaultFilter) -> ClearedOut:
    module_id = read_optional_id("query", "moduleId", query.module_id)
    cleared = await services.devices.fault_injector.clear(
        plant_id, module_id, query.fault, who=call.caller.user_id, address=call.address
    )
    return ClearedOut(cleared)


async def _page(services: ManagementServices, found: Sequence[tuple[Id, Injection]], page: NamedPage) -> Listing[FaultOut]:
    """Return one page of the faults, sorted by plant, module and kind of fault.

    These three values together identify a fault.
    """
    names = await find_names(services, page, (one for plant_id, fault in found for one in (plant_id, fault.module_id)))
    return page_of(
        faults_out(found, names), page, lambda one: f"{one.plant_id} {one.module_id or ''} {one.fault}", lambda one: one
    )
