"""The published schema is valid, and agrees with the domain and with the reader."""

import json
import re
from enum import StrEnum
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from domogate.domain.commands import Command
from domogate.domain.devices import DeviceKind, MetricType
from domogate.domain.people import KNOWN_SCOPES, GrantType, Scope, Standing
from domogate.domain.plants import PlantStatus, PlantType
from domogate.domain.safety import FailureType, SparePartType
from domogate.domain.states import Battery, ThermostatFunction, ThermostatMode
from domogate.estate import EstateMistakes, demo_text, read_estate, schema_text
from domogate.estate.format import STATES, STEP_KINDS
from domogate.estate.mistakes import print_path

pytestmark = pytest.mark.slow

SCHEMA = json.loads(schema_text())
DEFS = SCHEMA["$defs"]


BROKEN = [
    ("kind: plug", "kind: lamp"),
    ("level: 80", "level: 101"),
    ("setPoint: 20.5", "setPoint: 41"),
    ("type: house", "type: castle"),
    ("do: activate}", "do: activate, on: true}"),
    ("{position: 100}", "{on: true}"),
    ("kind: scene}", "kind: scene, state: {on: true}}"),
    ("alertLevel: 2", "alertLevel: 0"),
]
"""Texts in the demo estate, and a wrong replacement for the first occurrence of each."""


class PlainLoader(yaml.CSafeLoader):
    """As editors read YAML (version 1.2): only true and false are booleans, and dates are text."""


PlainLoader.yaml_implicit_resolvers = {
    first: [
        (tag, pattern) for tag, pattern in resolvers if tag not in ("tag:yaml.org,2002:bool", "tag:yaml.org,2002:timestamp")
    ]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
PlainLoader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile("^(true|false)$"), list("tf"))


def load(text: str) -> object:
    return yaml.load(text, Loader=PlainLoader)


class TestSchema:
    def test_it_is_a_valid_schema(self) -> None:
        Draft202012Validator.check_schema(SCHEMA)

    def test_it_accepts_the_demo_estate_as_an_editor_reads_it(self) -> None:
        assert not list(Draft202012Validator(SCHEMA).iter_errors(load(demo_text())))

    def test_it_accepts_what_is_printed(self, printed: str) -> None:
        assert not list(Draft202012Validator(SCHEMA).iter_errors(load(printed)))

    def test_it_and_the_reader_refuse_the_same(self) -> None:
        broken = demo_text()
        for good, bad in BROKEN:
            assert good in broken
            broken = broken.replace(good, bad, 1)
        with pytest.raises(EstateMistakes) as refused:
            read_estate(broken, "broken")
        errors = Draft202012Validator(SCHEMA).iter_errors(load(broken))
        # For an unknown key the reader reports the key, the schema its parent.
        by_schema = {print_path(tuple(error.absolute_path)) for error in errors}
        by_reader = {mistake.path.removesuffix(".on") for mistake in refused.value.mistakes}
        assert by_schema == by_reader
        assert len(by_schema) == len(BROKEN)

    @pytest.mark.parametrize(
        ("told", "enumeration"),
        [
            (DEFS["module"]["properties"]["kind"], DeviceKind),
            (DEFS["plant"]["properties"]["type"], PlantType),
            (DEFS["plant"]["properties"]["status"], PlantStatus),
            (DEFS["user"]["properties"]["standing"], Standing),
            (DEFS["client"]["properties"]["grants"]["items"], GrantType),
            (DEFS["metrics"]["items"]["properties"]["type"], MetricType),
            (DEFS["failureType"], FailureType),
            (DEFS["mode"], ThermostatMode),
            (DEFS["function"], ThermostatFunction),
            (DEFS["remoteState"]["properties"]["battery"], Battery),
            (DEFS["spareParts"]["properties"]["parts"]["items"]["properties"]["type"], SparePartType),
        ],
    )
    def test_its_enumerations_are_the_domain_s(self, told: dict[str, Any], enumeration: type[StrEnum]) -> None:
        assert told["enum"] == [str(member) for member in enumeration]

    def test_its_scopes_are_the_known_ones(self) -> None:
        assert tuple(DEFS["client"]["properties"]["scopes"]["items"]["enum"]) == KNOWN_SCOPES
        assert set(KNOWN_SCOPES) >= set(Scope)

    def test_its_states_have_the_keys_of_the_format(self) -> None:
        named = {
            part["if"]["properties"]["kind"]["const"]: part["then"]["properties"]["state"]["$ref"].removeprefix("#/$defs/")
            for part in DEFS["module"]["allOf"]
            if "const" in part["if"]["properties"].get("kind", {})
        }
        for kind, shape in STATES.items():
            assert set(DEFS[named[kind]]["properties"]) == set(shape.keys)

    def test_its_steps_have_the_keys_of_the_format(self) -> None:
        assert set(DEFS["step"]["properties"]["do"]["enum"]) == {doing.word for doing in STEP_KINDS}
        assert {doing.command for doing in STEP_KINDS} == set(Command.__args__)
        for part in DEFS["step"]["allOf"]:
            told = part["if"]["properties"]["do"]
            for word in told.get("enum", [told.get("const")]):
                doing = next(doing for doing in STEP_KINDS if doing.word == word)
                assert set(part["then"]["propertyNames"]["enum"]) == {"module", "do", *doing.shape.keys}

    def test_every_condition_is_of_a_form_that_the_reader_understands(self) -> None:
        """The reader evaluates conditions itself: it would ignore an `else`, an `anyOf` or another form of `if`."""

        def visit(schema: object, inside: str = "") -> None:
            if isinstance(schema, list):
                for part in schema:
                    visit(part, inside)
            elif isinstance(schema, dict):
                if inside != "properties":
                    assert not {"else", "anyOf", "oneOf", "dependentSchemas", "prefixItems"} & set(schema)
                    if "if" in schema:
                        assert set(schema["if"]) <= {"required", "properties"} or schema["if"] == {"type": "string"}
                    assert all(set(part) == {"if", "then"} for part in schema.get("allOf", ()))
                for key, part in schema.items():
                    visit(part, key)

        visit(SCHEMA)

    def test_every_enumeration_and_pattern_has_a_title_to_speak_of_it(self) -> None:
        def visit(schema: object) -> None:
            if isinstance(schema, list):
                for part in schema:
                    visit(part)
            elif isinstance(schema, dict):
                if isinstance(schema.get("type"), str) and ("enum" in schema or "pattern" in schema):
                    assert "title" in schema
                if "pattern" in schema and isinstance(schema["pattern"], str):
                    assert "description" in schema
                for part in schema.values():
                    visit(part)

        visit(SCHEMA)
