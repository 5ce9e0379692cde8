"""The audit log. Records are appended and never changed. The hash of each record includes the hash of the previous record."""

import hashlib

import msgspec

GENESIS = "0" * 64


class AuditEntry(msgspec.Struct, frozen=True):
    """One entry of the audit log.

    `who` is a pseudonym, a client, the command line, the gateway, `nobody`, or `user:gone` (a deleted user). It is never the
    name or the e-mail address of a person.
    """

    at: float
    action: str
    who: str
    what: str
    result: str
    address: str = ""
    detail: dict[str, str] = {}


class AuditRecord(msgspec.Struct, frozen=True):
    """An entry of the audit log with its number and its hash, which depends on all earlier entries."""

    number: int
    entry: AuditEntry
    hash: str


encode_entry = msgspec.json.Encoder(order="deterministic").encode


def chain(previous: str, number: int, entry: AuditEntry) -> str:
    """Return the hash of the entry with this number. `previous` is the hash of the entry before it."""
    return chain_encoded(previous, number, encode_entry(entry))


def chain_encoded(previous: str, number: int, encoded: bytes) -> str:
    """Return the hash of an entry that `encode_entry` has already encoded.

    `previous` is the hash of the entry before this one, and `number` is the number of this entry.
    """
    return hashlib.sha256(b"%b%d%b" % (previous.encode(), number, encoded)).hexdigest()


# --- removing old records -----------------------------------------------------------------------------------------------

REMOVED = "entries removed"
_UP_TO, _HASH = "up_to", "hash"


class UnreadableRecord(ValueError):
    """The record with this number cannot be decoded, because somebody changed it or the disk is damaged.

    The records before and after it can still be read.
    """

    def __init__(self, number: int) -> None:
        super().__init__(f"the audit record {number} cannot be read")
        self.number = number


class Removal(msgspec.Struct, frozen=True):
    """A removal of old records: all records up to the number `up_to` were removed. `hash` is the hash of the last removed
    record.

    A removal is itself an entry of the chain. So if somebody removes more records from the beginning, the chain is broken. A
    check of the audit log shows this.
    """

    up_to: int
    hash: str

    def to_entry(self, at: float) -> AuditEntry:
        detail = {_UP_TO: str(self.up_to), _HASH: self.hash}
        return AuditEntry(at, REMOVED, "gateway", "records that were kept long enough", "ok", "", detail)


def find_removal(entry: AuditEntry) -> Removal | None:
    """Return the removal of old records that this entry describes, or None if the entry is about something else."""
    up_to = entry.detail.get(_UP_TO, "")
    if entry.action != REMOVED or not (up_to.isascii() and up_to.isdigit()):
        return None
    return Removal(int(up_to), entry.detail.get(_HASH, ""))
