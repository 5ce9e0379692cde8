"""Every attempt in the audit log, and no flood in it.

What was done is noted each time: it takes a ticket, and each was asked for by somebody who is known. Refusals cost nothing
to cause, so only so many in a minute have an entry each; the others are counted, and their number is an entry.
"""

import asyncio
from collections import OrderedDict

from domogate.ports import Audit, Clock
from domogate.services.audit.log import NOBODY, AuditAction, AuditResult
from domogate.services.tickets.permits import Permit
from domogate.services.tickets.refusals import Reason

OF_ONE_PERMIT = 100
OF_NOBODY = 20
"""Refusals that have an entry each in a minute: of one ticket, and of everything together that is none."""
_MINUTE = 60.0
_CAPACITY = 10_000


class _Minute:
    """What was refused of one permit, or of what is none, since `begun`."""

    __slots__ = ("begun", "left_out", "noted")

    def __init__(self, begun: float) -> None:
        self.begun = begun
        self.noted = 0
        self.left_out = 0

    def is_over(self, now: float) -> bool:
        return not self.begun <= now < self.begun + _MINUTE


class Noting:
    """Notes attempts, those without a permit too."""

    def __init__(self, audit: Audit, clock: Clock) -> None:
        self._audit = audit
        self._clock = clock
        self._minutes: OrderedDict[tuple[AuditAction, Permit | None], _Minute] = OrderedDict()
        self._looked: OrderedDict[str, None] = OrderedDict()
        self._timer: asyncio.TimerHandle | None = None

    def note_done(self, action: AuditAction, permit: Permit, address: str) -> None:
        self._note(action, permit, AuditResult.OK, address)

    def note_looked(self, permit: Permit, address: str) -> None:
        """Somebody who watches asks for a picture every second: the first one under each permission is noted."""
        if permit.id not in self._looked:
            self._looked[permit.id] = None
            if len(self._looked) > _CAPACITY:
                self._looked.popitem(last=False)
            self._note(AuditAction.PICTURE_TAKEN, permit, AuditResult.OK, address)

    def note_refused(self, action: AuditAction, permit: Permit | None, why: Reason | None, address: str) -> None:
        """`permit`: None when it was nothing of ours, so that nobody is known to have tried. `why`: None: we failed."""
        now = self._clock.now()
        key = (action, permit)
        minute = self._minutes.get(key)
        if minute is not None and minute.is_over(now):
            self._sum_up(key)
            minute = None
        if minute is None:
            minute = self._minutes[key] = _Minute(now)
            if len(self._minutes) > _CAPACITY:
                self._sum_up(next(iter(self._minutes)))
        if minute.noted < (OF_NOBODY if permit is None else OF_ONE_PERMIT):
            minute.noted += 1
            self._note(action, permit, _result(why), address, why=why or "failed")
        else:
            minute.left_out += 1
            if self._timer is None:
                self._timer = asyncio.get_running_loop().call_later(_MINUTE, self.sum_up)

    def sum_up(self) -> None:
        """Note how many were only counted so far."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        for key in tuple(self._minutes):
            self._sum_up(key)

    def _sum_up(self, key: tuple[AuditAction, Permit | None]) -> None:
        minute = self._minutes.pop(key)
        if minute.left_out:
            action, permit = key
            self._note(action, permit, AuditResult.REFUSED, "", why="more of the same", attempts=str(minute.left_out))

    def _note(self, action: AuditAction, permit: Permit | None, result: AuditResult, address: str, **detail: str) -> None:
        if permit is None:
            self._audit.note(action, who=NOBODY, what="no permission", result=result, address=address, detail=detail)
            return
        said = {"plant": permit.plant_id, "permit": permit.id, "client": permit.client_id, **detail}
        what = f"{permit.action} module:{permit.module_id}"
        self._audit.note(action, who=permit.user_id, what=what, result=result, address=address, detail=said)


def _result(why: Reason | None) -> AuditResult:
    if why is Reason.SLOW_DOWN:
        return AuditResult.SLOWED
    return AuditResult.FAILED if why is None or why.is_of_device else AuditResult.REFUSED
