"""Writes the use of tickets to the audit log. The log writes repeated refusals as one record with a count."""

from collections import OrderedDict

from domogate.ports import Audit
from domogate.services.audit import NOBODY, AuditAction, AuditResult
from domogate.services.tickets.permits import Permit
from domogate.services.tickets.refusals import Reason

_CAPACITY = 10_000


class TicketAudit:
    """Records the use of tickets and picture tokens, and refused attempts, also those without a valid permit.

    Of the pictures of one permit, only the first is recorded. All refused requests for pictures are recorded.
    """

    def __init__(self, audit: Audit) -> None:
        self._audit = audit
        self._pictures_noted: OrderedDict[str, None] = OrderedDict()

    def note_done(self, action: AuditAction, permit: Permit, address: str) -> None:
        self._note(action, permit, AuditResult.OK, address)

    def note_picture(self, permit: Permit, address: str) -> None:
        """Record the first picture of each permit. Applications fetch many pictures, so later pictures are not recorded."""
        if permit.id not in self._pictures_noted:
            self._pictures_noted[permit.id] = None
            if len(self._pictures_noted) > _CAPACITY:
                self._pictures_noted.popitem(last=False)
            self._note(AuditAction.PICTURE_TAKEN, permit, AuditResult.OK, address)

    def note_refused(self, action: AuditAction, permit: Permit | None, reason: Reason | None, address: str) -> None:
        """Record a refusal. `permit` is None if no valid permit was read; then the user is unknown.

        `reason` is None for an internal error.
        """
        self._note(action, permit, _result(reason), address, why=reason or "failed")

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
