"""Operations for faults of devices and for faults of answers."""

from contextlib import suppress
from typing import Annotated

from msgspec import Meta

from domogate.domain.faults import NoSuchModule, NoSuchPlant
from domogate.domain.ids import Id, new_id
from domogate.http_api.operations import OperationTable
from domogate.http_api.paging import Listing
from domogate.http_api.requests import read_optional_id
from domogate.services.refusals import Invalid, NotFound
from domogate.test_api.fault_rules import OF_DEVICES, FaultKind, FaultRule, RequestFacts
from domogate.test_api.names import find_fault, find_operation
from domogate.test_api.services import KitServices, TestCall
from domogate.wire import InputModel, OutputModel

OPERATIONS = OperationTable("faults")

LONGEST_MS = 600_000
_WITH_MS = frozenset({FaultKind.SLOW, FaultKind.CUT})


class NewKitFault(InputModel, frozen=True):
    """A fault, and the requests that get it. A request gets the fault if it matches all given fields.

    `offline`, `silent` and `refusing` are faults of devices: they need `plantId`. They can also have
    `moduleId`, but no other field.
    """

    fault: Annotated[str, Meta(extra_json_schema={"enum": [str(kind) for kind in FaultKind]})]
    operation: Annotated[str, Meta(description="A name or an id: `home.listHomes`, `homeauto.readLight` or `E8`.")] | None = (
        None
    )
    plant_id: str | None = None
    module_id: str | None = None
    user: Annotated[str, Meta(description="The e-mail of the user of the token.")] | None = None
    key: Annotated[str, Meta(description="The name of the subscription key.")] | None = None
    times: Annotated[int, Meta(ge=1, le=1_000_000, description="The number of requests that get the fault.")] | None = None
    ms: (
        Annotated[
            int,
            Meta(
                ge=0,
                le=LONGEST_MS,
                description="For slow: the delay. For cut: the time from the start of the stream. In milliseconds.",
            ),
        ]
        | None
    ) = None


class KitFaultOut(OutputModel, frozen=True):
    """A fault. `left` is the number of requests that still get the fault; null means no limit.

    `applied` is the number of requests that got it. It is null for a fault of devices: its requests are not counted.
    """

    id: str
    fault: FaultKind
    operation: str | None
    plant_id: str | None
    module_id: str | None
    user: str | None
    key: str | None
    ms: int
    left: int | None
    applied: int | None


def _to_output(rule: FaultRule) -> KitFaultOut:
    return KitFaultOut.of(rule, rule.wanted, fault=rule.kind, applied=None if rule.kind in OF_DEVICES else rule.applied)


@OPERATIONS.add("GET /faults", "The faults, in the order in which they were added")
async def list_faults(services: KitServices, _call: TestCall) -> Listing[KitFaultOut]:
    return Listing([_to_output(rule) for rule in services.rules.list()])


@OPERATIONS.add("POST /faults", "Add a fault", status=201, errors={409: "There are too many faults", 404: "", 422: ""})
async def add_fault(services: KitServices, call: TestCall, body: NewKitFault) -> KitFaultOut:
    rule = await _read_rule(services, body)
    if rule.kind in OF_DEVICES:
        _check_device_fault(body, rule)
    services.rules.add(rule)
    if rule.kind in OF_DEVICES:
        try:
            await _inject(services, call, rule)
        except Exception:
            services.rules.remove(rule.id)
            raise
    if rule.kind is FaultKind.CUT:
        services.gate.cut_streams(rule)
    return _to_output(rule)


async def _read_rule(services: KitServices, body: NewKitFault) -> FaultRule:
    kind = find_fault(body.fault)
    operation = None if body.operation is None else find_operation(services.operations, body.operation)
    if operation is not None and kind.isdecimal() and int(kind) not in operation.statuses:
        possible = ", ".join(one for one in FaultKind if one.isdecimal() and int(one) in operation.statuses)
        raise Invalid(f"The operation {operation} never answers with {kind}. The statuses of its faults are: {possible}.")
    if body.ms is not None and kind not in _WITH_MS:
        raise Invalid(f"The fault {kind} takes no ms; only slow and cut do.")
    if body.ms is None and kind is FaultKind.SLOW:
        raise Invalid("The fault slow needs ms: the delay in milliseconds.")
    wanted = RequestFacts(
        None if operation is None else operation.name,
        read_optional_id("body", "plantId", body.plant_id),
        read_optional_id("body", "moduleId", body.module_id),
        None if body.user is None else await _find_user(services, body.user),
        None if body.key is None else await _find_key(services, body.key),
    )
    return FaultRule(new_id(), kind, wanted, body.user, body.key, body.ms or 0, body.times)


def _check_device_fault(body: NewKitFault, rule: FaultRule) -> None:
    if rule.wanted.plant_id is None:
        raise Invalid(f"The fault {body.fault} is a fault of devices: it needs plantId.")
    others = {"operation": body.operation, "user": body.user, "key": body.key, "times": body.times}
    if given := [name for name, value in others.items() if value is not None]:
        raise Invalid(f"The fault {body.fault} is a fault of devices: it does not take {', '.join(given)}.")


async def _inject(services: KitServices, call: TestCall, rule: FaultRule) -> None:
    assert rule.wanted.plant_id is not None, "_check_device_fault requires a plant"
    await services.fault_injector.inject(
        rule.wanted.plant_id, rule.wanted.module_id, OF_DEVICES[rule.kind], who=call.caller.user_id, address=call.address
    )


async def _find_user(services: KitServices, email: str) -> Id:
    user = await services.store.find_user_by_email(email)
    if user is None:
        raise NotFound(f"There is no user {email!r}.")
    return user.id


async def _find_key(services: KitServices, name: str) -> str:
    for subscription in await services.store.list_subscriptions():
        if subscription.name == name:
            return subscription.key_hash
    raise NotFound(f"There is no subscription key with the name {name!r}.")


@OPERATIONS.add("DELETE /faults", "Delete all faults")
async def clear_faults(services: KitServices, call: TestCall) -> None:
    for rule in services.rules.list():
        await _delete(services, call, rule)


@OPERATIONS.add("DELETE /faults/{faultId}", "Delete a fault")
async def delete_fault(services: KitServices, call: TestCall) -> None:
    rule = services.rules.find(call.id_of("faultId"))
    if rule is None:
        raise NotFound("There is no such fault.")
    await _delete(services, call, rule)


async def _delete(services: KitServices, call: TestCall, rule: FaultRule) -> None:
    services.rules.remove(rule.id)
    if rule.kind not in OF_DEVICES:
        return
    wanted = rule.wanted
    left = [one for one in services.rules.list() if one.kind is rule.kind and one.wanted.plant_id == wanted.plant_id]
    if any(one.wanted == wanted for one in left):
        return
    await services.fault_injector.clear(
        wanted.plant_id, wanted.module_id, OF_DEVICES[rule.kind], who=call.caller.user_id, address=call.address
    )
    if wanted.module_id is None:  # Then the faults of single modules were cleared too.
        for one in left:
            with suppress(NoSuchPlant, NoSuchModule):  # It was removed after the fault was added.
                await _inject(services, call, one)
