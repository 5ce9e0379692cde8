import re

import msgspec
import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator

from domogate.families import FAMILIES
from domogate.families._family import Family
from domogate.families._openapi import openapi_document


@pytest.fixture(params=FAMILIES, ids=[family.slug for family in FAMILIES])
def family(request: pytest.FixtureRequest) -> Family:
    chosen: Family = request.param
    return chosen


class TestTheOpenApiDocument:
    def test_is_valid_by_an_independent_validator(self, family: Family) -> None:
        document = openapi_document(family, base_url="http://127.0.0.1:8080", version="1")
        assert list(OpenAPIV31SpecValidator(document).iter_errors()) == []

    def test_has_every_operation_at_its_place_in_the_contract(self, family: Family) -> None:
        paths = openapi_document(family, base_url="http://127.0.0.1:8080", version="1")["paths"]
        for operation in family.operations:
            described = paths[f"{family.prefix}/{operation.contract_path}"][operation.method.lower()]
            assert described["x-operation"] == operation.id
            assert re.fullmatch(r"[a-z]+([A-Z][a-z]+)*", described["operationId"])
            assert {str(status) for status in operation.errors} <= set(described["responses"])
            assert ("requestBody" in described) == (operation.body is not None)

    def test_says_what_is_deprecated(self, family: Family) -> None:
        for path in openapi_document(family, base_url="http://x", version="1")["paths"].values():
            for described in path.values():
                expected = described["x-operation"] in {"E1", "E2", "E3", "E4", "E11", "E14", "E15", "X5"}
                assert described.get("deprecated", False) is expected

    def test_marks_extensions_and_says_why_they_are_there(self, family: Family) -> None:
        paths = openapi_document(family, base_url="http://x", version="1")["paths"]
        for operation in family.operations:
            described = paths[f"{family.prefix}/{operation.contract_path}"][operation.method.lower()]
            assert described.get("x-extension", False) is operation.id.startswith("X")
            assert ("Extension" in described.get("description", "")) is operation.id.startswith("X")
            assert operation.extension in described.get("description", "")

    def test_an_operation_beside_it_stays_as_it_is(self, family: Family) -> None:
        """An extension (such as a POST) on a path of the specification does not change how the document describes the GET."""
        document = openapi_document(family, base_url="http://x", version="1")
        own = [operation for operation in family.operations if not operation.extension]
        alone = openapi_document(msgspec.structs.replace(family, operations=tuple(own)), base_url="http://x", version="1")
        for path, methods in alone["paths"].items():
            for method, described in methods.items():
                assert document["paths"][path][method] == described
