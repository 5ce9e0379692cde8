"""JSON models of our own surfaces: camel case, times in ISO 8601.

The own surfaces are homes, developer, management, events, webhooks, tickets and test_api.

The names of models in answers end in `Out`; OpenAPI documents omit this ending. Models of request bodies have names such as
`NewUser`, `UserChange` or `ReplayRequest`. The families do not use these models: they follow the specification.
"""

from datetime import UTC, datetime
from typing import Annotated, Any, Self

import msgspec

__all__ = ["InputModel", "JsonObject", "Line", "Name", "OutputModel", "given_fields", "to_datetime"]


JsonObject = Annotated[dict[str, Any], msgspec.Meta(extra_json_schema={"additionalProperties": True})]
"""An object with any fields.

Without `additionalProperties`, generators of clients would treat it as an object without fields.
"""
_ONE_LINE = r"^[^\x00-\x1f\x7f]*$(?!\n)"
"""The pattern of a text on one line. Without its last group, Python would accept a line end after the text."""
Line = Annotated[str, msgspec.Meta(pattern=_ONE_LINE)]
"""A text on one line, in a request body."""
Name = Annotated[str, msgspec.Meta(min_length=1, pattern=_ONE_LINE)]


class InputModel(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """Base of request bodies. Unknown fields are refused, so that spelling mistakes are found."""


class OutputModel(msgspec.Struct, frozen=True, rename="camel"):
    """Base class of the models in answers."""

    @classmethod
    def of(cls, *sources: object, **given: Any) -> Self:
        """Return a model.

        Take each field from `given`. If `given` does not have the field, take it from the first source that has it. Times in
        seconds become datetimes. A field that is UNSET in `given` is left out.
        """

        def find(name: str) -> object:
            return getattr(next((source for source in sources if hasattr(source, name)), sources[0]), name)

        values = {
            in_json: given[name] if name in given else find(name)
            for name, in_json in zip(cls.__struct_fields__, cls.__struct_encode_fields__, strict=True)
            if given.get(name) is not msgspec.UNSET
        }
        return msgspec.convert(values, cls, from_attributes=True, strict=False)


def given_fields(body: InputModel) -> dict[str, Any]:
    """Return the fields that the request contains. The other fields of the body are UNSET and are left out."""
    return {name: value for name, value in msgspec.structs.asdict(body).items() if value is not msgspec.UNSET}


def to_datetime(at: float) -> datetime:
    return datetime.fromtimestamp(at, UTC)
