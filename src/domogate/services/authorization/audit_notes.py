"""Writes entries about authorization to the audit log."""

from domogate.domain.authorization import Session
from domogate.domain.ids import Id
from domogate.domain.people import PAGES_CLIENT, Grant
from domogate.ports import Audit
from domogate.services.audit import NOBODY, AuditAction, AuditResult, client_ref, user_ref


class AuditNotes:
    """Writes grants, their ends, logouts and refusals to the audit log, if there is one.

    `address` is the IP address that the request came from.
    """

    def __init__(self, audit: Audit | None) -> None:
        self._audit = audit

    def granted(self, grant: Grant, session: Session, address: str) -> None:
        """Record a new grant.

        The pages get a new grant each time a person opens a page. The audit log already has the login of the person. So a grant
        of the pages is recorded only if its request came from another IP address than the login.
        """
        if grant.client_id == PAGES_CLIENT and address == session.address:
            return
        plants = "all" if grant.plants is None else str(len(grant.plants))
        detail = {"flow": grant.flow.value, "scope": " ".join(grant.scopes), "plants": plants}
        self._note(AuditAction.GRANT, grant.user_id, client_ref(grant.client_id), AuditResult.OK, address, detail)

    def denied(self, user_id: Id, client_id: str, address: str) -> None:
        self._note(AuditAction.CONSENT, user_id, client_ref(client_id), AuditResult.REFUSED, address)

    def logged_out(self, user_id: Id, client_id: str | None, address: str) -> None:
        what = "session" if client_id is None else client_ref(client_id)
        self._note(AuditAction.LOGOUT, user_id, what, AuditResult.OK, address)

    def wrong_secret(self, client_id: str, address: str, *, slowed: bool) -> None:
        """Record a wrong client secret. `slowed`: the client must wait, because it sent too many wrong secrets."""
        result = AuditResult.SLOWED if slowed else AuditResult.WRONG
        self._note(AuditAction.REFUSAL, NOBODY, client_ref(client_id), result, address, {"of": "client secret"})

    def refused(self, client_id: str, user_id: Id, what: str, address: str) -> None:
        """Record that a stored code was refused, for example because it was redeemed before or has expired.

        The grant of the code has ended because of this refusal.
        """
        self._note(AuditAction.REFUSAL, client_ref(client_id), user_ref(user_id), AuditResult.REFUSED, address, {"of": what})

    def reused(self, client_id: str, grant_id: Id, address: str) -> None:
        """Record that a replaced refresh token was presented. The token may be stolen, so its grant ended."""
        detail = {"of": "refresh token replaced before"}
        self._note(AuditAction.REFRESH, client_ref(client_id), f"grant:{grant_id}", AuditResult.REFUSED, address, detail)

    def revoked(self, client_id: str, grant_id: Id, address: str) -> None:
        """Record the end of a grant. The pages revoke their grant each time a person closes a page: this is not recorded."""
        if client_id == PAGES_CLIENT:
            return
        self._note(AuditAction.REVOCATION, client_ref(client_id), f"grant:{grant_id}", AuditResult.OK, address)

    def _note(self, action: str, who: str, what: str, result: str, address: str, detail: dict[str, str] | None = None) -> None:
        if self._audit is not None:
            self._audit.note(action, who=who, what=what, result=result, address=address, detail=detail)
