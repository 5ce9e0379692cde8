"""Which grants the audit log records (Decision 0030)."""

from typing import Any

import msgspec
import pytest

from domogate.domain.people import PAGES_CLIENT
from domogate.services.authorization.audit_notes import AuditNotes
from support.oauth import RecordedAudit
from support.stores import APP, a_grant, a_session

HOME, ELSEWHERE = "192.0.2.1", "198.51.100.7"


@pytest.mark.parametrize(
    ("client_id", "address", "recorded"),
    [
        (PAGES_CLIENT, HOME, []),
        (PAGES_CLIENT, ELSEWHERE, [("grant", "ok")]),
        (APP.id, HOME, [("grant", "ok")]),
        (APP.id, ELSEWHERE, [("grant", "ok")]),
    ],
)
def test_a_grant_of_the_pages_is_recorded_only_from_another_address_than_the_login(
    client_id: str, address: str, recorded: list[Any]
) -> None:
    audit = RecordedAudit()
    grant = msgspec.structs.replace(a_grant(1), client_id=client_id)
    AuditNotes(audit).granted(grant, a_session(2, address=HOME), address)
    assert audit.actions() == recorded


@pytest.mark.parametrize(("client_id", "recorded"), [(PAGES_CLIENT, []), (APP.id, [("revocation", "ok")])])
def test_a_revocation_by_the_pages_is_not_recorded(client_id: str, recorded: list[Any]) -> None:
    audit = RecordedAudit()
    AuditNotes(audit).revoked(client_id, a_grant(1).id, HOME)
    assert audit.actions() == recorded
