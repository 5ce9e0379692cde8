"""Finds the operation of a path. It uses the raw path, so that an encoded slash or dot cannot select another route."""

import re
from collections.abc import Callable
from functools import cache, cached_property
from typing import Any
from urllib.parse import unquote_to_bytes

import msgspec

from domogate.domain.faults import WrongMethod, WrongUrl
from domogate.domain.ids import Id
from domogate.families._family import PLACEHOLDER, Family, Operation, Parameter

_KEPT_BYTES = 4_000_000
"""For each family, at most this number of bytes of parsed paths is cached. Clients repeat the same few requests."""
_TARGET_BYTES = 500
"""The memory in bytes that a cached path needs in addition to its text."""


class Target(msgspec.Struct, frozen=True):
    """The operation of a request and its parsed path parameters. It is not known yet whether the ids exist."""

    operation: Operation
    plant_id: Id | None = None
    ambient_id: Id | None = None
    module_id: Id | None = None
    subscription_id: Id | None = None
    reference: str = ""
    malformed: str | None = None
    """What is wrong with an id, or None. The fault is raised later, because only callers with a valid token may see it."""


class _Route(msgspec.Struct, frozen=True):
    """One path of a family: its parameters, and its operations by method.

    The regular expression of `Routes` has a group for each parameter. `first_group` is the number of the group of this
    path's first parameter.
    """

    first_group: int
    parameters: tuple[Parameter, ...]
    operations: dict[str, Operation]
    allow: str


class Routes:
    """All paths of a family as one regular expression."""

    def __init__(self, family: Family) -> None:
        self._family = family
        by_path: dict[str, list[Operation]] = {}
        for operation in family.operations:
            by_path.setdefault(PLACEHOLDER.sub("{}", operation.path), []).append(operation)
        self._routes: dict[int, _Route] = {}
        alternatives, group = [], 1
        for operations in by_path.values():
            parameters = operations[0].parameters
            self._routes[group] = _Route(
                group + 1, parameters, {operation.method: operation for operation in operations}, _allow(operations)
            )
            group += 1 + len(parameters)
            literal = re.sub(r"\\\{\w+:\w+\\\}", "([^/]+)", re.escape(operations[0].path))
            # The contract does not allow a slash at the end. Existing applications send it to lists that are extensions.
            slash = "/?" if all(operation.is_extra_list for operation in operations) else ""
            alternatives.append(f"({literal}{slash})")
        self._expression = f"{re.escape(family.prefix)}/(?:{'|'.join(alternatives)})"
        self._kept: dict[tuple[str, bytes], Target] = {}
        self._kept_bytes = 0
        self.find_kept = self._kept.get

    @cached_property
    def _match(self) -> Callable[[str], re.Match[str] | None]:
        """The function that matches a path. The regular expression is compiled for the first request: compiling takes
        long, and would delay the start.
        """
        return re.compile(self._expression).fullmatch

    def keep(self, request: tuple[str, bytes], target: Target) -> None:
        """Cache a parsed path, and remove the oldest paths if the cache is too large.

        Call this only if the request passed all checks, so that refused requests do not fill the cache.
        """
        if request not in self._kept:
            self._kept[request] = target
            self._kept_bytes += _TARGET_BYTES + len(request[1])
            while self._kept_bytes > _KEPT_BYTES:
                oldest = next(iter(self._kept))
                del self._kept[oldest]
                self._kept_bytes -= _TARGET_BYTES + len(oldest[1])

    def parse(self, method: str, raw_path: bytes) -> Target:
        """Find the operation and parse the parameters.

        Raises WrongUrl if the family has no such path, and WrongMethod if the path has no operation with this method.
        """
        match = self._match(raw_path.decode("latin-1"))
        if match is None or match.lastindex is None:
            raise WrongUrl(f"no operation of {self._family.name} has this URL")
        # The group of a whole path is the last group that closes, so `lastindex` is its number.
        route = self._routes[match.lastindex]
        operation = route.operations.get(method)
        if operation is None:
            raise WrongMethod(f"{method} is not a method of this URL; use {route.allow}", route.allow)
        found: dict[str, Any] = {}
        for group, parameter in enumerate(route.parameters, start=route.first_group):
            value = _decode(match[group])
            if value is None:
                return Target(operation, malformed=f"{parameter.name} has percent-encoded bytes that are not UTF-8")
            if parameter.role == "reference":
                found["reference"] = value
                continue
            identity = self._family.ids.parse_id(value)
            if identity is None:
                return Target(operation, malformed=f"{parameter.name} must be {self._family.ids.name}")
            found[f"{parameter.role}_id"] = identity
        return Target(operation, **found)


@cache
def routes_of(family: Family) -> Routes:
    """Return the routes of the family. They are built once for each process, because they depend only on the code."""
    return Routes(family)


def _allow(operations: list[Operation]) -> str:
    methods = {operation.method for operation in operations}
    return ", ".join(sorted(methods | {"HEAD"} if "GET" in methods else methods))


def _decode(segment: str) -> str | None:
    if "%" not in segment:
        return segment
    try:
        return unquote_to_bytes(segment).decode("utf-8")
    except UnicodeDecodeError:
        return None
