"""Identifiers, and their two spellings on the wire.

Inside the gateway every plant, floor, ambient and module has one `Id`: a lower-case dashed UUID. Home control writes an id as
32 hexadecimal characters, every other family as a dashed UUID (Spec 2, Spec 8). In requests, both spellings may be in upper
case. Answers are in lower case.
"""

import re
import uuid
from collections.abc import Callable
from typing import NewType

import msgspec

Id = NewType("Id", str)

_NAMESPACE = uuid.UUID("0d0b9b8e-5d0c-4c56-9d5c-6f2f0f7d6a11")
_DASHED = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.IGNORECASE | re.ASCII).fullmatch
_HEX32 = re.compile(r"[0-9a-f]{32}", re.IGNORECASE | re.ASCII).fullmatch


def new_id() -> Id:
    return Id(str(uuid.uuid4()))


def derived_id(of: str, text: str) -> Id:
    """Return an id for a record that was given without an id, for example in the estate file.

    `of` is the kind of the record, and `text` identifies the record among the records of this kind. The id is computed from
    `of` and `text`, so it is the same at every import.
    """
    return Id(str(uuid.uuid5(_NAMESPACE, f"{of}:{text}")))


def _parse_dashed(text: str) -> Id | None:
    return Id(text.lower()) if _DASHED(text) else None


def _print_dashed(identity: Id) -> str:
    return identity


def _parse_hex32(text: str) -> Id | None:
    if not _HEX32(text):
        return None
    low = text.lower()
    return Id(f"{low[:8]}-{low[8:12]}-{low[12:16]}-{low[16:20]}-{low[20:]}")


def _print_hex32(identity: Id) -> str:
    return identity.replace("-", "")


class IdSpelling(msgspec.Struct, frozen=True):
    """The spelling of ids in a family. `parse_id` returns None for a text that is not an id in this spelling."""

    name: str
    pattern: str
    parse_id: Callable[[str], Id | None]
    print_id: Callable[[Id], str]


DASHED_UUID = IdSpelling(
    name="a UUID such as 123e4567-e89b-12d3-a456-426614174000",
    pattern="^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$",
    parse_id=_parse_dashed,
    print_id=_print_dashed,
)
HEX32 = IdSpelling(
    name="exactly 32 hexadecimal characters", pattern="^[0-9a-fA-F]{32}$", parse_id=_parse_hex32, print_id=_print_hex32
)
