"""Models of our own surfaces: copied by field name, and named in documents without their ending."""

from datetime import UTC, datetime

import msgspec
import pytest
from msgspec import UNSET, UnsetType

from domogate.http_api.paging import Listing
from domogate.wire import OutputModel
from domogate.wire.openapi import Schemas


class PartOut(OutputModel, frozen=True):
    made_at: datetime | None


class ThingOut(OutputModel, frozen=True):
    name: str | None
    main_part: PartOut
    parts: tuple[PartOut, ...]
    size: int | UnsetType = UNSET


class Part(msgspec.Struct):
    made_at: float | None


class Thing(msgspec.Struct):
    name: str
    main_part: Part
    parts: tuple[Part, ...]


class TestOf:
    def test_copies_fields_by_name_and_turns_seconds_into_datetimes(self) -> None:
        made = ThingOut.of(Thing("null", Part(0.5), (Part(None),)), size=UNSET)
        assert made == ThingOut("null", PartOut(datetime(1970, 1, 1, 0, 0, 0, 500_000, UTC)), (PartOut(None),))
        assert msgspec.json.encode(made) == (
            b'{"name":"null","mainPart":{"madeAt":"1970-01-01T00:00:00.500000Z"},"parts":[{"madeAt":null}]}'
        )

    def test_takes_given_fields_instead(self) -> None:
        part = PartOut(None)
        assert ThingOut.of(object(), name="x", main_part=part, parts=[part], size=3) == ThingOut("x", part, (part,), 3)

    def test_takes_a_field_from_the_first_source_that_has_it(self) -> None:
        first, second = Part(0.0), Thing("second", Part(1.0), ())
        assert ThingOut.of(first, second, Thing("third", first, (first,)), size=UNSET).name == "second"

    def test_fails_for_a_field_that_nobody_gives(self) -> None:
        with pytest.raises(AttributeError, match="made_at"):
            PartOut.of(object())


class TestSchemas:
    def test_name_models_without_their_ending_and_lists_by_their_items(self) -> None:
        schemas = Schemas([ThingOut, Listing[PartOut]])
        assert schemas.components.keys() == {"Thing", "Part", "PartList"}
        assert schemas.of(ThingOut) == {"$ref": "#/components/schemas/Thing"}
        assert schemas.components["Thing"]["title"] == "Thing"
        assert schemas.components["PartList"]["properties"]["items"]["items"] == {"$ref": "#/components/schemas/Part"}

    def test_refuse_two_models_of_one_name(self) -> None:
        with pytest.raises(ValueError, match="Part"):
            Schemas([Part, PartOut])
