"""Examples in the OpenAPI documents: each operation has them, they fit their schemas, and the demo answers them."""

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from domogate.app.documents import DOCUMENTS, openapi_document
from domogate.settings import Settings
from support.sdk_calls import CALLS, NO_BODY
from support.sdk_recording import operations_of

BINARY = {"image/png", "application/pdf", "application/vnd.sqlite3", "application/yaml", "application/schema+json"}
TEXTS = {"application/xml", "application/jsonl", "text/event-stream"}


@pytest.fixture(scope="module", params=DOCUMENTS)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def document(name: str) -> dict[str, Any]:
    return openapi_document(name, Settings(public_url="https://gateway.example"))


def misfits(document: dict[str, Any], schema: dict[str, Any], example: Any) -> list[str]:
    validator = Draft202012Validator({**schema, "components": document["components"]})
    return [error.message for error in validator.iter_errors(example)]


class TestExamples:
    def test_every_operation_has_them_and_they_fit_its_schemas(self, document: dict[str, Any]) -> None:
        for _, _, described in operations_of(document):
            operation = described["operationId"]
            for parameter in described["parameters"]:
                if parameter["in"] == "path" or "example" in parameter:
                    assert misfits(document, parameter["schema"], parameter["example"]) == [], (operation, parameter["name"])
            if "requestBody" in described:
                body = described["requestBody"]["content"]["application/json"]
                assert misfits(document, body["schema"], body["example"]) == [], operation
            for media_type, content in next(iter(described["responses"].values())).get("content", {}).items():
                if media_type in BINARY:
                    break
                assert content["example"], operation
                if media_type not in TEXTS:
                    assert misfits(document, content["schema"], content["example"]) == [], operation

    def test_they_are_the_calls_of_the_table(self, name: str, document: dict[str, Any]) -> None:
        """The clients of this folder make those calls on the demo."""
        for _, _, described in operations_of(document):
            call = next(call for call in CALLS if call.name == f"{name}.{described['operationId']}")
            shown = {one["name"]: one["example"] for one in described["parameters"] if "example" in one}
            assert shown.keys() == call.path.keys() | call.query.keys()
            assert ("requestBody" in described) == (call.body is not NO_BODY)
        assert {call.operation for call in CALLS if call.document == name} == {
            described["operationId"] for _, _, described in operations_of(document)
        }


def pascal(*names: str) -> str:
    words = [word for name in names for word in re.split(r"[^A-Za-z0-9]+|(?<=[a-z0-9])(?=[A-Z])", name) if word]
    return "".join(word[0].upper() + word[1:].lower() for word in words)


def class_names(document: dict[str, Any]) -> Iterator[str]:
    """The names that generators give to classes: those of schemas, and those of what is written inside of them."""

    def inside(parent: str, schema: dict[str, Any]) -> Iterator[str]:
        if "enum" in schema or schema.get("properties"):
            yield pascal(parent)
        for part, inner in schema.get("properties", {}).items():
            yield from inside(f"{parent}_{part}", inner)
        if "items" in schema:
            yield from inside(f"{parent}_item", schema["items"])
        for number, choice in enumerate((*schema.get("anyOf", ()), *schema.get("oneOf", ()))):
            yield from inside(f"{parent}_type_{number}", choice)

    for name, schema in document["components"]["schemas"].items():
        yield pascal(name)
        yield from (found for found in inside(name, schema) if found != pascal(name))
    for _, _, described in operations_of(document):
        for parameter in described["parameters"]:
            yield from inside(f"{described['operationId']}_{parameter['name']}", parameter["schema"])


class TestNames:
    def test_no_two_classes_of_generated_code_have_the_same_name(self, document: dict[str, Any]) -> None:
        counted = Counter(class_names(document))
        assert {name for name, count in counted.items() if count > 1} == set()

    def test_operations_have_readable_names(self, document: dict[str, Any]) -> None:
        names = [described["operationId"] for _, _, described in operations_of(document)]
        assert len(set(names)) == len(names)
        assert all(re.fullmatch(r"[a-z]+([A-Z][a-z]+)*", name) for name in names)
