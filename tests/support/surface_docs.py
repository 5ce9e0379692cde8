"""Compares an HTTP surface with its OpenAPI document and with its page in docs/."""

import re
from pathlib import Path
from typing import Any

from openapi_spec_validator import OpenAPIV31SpecValidator

from domogate.http_api.openapi import describe_surface, errors_of
from domogate.http_api.operations import Surface
from support.markdown import section, tables

_DOCS = Path(__file__).parents[2] / "docs"


def document_of(surface: Surface) -> dict[str, Any]:
    """The document as the gateways of these tests serve it."""
    return describe_surface(surface, base_url="https://gateway.example", version="1")


def check_document(document: dict[str, Any], surface: Surface) -> None:
    """The document is valid by an independent validator. It has every operation with its body and its statuses."""
    assert list(OpenAPIV31SpecValidator(document).iter_errors()) == []
    described = {one["operationId"]: one for path in document["paths"].values() for one in path.values()}
    assert described.keys() == {operation.id for operation in surface.operations}
    for operation in surface.operations:
        expected = {operation.status, *errors_of(operation, surface), *([304] if operation.has_etag else [])}
        assert set(described[operation.id]["responses"]) == {str(status) for status in expected}
        assert ("requestBody" in described[operation.id]) == (operation.body is not None)


def check_page(name: str, surface: Surface) -> None:
    """The tables of the page have every operation as it is declared."""
    rows = [row for table in tables(section((_DOCS / name).read_text(), "The operations")) for row in table]
    shown = {
        row["operation"].partition(":")[0]: (
            row["request"].strip("`"),
            int(row["answer"]),
            {int(status) for status in re.findall(r"\d{3}", row["refusals"])},
        )
        for row in rows
    }
    assert shown == {
        operation.id: (
            f"{operation.method} {surface.prefix}{operation.path}",
            operation.status,
            errors_of(operation, surface).keys() - ({500, 503} - operation.errors.keys()) - surface.credentials.errors.keys(),
        )
        for operation in surface.operations
    }
