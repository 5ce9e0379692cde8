"""What `domogate doctor` finds."""

from typing import Literal

import msgspec

Outcome = Literal["ok", "warning", "problem"]


class Finding(msgspec.Struct, frozen=True):
    """The result of one check. A problem means that a gateway does not start, or does not do its work."""

    check: str
    outcome: Outcome
    says: str
    advice: str = ""
    """What the operator can do. It is empty if the outcome is "ok"."""


def ok(check: str, says: str) -> Finding:
    return Finding(check, "ok", says)


def warning(check: str, says: str, advice: str) -> Finding:
    return Finding(check, "warning", says, advice)


def problem(check: str, says: str, advice: str) -> Finding:
    return Finding(check, "problem", says, advice)
