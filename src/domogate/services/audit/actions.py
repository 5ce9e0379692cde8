"""The words of audit entries: actions, results and actors."""

from enum import StrEnum

from domogate.domain.audit import REMOVED as ENTRIES_REMOVED


class AuditAction(StrEnum):
    """All actions that the log records. Operators search the log for these words and for the words of `AuditResult`."""

    # on the login and account pages
    LOGIN = "login"
    SECOND_FACTOR = "second factor"
    SECOND_FACTOR_CHANGED = "second factor changed"
    LOGOUT = "logout"
    SESSION_ENDED = "session ended"
    LINK_ISSUED = "link issued"
    PASSWORD_SET = "password set"
    TERMS_ACCEPTED = "terms accepted"
    # access of applications
    CONSENT = "consent"
    GRANT = "grant"
    REFRESH = "refresh"
    REFUSAL = "refusal"
    REVOCATION = "revocation"
    # rights
    USER_ADDED = "user added"
    USER_CHANGED = "user changed"
    USER_DELETED = "user deleted"
    CLIENT_SAVED = "client saved"
    CLIENT_DELETED = "client deleted"
    INVITED = "invited"
    ALLOWED = "allowed"
    WITHDRAWN = "withdrawn"
    LEFT = "left"
    PLANT_CHANGED = "plant changed"
    # keys and tickets
    KEY_ISSUED = "key issued"
    KEY_REVOKED = "key revoked"
    SIGNING_KEYS_ROTATED = "signing keys rotated"
    SECRET_KEY_ROTATED = "secret key rotated"
    TICKET_ISSUED = "ticket issued"
    TICKET_REDEEMED = "ticket redeemed"
    PICTURE_TAKEN = "picture taken"
    # webhooks
    WEBHOOK_ADDED = "webhook added"
    WEBHOOK_CHANGED = "webhook changed"
    WEBHOOK_REMOVED = "webhook removed"
    WEBHOOK_ENDED = "webhook ended"
    DEAD_LETTERS_REPLAYED = "dead letters replayed"
    # commands to devices
    COMMAND = "command"
    # the logbook of emergency lighting
    LOGBOOK_WRITTEN = "logbook written"
    # the operator
    ESTATE_IMPORTED = "estate imported"
    ESTATE_EXPORTED = "estate exported"
    AUDIT_EXPORTED = "audit exported"
    BACKUP = "backup"
    DRIVER_CHANGED = "driver changed"
    CLOCK_CONFIRMED = "clock confirmed"
    # the log itself
    DROPPED = "entries dropped"
    REMOVED = ENTRIES_REMOVED


class AuditResult(StrEnum):
    OK = "ok"
    WRONG = "wrong"
    """A wrong password, code or client secret."""
    SLOWED = "slowed"
    """The attempt was refused because there were too many attempts before it."""
    REFUSED = "refused"
    FAILED = "failed"


COMMAND_LINE = "command line"
GATEWAY = "gateway"
NOBODY = "nobody"
"""The actor did not authenticate."""
GONE = "user:gone"
"""A user who was deleted before this gateway had read the user's pseudonym."""
