"""Notes uses of tickets in the audit log, without flooding it.

Each success has an entry, because it needs a ticket that a known user got. Refusals cost the sender nothing, so only a limited
number per minute have an entry each. The others are counted, and one entry has their number.
"""

import asyncio
from collections import OrderedDict

from domogate.ports import Audit, Clock
from domogate.services.audit import NOBODY, AuditAction, AuditResult
from domogate.services.tickets.permits import Permit
from domogate.services.tickets.refusals import Reason

NOTED_OF_ONE_PERMIT = 100
NOTED_WITHOUT_PERMIT = 20
"""Refusals per minute that have an entry each: of one permit, and of all requests without a valid permit together."""
_MINUTE = 60.0
_CAPACITY = 10_000


class _RefusalCount:
    """The refusals of one permit, or of requests without one, since `begun`."""

    __slots__ = ("begun", "not_noted", "noted")

    def __init__(self, begun: float) -> None:
        self.begun = begun
        self.noted = 0
        self.not_noted = 0

    def is_outdated(self, now: float) -> bool:
        return not self.begun <= now < self.begun + _MINUTE


class TicketAudit:
    """Notes all attempts, also those without a valid permit."""

    def __init__(self, audit: Audit, clock: Clock) -> None:
        self._audit = audit
        self._clock = clock
        self._counts: OrderedDict[tuple[AuditAction, Permit | None], _RefusalCount] = OrderedDict()
        self._pictures_noted: OrderedDict[str, None] = OrderedDict()
        self._timer: asyncio.TimerHandle | None = None

    def note_done(self, action: AuditAction, permit: Permit, address: str) -> None:
        self._note(action, permit, AuditResult.OK, address)

    def note_picture(self, permit: Permit, address: str) -> None:
        """A viewer polls for pictures, so only the first picture of each permit is noted."""
        if permit.id not in self._pictures_noted:
            self._pictures_noted[permit.id] = None
            if len(self._pictures_noted) > _CAPACITY:
                self._pictures_noted.popitem(last=False)
            self._note(AuditAction.PICTURE_TAKEN, permit, AuditResult.OK, address)

    def note_refused(self, action: AuditAction, permit: Permit | None, reason: Reason | None, address: str) -> None:
        """`permit`: None if it was not valid, so the user is not known. `reason`: None for an internal error."""
        now = self._clock.now()
        key = (action, permit)
        count = self._counts.get(key)
        if count is not None and count.is_outdated(now):
            self._sum_up(key)
            count = None
        if count is None:
            count = self._counts[key] = _RefusalCount(now)
            if len(self._counts) > _CAPACITY:
                self._sum_up(next(iter(self._counts)))
        if count.noted < (NOTED_WITHOUT_PERMIT if permit is None else NOTED_OF_ONE_PERMIT):
            count.noted += 1
            self._note(action, permit, _result(reason), address, why=reason or "failed")
        else:
            count.not_noted += 1
            if self._timer is None:
                self._timer = asyncio.get_running_loop().call_later(_MINUTE, self.sum_up)

    def sum_up(self) -> None:
        """Note the number of refusals that have no entry yet."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        for key in tuple(self._counts):
            self._sum_up(key)

    def _sum_up(self, key: tuple[AuditAction, Permit | None]) -> None:
        count = self._counts.pop(key)
        if count.not_noted:
            action, permit = key
            self._note(action, permit, AuditResult.REFUSED, "", why="more of the same", attempts=str(count.not_noted))

    def _note(self, action: AuditAction, permit: Permit | None, result: AuditResult, address: str, **detail: str) -> None:
        if permit is None:
            self._audit.note(action, who=NOBODY, what="no permission", result=result, address=address, detail=detail)
            return
        detail = {"plant": permit.plant_id, "permit": permit.id, "client": permit.client_id, **detail}
        what = f"{permit.action} module:{permit.module_id}"
        self._audit.note(action, who=permit.user_id, what=what, result=result, address=address, detail=detail)


def _result(reason: Reason | None) -> AuditResult:
    if reason is Reason.SLOW_DOWN:
        return AuditResult.SLOWED
    return AuditResult.FAILED if reason is None or reason.is_of_device else AuditResult.REFUSED
