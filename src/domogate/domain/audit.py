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
