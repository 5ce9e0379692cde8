"""Finds operations and kinds of faults by their names. An unknown name is refused with the list of the allowed names."""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches

from domogate.http_api.problems import Problem, ProblemDetails
from domogate.test_api.fault_rules import FaultKind
from domogate.test_api.services import KnownOperation

_LONGEST = 100


class _UnknownName(Problem):
    """The request names something that does not exist. The detail has the list of the allowed names.

    Unlike the detail of other Problems, this detail is never shortened, so the list is complete.
    """

    def __init__(self, noun: str, given: str, similar: Iterable[str], allowed: Iterable[object]) -> None:
        hint = f" Did you mean {' or '.join(similar)}?" if similar else ""
        listed = ", ".join(map(str, allowed))
        super().__init__(422, f"There is no {noun} {given[:_LONGEST]!r}.{hint} The {noun}s are: {listed}.")

    def details(self) -> ProblemDetails:
        return ProblemDetails("Unprocessable Content", self.status, self.detail)


def find_operation(operations: Mapping[str, KnownOperation], given: str) -> KnownOperation:
    """Return the operation with this name or id. If there is none, raise a Problem with the list of all operations."""
    if given in operations:
        return operations[given]
    similar = get_close_matches(given[:_LONGEST], operations, n=3) or [name for name in operations if given in name.split(".")]
    raise _UnknownName("operation", given, similar, dict.fromkeys(operations.values()))


def find_fault(given: str) -> FaultKind:
    """Return the kind of fault. If there is no such kind, raise a Problem with the list of all kinds."""
    try:
        return FaultKind(given)
    except ValueError:
        raise _UnknownName("fault", given, get_close_matches(given[:_LONGEST], FaultKind, n=1), FaultKind) from None
