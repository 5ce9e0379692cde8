"""Operations on the clock and the secret key.

With them, an operator sees the clock, declares that it is right, and sees the id of the secret key.
"""

from datetime import datetime

from domogate.http_api.operations import OperationTable
from domogate.management.services import ManagementServices, OperatorCall
from domogate.services.audit import AuditAction
from domogate.wire import OutputModel, to_datetime

OPERATIONS = OperationTable("maintenance")


class ClockOut(OutputModel, frozen=True):
    """`now` is the time of the clock that the gateways use. `lastSeen` is the time that a gateway last stored from this clock.

    `problem` says why old data is not pruned. It is null while old data is pruned.
    """

    now: datetime
    last_seen: datetime | None
    pruning: bool
    problem: str | None


class SecretKeyOut(OutputModel, frozen=True):
    """The id of the key that encrypts the secrets in the database. The id is null if the secrets are not encrypted."""

    id: str | None


@OPERATIONS.add("GET /clock", "The clock, and whether old data is pruned")
async def get_clock(services: ManagementServices, _call: OperatorCall) -> ClockOut:
    return await _show_clock(services)


@OPERATIONS.add("POST /clock/confirmation", "Confirm that the clock of the gateways is right; then old data is pruned again")
async def confirm_clock(services: ManagementServices, call: OperatorCall) -> ClockOut:
    await services.store.confirm_clock(services.clock.now())
    services.people.note(AuditAction.CLOCK_CONFIRMED, call.caller, "clock")
    await services.status.clock_check.check()
    return await _show_clock(services)


@OPERATIONS.add("GET /secret-key", "The id of the key that encrypts the secrets in the database; the id is not secret")
async def get_secret_key(services: ManagementServices, _call: OperatorCall) -> SecretKeyOut:
    return SecretKeyOut(await services.store.find_secret_key_id())


async def _show_clock(services: ManagementServices) -> ClockOut:
    last, problem = await services.store.find_last_time(), services.status.clock_check.problem
    last_seen = None if last is None else to_datetime(last)
    return ClockOut(to_datetime(services.clock.now()), last_seen, problem is None, problem)
