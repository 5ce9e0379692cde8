"""Operations for faults on demand, in simulated modules of the developer's own homes."""

from datetime import datetime
from typing import Annotated

from msgspec import Meta

from domogate.developer.services import DeveloperCall, DeveloperServices
from domogate.domain.injections import InjectedFault
from domogate.http_api.operations import OperationTable
from domogate.services.developer.faults import LONGEST
from domogate.wire import InputModel, OutputModel, to_datetime

OPERATIONS = OperationTable("faults")

_PATH = "/homes/{homeId}/modules/{moduleId}/faults"


class NewOwnFault(InputModel, frozen=True):
    """A fault to inject, and for how long.

    The faults `battery` and `failure` need a value, so they are refused here. An operator can inject them with the management
    API or with `domogate fault inject`.
    """

    fault: InjectedFault
    seconds: Annotated[float, Meta(gt=0, le=LONGEST)] = LONGEST


class OwnFaultOut(OutputModel, frozen=True):
    fault: InjectedFault
    until: datetime


@OPERATIONS.add(f"POST {_PATH}", "Inject a fault into a simulated module of a home that the person owns", status=201)
async def inject_fault(services: DeveloperServices, call: DeveloperCall, body: NewOwnFault) -> OwnFaultOut:
    until = await services.faults.inject(
        call.caller, call.id_of("homeId"), call.id_of("moduleId"), body.fault, body.seconds, address=call.address
    )
    return OwnFaultOut(body.fault, to_datetime(until))


@OPERATIONS.add(f"DELETE {_PATH}", "Clear the faults of a simulated module of a home that the person owns")
async def clear_faults(services: DeveloperServices, call: DeveloperCall) -> None:
    await services.faults.clear(call.caller, call.id_of("homeId"), call.id_of("moduleId"), address=call.address)
