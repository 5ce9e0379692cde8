"""The audit log. `AuditLog` writes the log. `AuditTrail` reads the log and verifies its chain of hashes."""

from domogate.services.audit.actions import COMMAND_LINE, GATEWAY, GONE, NOBODY, AuditAction, AuditResult
from domogate.services.audit.log import AuditLog, client_ref, key_ref, note_command, note_done, note_refusal, user_ref
from domogate.services.audit.trail import NEWEST, AuditTrail, Broken, Verification

__all__ = [
    "COMMAND_LINE",
    "GATEWAY",
    "GONE",
    "NEWEST",
    "NOBODY",
    "AuditAction",
    "AuditLog",
    "AuditResult",
    "AuditTrail",
    "Broken",
    "Verification",
    "client_ref",
    "key_ref",
    "note_command",
    "note_done",
    "note_refusal",
    "user_ref",
]
