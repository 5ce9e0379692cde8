"""The core's values as JSON on the surfaces of our own (management API, events): camel case, times that a person can read.

The families spell everything as the contract does and use none of this.
"""

from datetime import UTC, datetime

import msgspec

__all__ = ["Shown", "moment", "moment_or_none"]


class Shown(msgspec.Struct, frozen=True, rename="camel"):
    """Base of what is sent."""


def moment(at: float) -> datetime:
    return datetime.fromtimestamp(at, UTC)


def moment_or_none(at: float | None) -> datetime | None:
    return None if at is None else moment(at)
