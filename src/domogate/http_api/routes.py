"""Finds the operation of a path of a surface."""

from collections.abc import Sequence
from functools import cache
from urllib.parse import unquote_to_bytes

from domogate.http_api.operations import Operation, Surface


class SurfaceRoutes:
    """The paths of a surface, each with its operations by method."""

    def __init__(self, surface: Surface) -> None:
        self._prefix = surface.prefix.encode()
        self._serves_head = surface.serves_head
        self._routes: dict[tuple[str, ...], dict[str, Operation]] = {}
        for operation in surface.operations:
            self._add(operation.path, operation)
            if operation.is_list:
                self._add(f"{operation.path}/", operation)

    def _add(self, path: str, operation: Operation) -> None:
        methods = self._routes.setdefault(tuple(path.split("/")[1:]), {})
        if operation.method in methods:
            raise ValueError(f"{operation.id}: {operation.method} {operation.path} is declared twice")
        methods[operation.method] = operation
        if operation.method == "GET" and self._serves_head:
            methods["HEAD"] = operation

    def find(self, path: bytes) -> tuple[dict[str, Operation], dict[str, str]] | None:
        """Return the operations of the path by method, and the path parameters. Return None for an unknown path.

        Segments are compared in encoded form, because a client id may contain a slash (%2F).
        """
        rest = path.removeprefix(self._prefix)
        if path.startswith(self._prefix) and rest[:1] in (b"", b"/"):
            given = rest.split(b"/")[1:]
            for segments, methods in self._routes.items():
                parameters = _match(segments, given)
                if parameters is not None:
                    return methods, parameters
        return None


routes_of = cache(SurfaceRoutes)
"""Returns the routes of a surface. They do not change, so a second gateway in the same process does not build them again."""


def _match(segments: Sequence[str], given: Sequence[bytes]) -> dict[str, str] | None:
    if len(segments) != len(given):
        return None
    parameters: dict[str, str] = {}
    for segment, sent in zip(segments, given, strict=True):
        if segment.startswith("{"):
            try:
                text = unquote_to_bytes(sent).decode()
            except UnicodeDecodeError:
                return None
            if "\0" in text:  # Nothing has such a name, and PostgreSQL refuses to search for it.
                return None
            parameters[segment[1:-1]] = text
        elif segment.encode() != sent:
            return None
    return parameters if all(parameters.values()) else None
