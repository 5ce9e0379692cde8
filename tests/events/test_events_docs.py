"""docs/events.md describes the events, their fields and the codes that the code declares."""

import re
from pathlib import Path

from domogate.domain.notices import NoticeKind
from domogate.events.surface import EventQuery
from domogate.services.events.cloud_events import CloudEvent, ModuleData, PlantData
from domogate.services.events.endings import End, EndCode
from domogate.services.events.frames import TOO_OLD, UNKNOWN_CURSOR, Ready, Reset
from support.markdown import section, tables

PAGE = (Path(__file__).parents[2] / "docs" / "events.md").read_text(encoding="utf-8")
ABOUT_THE_STREAM = {"ready": Ready, "reset": Reset, "end": End}


def words(text: str) -> list[str]:
    """The parts of a text in backquotes."""
    return re.findall(r"`([^`]+)`", text)


def test_every_kind_of_event_is_told() -> None:
    (_, table) = tables(section(PAGE, "Opening a stream"))
    shown = [word for row in table for word in words(row["event"])]
    assert shown == [*NoticeKind, "present", *ABOUT_THE_STREAM]


def test_every_parameter_is_told() -> None:
    (table, _) = tables(section(PAGE, "Opening a stream"))
    rows = {row["parameter"].strip("`"): row["meaning"] for row in table}
    assert list(rows) == list(EventQuery.__struct_encode_fields__)
    assert words(rows["kind"]) == list(NoticeKind)


def test_every_field_is_told() -> None:
    (cloud_event, module, stream) = tables(section(PAGE, "The content of an event"))
    assert [row["field"].strip("`") for row in cloud_event] == list(CloudEvent.__struct_encode_fields__)
    assert [row["field of `data`"].strip("`") for row in module] == list(ModuleData.__struct_encode_fields__)
    shown = {row["event"].strip("`"): words(row["fields of `data`"]) for row in stream}
    assert shown == {event: list(model.__struct_encode_fields__) for event, model in ABOUT_THE_STREAM.items()}


def test_the_only_field_about_a_plant_is_told() -> None:
    (field,) = PlantData.__struct_encode_fields__
    assert f"it has only the field `{field}`" in PAGE


def test_every_code_is_told() -> None:
    (table,) = tables(section(PAGE, "When a stream ends"))
    assert [word for row in table for word in words(row["`code`"])] == list(EndCode)
    resuming = section(PAGE, "Resuming")
    assert {reset.code for reset in (UNKNOWN_CURSOR, TOO_OLD) if f"`code` is `{reset.code}`" not in resuming} == set()
