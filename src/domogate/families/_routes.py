"""From a raw path to an operation. Routing is on the path as it was sent: an encoded slash or dot never makes another route."""

import re
from collections.abc import Callable
from urllib.parse import unquote_to_bytes

from domogate.domain.faults import MalformedRequest, WrongMethod, WrongUrl
from domogate.families._family import _PLACEHOLDER, Family, Operation


class Route:
    """One path of a family, and the operations on it by method."""

    __slots__ = ("allow", "groups", "operations", "roles")

    def __init__(self, groups: slice, roles: tuple[str, ...]) -> None:
        self.groups = groups
        self.roles = roles
        self.operations: dict[str, Operation] = {}
        self.allow = ""


class Routes:
    """All paths of a family as one regular expression."""

    def __init__(self, family: Family) -> None:
        self._name = family.name
        by_path: dict[str, list[Operation]] = {}
        for operation in family.operations:
            by_path.setdefault(_PLACEHOLDER.sub("{}", operation.path), []).append(operation)
        self._routes: list[Route | None] = [None]
        alternatives = []
        for operations in by_path.values():
            roles = tuple(parameter.role for parameter in operations[0].parameters)
            first = len(self._routes)
            route = Route(slice(first, first + len(roles)), roles)
            route.operations = {operation.method: operation for operation in operations}
            methods = {*route.operations, "HEAD"} if "GET" in route.operations else set(route.operations)
            route.allow = ", ".join(sorted(methods))
            self._routes += [route, *[None] * len(roles)]
            literal = re.sub(r"\\\{\w+:\w+\\\}", "([^/]+)", re.escape(operations[0].path))
            alternatives.append(f"({literal})")
        self._match: Callable[[bytes], re.Match[bytes] | None] = re.compile(
            f"{re.escape(family.prefix)}/(?:{'|'.join(alternatives)})".encode()
        ).fullmatch

    def find(self, method: str, raw_path: bytes) -> tuple[Operation, tuple[str, ...], tuple[str, ...]]:
        """The operation, the roles of its parameters and their values, percent-decoded."""
        match = self._match(raw_path)
        if match is None or match.lastindex is None:
            raise WrongUrl(f"no operation of {self._name} has this URL")
        route = self._routes[match.lastindex]
        assert route is not None
        operation = route.operations.get(method)
        if operation is None:
            raise WrongMethod(f"{method} is not a method of this URL; use {route.allow}", route.allow)
        return operation, route.roles, tuple(map(_decode, match.groups()[route.groups]))


def _decode(segment: bytes) -> str:
    try:
        if b"%" in segment:
            return unquote_to_bytes(segment).decode("utf-8")
        return segment.decode("ascii")
    except UnicodeDecodeError:
        raise MalformedRequest("the URL is not UTF-8 where it is percent-encoded") from None
