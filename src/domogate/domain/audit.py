"""Who did what, when, from where, with what result: append-only, each record chained to the one before by its hash."""

import hashlib

import msgspec

GENESIS = "0" * 64


class AuditEntry(msgspec.Struct, frozen=True):
    """What happened. `who` is a pseudonym, a client, a subscription or the command line; never a name or an e-mail."""

    at: float
    action: str
    who: str
    what: str
    result: str
    address: str = ""
    detail: dict[str, str] = {}


class AuditRecord(msgspec.Struct, frozen=True):
    """An entry in its place in the chain."""

    number: int
    entry: AuditEntry
    hash: str


_encode = msgspec.json.Encoder(order="deterministic").encode


def chain(previous: str, number: int, entry: AuditEntry) -> str:
    """The hash of an entry that follows the one with the hash `previous`."""
    return hashlib.sha256(previous.encode() + str(number).encode() + _encode(entry)).hexdigest()


# --- removing what was kept long enough ---------------------------------------------------------------------------------

REMOVED = "entries removed"
_UP_TO, _HASH = "up_to", "hash"


class UnreadableRecord(ValueError):
    """What is kept under this number was so changed that it is no entry any more."""

    def __init__(self, number: int) -> None:
        super().__init__(f"the audit record {number} cannot be read")
        self.number = number


class Removal(msgspec.Struct, frozen=True):
    """That all records up to this number are gone, and the hash of the last of them: what the first kept one follows.

    It is an entry of the chain itself, so that nobody can move the log's beginning without breaking it.
    """

    up_to: int
    hash: str

    def to_entry(self, at: float) -> AuditEntry:
        detail = {_UP_TO: str(self.up_to), _HASH: self.hash}
        return AuditEntry(at, REMOVED, "gateway", "records that were kept long enough", "ok", "", detail)


def find_removal(entry: AuditEntry) -> Removal | None:
    """What the entry says was removed; None when it is about something else."""
    up_to = entry.detail.get(_UP_TO, "")
    if entry.action != REMOVED or not (up_to.isascii() and up_to.isdigit()):
        return None
    return Removal(int(up_to), entry.detail.get(_HASH, ""))
