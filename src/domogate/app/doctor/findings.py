"""The results of `domogate doctor`."""

from typing import Literal

import msgspec

Outcome = Literal["ok", "note", "warning", "problem"]


class Finding(msgspec.Struct, frozen=True):
    """The result of one check.

    The outcome "problem" means that a gateway does not start, or does not do its work. "warning" means that a gateway can work,
    but the operator should do something. "note" means that a check was not possible, so nothing is known.
    """

    check: str
    outcome: Outcome
    says: str
    advice: str = ""
    """The advice for the operator. It is empty if the outcome is "ok" or "note"."""


def ok(check: str, says: str) -> Finding:
    return Finding(check, "ok", says)


def note(check: str, says: str) -> Finding:
    return Finding(check, "note", says)


def warning(check: str, says: str, advice: str) -> Finding:
    return Finding(check, "warning", says, advice)


def in_another_folder(check: str, says: str, gateway_at: str) -> Finding:
    """Return a problem: a gateway runs, but its data is not in the place that the settings name."""
    return problem(
        check,
        f"{says}, but a gateway answers on {gateway_at}.",
        "Run this command in the folder in which the gateway was started, or write an absolute path in the setting data.\n"
        "If that is another gateway, choose another port.",
    )


def problem(check: str, says: str, advice: str) -> Finding:
    return Finding(check, "problem", says, advice)
