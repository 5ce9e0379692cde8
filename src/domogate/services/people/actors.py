"""The actor of a change, and the audit entry about the change."""

from typing import Protocol

import msgspec

from domogate.domain.ids import Id
from domogate.services.audit import COMMAND_LINE as COMMAND_LINE_NAME
from domogate.services.audit import AuditAction, AuditLog, AuditResult


class Actor(msgspec.Struct, frozen=True):
    """The user who makes a change, and the IP address of the request. If there is no user, the actor is the command line."""

    user_id: Id | None = None
    address: str = ""


COMMAND_LINE = Actor()


class Note(Protocol):
    """A function that writes a successful change to the audit log."""

    def __call__(self, action: AuditAction, by: Actor, what: str, **detail: str) -> None: ...


def build_note(audit: AuditLog | None) -> Note:
    """Return a function that writes to the audit log. If there is no audit log, the returned function does nothing."""

    def note(action: AuditAction, by: Actor, what: str, **detail: str) -> None:
        if audit is not None:
            who = COMMAND_LINE_NAME if by.user_id is None else by.user_id
            audit.note(action, who=who, what=what, result=AuditResult.OK, address=by.address, detail=detail)

    return note


def yes_or_no(value: bool) -> str:
    """Return a boolean as text for an audit entry."""
    return "yes" if value else "no"
