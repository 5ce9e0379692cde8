"""Checks a document against the JSON Schema of the format.

`QuickReader` checks a correct file of simple YAML or short JSON without the Python package jsonschema. So this package is
imported only for other files (Decision 0098).
"""

import json
import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import TYPE_CHECKING, Any

from domogate.domain.formats import is_redirect_uri
from domogate.estate.explain import Finding, explain
from domogate.estate.quick_read import QuickReader
from domogate.estate.resources import schema_text
from domogate.estate.times import parse_time
from domogate.estate.values import Schema, SchemaGuide, condition_holds

if TYPE_CHECKING:
    from jsonschema import ValidationError
    from jsonschema.protocols import Validator


def _is_moment(value: object) -> bool:
    return not isinstance(value, str) or parse_time(value) is not None


def _is_redirect_uri(value: object) -> bool:
    return not isinstance(value, str) or is_redirect_uri(value)


_FORMATS: dict[str, Callable[[object], bool]] = {"moment": _is_moment, "redirect-uri": _is_redirect_uri}


def _pattern(_: Any, pattern: str, instance: Any, __: Any) -> "Iterator[ValidationError]":
    # In Python '$' also matches before a final line break; in JSON Schema it does not. None of our patterns allows several
    # lines.
    if isinstance(instance, str) and ("\n" in instance or not re.search(pattern, instance)):
        from jsonschema import ValidationError

        yield ValidationError(f"{instance!r} does not match {pattern!r}")


# The next two functions replace jsonschema's own. They support only the forms that our schema uses, and are much faster.


def _reference(validator: Any, reference: str, instance: Any, _: Any) -> "Iterator[ValidationError]":
    yield from validator.descend(instance, guide().resolve(reference))


def _all_of(validator: Any, parts: list[Schema], instance: Any, _: Any) -> "Iterator[ValidationError]":
    for index, part in enumerate(parts):
        if condition_holds(part["if"], instance):
            yield from validator.descend(instance, part["then"], schema_path=index)


@cache
def guide() -> SchemaGuide:
    return SchemaGuide(json.loads(schema_text()))


@cache
def _validator() -> "Validator":
    from jsonschema import Draft202012Validator, FormatChecker, validators

    formats = FormatChecker(formats=())
    for name, check in _FORMATS.items():
        formats.checks(name)(check)
    extend: Callable[..., type[Validator]] = validators.extend
    strict = extend(Draft202012Validator, {"pattern": _pattern, "$ref": _reference, "allOf": _all_of})
    return strict(json.loads(schema_text()), format_checker=formats)


@cache
def quick_reader() -> QuickReader:
    return QuickReader(json.loads(schema_text()), _FORMATS)


def check_schema(document: Any) -> Iterator[Finding]:
    """Yield all violations of the schema in the document."""
    for error in _validator().iter_errors(document):
        yield from explain(error, document)
