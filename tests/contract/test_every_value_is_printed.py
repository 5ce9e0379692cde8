"""Over the demo estate, every enumeration value and every optional property of Spec 2 is printed at least once."""

from collections.abc import Iterator
from typing import Any

import pytest

from support.gateway import Gateway
from support.http import expect_ok
from support.schema_types import Schema
from support.spec_operations import BY_NAME
from support.spec_schemas import BODIES

EXCUSED: dict[str, str] = {}
"""Values that no estate can print, with the reason."""


Places = dict[int, str]
"""The path at which each kind of record was found first. A module with the device `Scene` may be at any path of modules."""


def expected(schema: Schema, path: str, places: Places) -> Iterator[str]:
    """All properties and values of a schema, as `path` and `path=value`."""
    if "properties" in schema and places.setdefault(id(schema), path) != path:
        return
    for name, inner in schema.get("properties", {}).items():
        yield f"{path}.{name}"
        yield from expected(inner, f"{path}.{name}", places)
    if "items" in schema:
        yield from expected(schema["items"], f"{path}[]", places)
    yield from (f"{path}={value}" for value in schema.get("enum", ()))
    if schema.get("type") == "boolean":
        yield from (f"{path}=True", f"{path}=False")


def printed(schema: Schema, path: str, body: Any, places: Places) -> Iterator[str]:
    """All properties and values of this body."""
    path = places.get(id(schema), path)
    for name, inner in schema.get("properties", {}).items():
        if name in body:
            yield f"{path}.{name}"
            yield from printed(inner, f"{path}.{name}", body[name], places)
    if "items" in schema:
        for item in body:
            yield from printed(schema["items"], f"{path}[]", item, places)
    if "enum" in schema or schema.get("type") == "boolean":
        yield f"{path}={body}"


@pytest.mark.parametrize("name", BODIES)
def test_every_value_and_property_is_printed_at_least_once(demo: Gateway, name: str) -> None:
    operation, seen, places = BY_NAME[name], set(), Places()
    wanted = set(expected(BODIES[name], name, places))
    for who, target in demo.cases(operation):
        answer = demo.send(operation, target, who=who)
        if answer.status_code != 204:
            seen |= set(printed(BODIES[name], name, expect_ok(operation, answer), places))
    missing = sorted(wanted - seen - EXCUSED.keys())
    assert not missing, "never printed:\n" + "\n".join(missing)


def test_no_excuse_is_idle() -> None:
    sayable = {what for name, schema in BODIES.items() for what in expected(schema, name, {})}
    assert EXCUSED.keys() <= sayable
