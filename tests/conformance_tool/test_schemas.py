"""The schemas of the tool demand what the schemas of the contract tests demand. Both are written by hand from the contract."""

import subprocess
import sys
from collections.abc import Iterator

import pytest
from jsonschema import Draft202012Validator

from conformance_tool.schema_faults import BodyFault, as_path, faults_of
from domogate.conformance.operations import ERRORS, OPERATIONS
from domogate.conformance.session import validator
from domogate.conformance.values import DATE_TIME
from support.mock_bodies import right_body
from support.mock_families import refusal
from support.spec_schemas import BODIES
from support.spec_schemas import ERRORS as ERROR_SHAPES

_SENDERS = {
    (name, f"$.{field}[0].sender.{part}"): "Spec 2.10: allowed values of addressType and system are not shown"
    for name, field in (("E8", "lights"), ("E12", "chronothermostats"), ("E13", "chronothermostats"))
    for part in ("addressType", "system")
}
OPEN = {
    **_SENDERS,
    ("E4", "$.consumptions[0].timestamp"): "Spec 2.13: the format is not shown",
    ("E6", "$.plants[0].id"): "Spec 2.2: string",
    ("E6", "$.plants[0].allowedUsers[0].email"): "Spec 2.2: string",
    ("E6", "$.plants[0].invitedUsers[0].email"): "Spec 2.2: string",
    ("E10", "$[0].id"): "Spec 2.1: string",
    ("E10", "$[0].ownerEmail"): "Spec 2.1: string",
    ("E10", "$[0].allowedUsers[0].email"): "Spec 2.1: string",
    ("E10", "$[0].invitedUsers[0].email"): "Spec 2.1: string",
    ("E11", "$.locks[0].ticket"): "the signature of an unsecured JWT is empty",
    ("E12", "$.chronothermostats[0].thermometer.measures[0].value"): "Spec 2.8: string",
    ("E12", "$.chronothermostats[0].hygrometer.measures[0].value"): "Spec 2.8: string",
    ("E15", "$.audiovideounits[0].ticket"): "the signature of an unsecured JWT is empty",
    ("E16", "$.plugs[0].id"): "Spec 2.14: string",
    ("E18", "$[0].alertLevel"): "Spec 2.15: integer",
}
"""Places of which our own gateway promises more than the contract says, and what the contract says."""

_MODULE, _AMBIENT = ("id", "name", "hw_type", "device"), ("id", "name", "type", "modules")
REQUIRED = {
    ("E2", "$.remotes[0].battery"),
    ("E2", "$.remotes[0].sender.plant.module.id"),
    *(("E3", f"$.plant.{name}") for name in ("id", "ambients", "modules")),
    *(("E3", f"$.plant.ambients[0].{name}") for name in _AMBIENT),
    *(("E3", f"$.plant{part}.modules[0].{name}") for part in ("", ".ambients[0]") for name in _MODULE),
    ("E4", "$.consumptions"),
    ("E4", "$.consumptions[0].unit"),
    ("E4", "$.consumptions[0].value"),
    *((name, "$.plant") for name in ("E3", "E7", "E9")),
}
"""The fields that the contract calls required. A topology without a plant is no topology."""


def accepted() -> Iterator[tuple[str, BodyFault, bool]]:
    """Yield the operation, a fault of the independent schema, and whether the schema of the tool accepts it."""
    for operation in OPERATIONS:
        if operation.body is not None:
            body, rules = right_body(operation.name), validator(operation.body)
            for fault in faults_of(BODIES[operation.name], body):
                yield operation.name, fault, rules.is_valid(fault.apply(body))


def test_the_schemas_of_the_contract_tests_are_schemas() -> None:
    for schema in (*BODIES.values(), *ERROR_SHAPES.values()):
        Draft202012Validator.check_schema(schema)


def test_a_wrong_value_is_refused_unless_the_contract_leaves_it_open() -> None:
    found = {(name, as_path(fault.place)) for name, fault, is_valid in accepted() if is_valid and fault.about != "missing"}
    assert found == set(OPEN)


def test_exactly_the_fields_that_the_contract_calls_required_are_required() -> None:
    missing = {(name, as_path(one.place)) for name, one, is_valid in accepted() if not is_valid and one.about == "missing"}
    assert missing == REQUIRED


def test_error_bodies_are_the_same() -> None:
    for shape, operation in (("A", OPERATIONS[0]), ("B", OPERATIONS[4])):
        body, rules = refusal(operation, 404).body, validator(ERRORS[shape])
        wrong = [fault for fault in faults_of(ERROR_SHAPES[shape], body) if rules.is_valid(fault.apply(body))]
        assert {as_path(fault.place) for fault in wrong if fault.about != "missing"} == set()


@pytest.mark.parametrize(
    ("text", "is_right"),
    [
        ("2026-11-18T14:00:00Z", True),
        ("2026-11-18t14:00:00.123456789z", True),
        ("2026-11-18T14:00:00+23:59", True),
        ("2026-11-18T14:00:00", False),
        ("2026-02-30T14:00:00Z", False),
        ("2026-11-18T24:00:00Z", False),
        ("2026-11-18 14:00:00Z", False),
        ("2026-11-18T14:00:00Z\n", False),
    ],
)
def test_a_time_has_the_form_of_rfc_3339(text: str, is_right: bool) -> None:
    assert validator(DATE_TIME).is_valid(text) is is_right


def test_the_command_needs_no_package_that_only_the_tests_have() -> None:
    code = "import sys; sys.modules['rfc3339_validator'] = None; import domogate.cli.conformance"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=120)
    assert told.returncode == 0, told.stderr
