"""The report as CSV: another library reads it, and no cell is a formula."""

import csv
import io
from datetime import UTC
from zoneinfo import ZoneInfo

import hypothesis.strategies as st
import pytest
from hypothesis import given

from domogate.domain.logbook import LogbookEntry, LogbookKind
from domogate.domain.safety import EmergencyTestKind, FailureType
from domogate.ports import StoredEntry
from domogate.reports import print_order_list, print_tables
from support.clocks import NOW
from support.safety_reports import report_of
from support.safety_site import DAY, NASTY, SITE, WELL, a_test, a_unit, after_tests, failing

UNITS = [
    (a_unit(1), after_tests()),
    (a_unit(2), failing(FailureType.BLOCK_FAULTY_BATTERY, FailureType.BLOCK_ALARM_STATE)),
    *((a_unit(3 + number, name), WELL) for number, name in enumerate(NASTY)),
]
TEST = a_test(EmergencyTestKind.DURATION, failure=FailureType.BLOCK_FAULTY_BATTERY)
ENTRIES = [
    LogbookEntry(plant_id=SITE.id, at=TEST.ended_at, kind=LogbookKind.TEST, module="Unit 1", test=TEST, failure=TEST.failure),
    LogbookEntry(plant_id=SITE.id, at=NOW - DAY, kind=LogbookKind.NOTE, words='+1, "quoted"\nsecond line', by="=Elena()"),
]


def read(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text, newline="")))


class TestTheTables:
    TABLES = print_tables(report_of(UNITS, ENTRIES))

    def test_there_is_one_for_each_part_of_the_report(self) -> None:
        assert list(self.TABLES) == ["summary", "units", "order-list", "logbook"]

    def test_lines_end_as_the_standard_wants(self) -> None:
        for text in self.TABLES.values():
            assert text.endswith("\r\n")
            assert text.count("\r\n") == len(list(csv.reader(io.StringIO(text, newline=""))))

    def test_the_summary_has_the_figures(self) -> None:
        figures = {row["figure"]: row["value"] for row in read(self.TABLES["summary"])}
        assert (figures["site"], figures["units"], figures["units_in_failure"]) == ("Clinic", "12", "1")
        assert (figures["function_tests_passed"], figures["function_tests_never"]) == ("1", "11")

    def test_every_unit_is_there_with_what_it_is_called(self) -> None:
        rows = read(self.TABLES["units"])
        assert [row["kind"] for row in rows] == ["controller", *["unit"] * 12]
        named = {row["name"].removeprefix("'") for row in rows}
        assert set(NASTY) <= named
        second = rows[2]
        assert second["failures"] == "BLOCK.FAULTY_BATTERY; BLOCK.ALARM_STATE"
        assert second["failure_words"] == "battery faulty; alarm state"
        assert (rows[1]["function_test_passed"], rows[1]["duration_test_lit_seconds"]) == ("yes", "3600.0")

    def test_the_order_list_names_who_wants_the_part(self) -> None:
        assert [(row["part"], row["total_quantity"], row["for"]) for row in read(self.TABLES["order-list"])] == [
            ("061089", "1", "Unit 2")
        ]

    def test_the_logbook_reads_back(self) -> None:
        test, written = read(self.TABLES["logbook"])
        assert (test["test"], test["test_passed"], test["failure"], test["by"]) == (
            "duration",
            "no",
            "BLOCK.FAULTY_BATTERY",
            "gateway",
        )
        assert written["what"] == '\'+1, "quoted"\nsecond line'
        assert written["by"] == "'=Elena()"

    def test_times_are_those_of_the_zone(self) -> None:
        rome = print_tables(report_of(UNITS, ENTRIES), ZoneInfo("Europe/Rome"))
        assert read(rome["summary"])[4] == {"figure": "made_at", "value": "2027-01-15T09:00:00+01:00"}
        assert read(self.TABLES["summary"])[4]["value"] == "2027-01-15T08:00:00+00:00"


class TestFormulas:
    @pytest.mark.parametrize("begin", list("=+-@\t\r"))
    def test_no_cell_begins_one(self, begin: str) -> None:
        tables = print_tables(report_of([(a_unit(1, f"{begin}cmd|' /C calc'!A0"), WELL)], []), UTC)
        names = [row["name"] for row in read(tables["units"])]
        assert names == ["Controller", f"'{begin}cmd|' /C calc'!A0"]

    @given(st.text(st.characters(exclude_categories=["Cs"]), max_size=30), st.text(max_size=30))
    def test_whatever_people_write_reads_back(self, words: str, by: str) -> None:
        entry = LogbookEntry(plant_id=SITE.id, at=NOW, kind=LogbookKind.NOTE, words=words, by=by)
        (row,) = read(print_tables(report_of([], [entry]))["logbook"])
        for printed_text, written in ((row["what"], words), (row["by"], by or "gateway")):
            assert printed_text in (written, f"'{written}")
            assert not printed_text.startswith(("=", "+", "-", "@", "\t", "\r"))


class TestAnEmptySite:
    def test_has_tables_with_headers_alone(self) -> None:
        report = report_of([], [])
        assert read(print_tables(report)["logbook"]) == []
        assert print_order_list(report.orders).count("\r\n") == 1
        assert StoredEntry not in map(type, report.entries)
