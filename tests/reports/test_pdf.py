"""The report as PDF, read by another library: numbers, pages, text in any script."""

import re
import unicodedata
from datetime import UTC
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, given, settings
from msgspec.structs import replace

from domogate.domain.estate import FirstState
from domogate.domain.logbook import LogbookEntry, LogbookKind
from domogate.domain.safety import EmergencyTestKind, FailureType
from domogate.reports import fonts, print_pdf
from domogate.reports.fonts import Typeface, choose_typeface
from domogate.reports.right_to_left import to_visual
from domogate.services.safety import SafetyReport
from support.clocks import NOW
from support.safety_reports import read_pages, report_of
from support.safety_site import DAY, NASTY, SITE, WELL, a_test, a_unit, after_tests, failing, unit_id

pytestmark = pytest.mark.slow

UNITS = [
    (a_unit(1), after_tests()),
    (a_unit(2), failing(FailureType.BLOCK_FAULTY_BATTERY)),
    (a_unit(3, reference="062525"), failing(FailureType.BLOCK_FAULTY_EMERGENCY_LIGHT)),
    (a_unit(4), FirstState(unit_id(4), WELL, reachable=False)),
    (a_unit(5), after_tests(at=NOW - 60 * DAY)),
    (a_unit(6), replace(WELL, charge=40, testing=EmergencyTestKind.FUNCTION)),
]


def entry(kind: LogbookKind = LogbookKind.NOTE, **more: Any) -> LogbookEntry:
    fields: dict[str, Any] = {"at": NOW - DAY, "kind": kind, **more}
    return LogbookEntry(plant_id=SITE.id, **fields)


def printed(report: SafetyReport, **how: Any) -> bytes:
    return print_pdf(report, **{"made_by": "Domogate 1.2.3", **how})


def words(report: SafetyReport, **how: Any) -> str:
    return " ".join(read_pages(printed(report, **how)))


TEST = a_test(EmergencyTestKind.DURATION, failure=FailureType.BLOCK_FAULTY_BATTERY)
REPORT = report_of(
    UNITS,
    [
        entry(LogbookKind.TEST, module="Unit 2", test=TEST, failure=TEST.failure),
        entry(LogbookKind.SILENCE, module="Unit 4", words="connection lost"),
        entry(LogbookKind.INSPECTION, words="Looked at every sign", by="Elena Rossi"),
    ],
)


@pytest.fixture(scope="module")
def printed_text() -> str:
    return words(REPORT)


class TestASiteWithSimulatedDevices:
    def test_says_so_on_every_page(self) -> None:
        units = [(a_unit(number, driver="simulator"), after_tests()) for number in range(1, 120)]
        pages = read_pages(printed(report_of(units)))
        assert len(pages) > 3
        assert all("SIMULATED: devices of this site do not exist" in page for page in pages)
        assert "119 of 120 devices are simulated: they do not exist." in pages[0]
        assert "All devices work" not in pages[0]

    def test_one_simulated_unit_is_enough(self) -> None:
        pages = read_pages(printed(report_of([(a_unit(1), after_tests()), (a_unit(2, driver="simulator"), after_tests())])))
        assert all("SIMULATED" in page for page in pages)

    def test_entries_of_a_former_simulation_are_marked(self) -> None:
        report = report_of([(a_unit(1), after_tests())], [entry(LogbookKind.TEST, module="Unit 1", test=TEST, simulated=True)])
        pages = read_pages(printed(report))
        assert all("SIMULATED" in page for page in pages)
        assert "gateway, SIMULATED" in " ".join(pages)

    def test_a_site_without_them_does_not_mention_them(self, printed_text: str) -> None:
        assert "SIMULATED" not in printed_text


class TestWhatItSays:
    def test_the_title_page_says_whose_when_and_by_what(self) -> None:
        first = read_pages(printed(REPORT, responsible="Elena Rossi"))[0]
        for said in ("Clinic", "Via Nizza 88, Torino, 10126, Italy", "2026-12-16 08:00 to 2027-01-15 08:00", "Domogate 1.2.3"):
            assert said in first
        assert "Name Elena Rossi" in first
        assert "Signature" in first

    @pytest.mark.story
    def test_the_figures(self, printed_text: str) -> None:
        assert "Controllers 1 1 0 0 1 Units 6 3 2 1 -" in printed_text
        assert "Function (monthly) 2 0 4 0 1 1" in printed_text
        assert "Duration (yearly) 2 0 4 0 0 0" in printed_text

    def test_what_is_wrong_is_said_first(self, printed_text: str) -> None:
        assert "3 of 6 units do not work correctly." in printed_text
        assert "The function test of 1 units is overdue." in printed_text
        assert "No duration test is recorded yet for 4 units." in printed_text

    def test_each_unit_with_its_failures_in_words_and_codes(self, printed_text: str) -> None:
        assert "Unit 2 reference 062520 in failure battery faulty BLOCK.FAULTY_BATTERY no test recorded yet" in printed_text
        assert (
            "Unit 1 reference 062520, Ward A, Stairwell working - 2027-01-14 08:00 passed, lit 30 s next 2027-02-14"
            in printed_text
        )
        assert "communication faulty BLOCK.FAULTY_COMMUNICATION" in printed_text
        assert "overdue: 2026-12-16" in printed_text
        assert "charging, 40 %" in printed_text
        assert "under way" in printed_text

    def test_the_order_list_and_the_units_without_a_part(self, printed_text: str) -> None:
        assert "061089 Battery 1 Unit 2 (062520)" in printed_text
        assert "Unit 3 062525 Emergency lamp emergency lamp faulty" in printed_text

    def test_the_logbook(self, printed_text: str) -> None:
        logbook = printed_text[printed_text.index("Logbook, ") :]
        assert "Duration test begun 2027-01-14 07:00: failed: battery faulty, lit 60 min gateway" in logbook
        assert "Contact lost Unit 4 connection lost gateway" in logbook
        assert "Inspection the site Looked at every sign Elena Rossi" in logbook

    def test_times_are_those_of_the_zone(self) -> None:
        assert "2027-01-15 09:00 (all times Europe/Rome)" in words(REPORT, zone=ZoneInfo("Europe/Rome"))

    def test_a_site_where_all_is_well_says_so(self) -> None:
        assert "All devices work, and all tests are recorded, passed and in time." in words(
            report_of([(a_unit(1), after_tests())])
        )

    def test_a_site_without_units_says_so(self) -> None:
        text = words(report_of([]))
        assert "No unit is connected to this site yet." in text
        assert "There are no entries in this period." in text


@pytest.fixture(scope="module")
def pages() -> list[str]:
    """Of a site with many units."""
    units = [(a_unit(number, f"Luminaire no. {number:03}."), after_tests()) for number in range(150)]
    return read_pages(printed(report_of(units)))


class TestPages:
    def test_each_has_its_number_and_the_number_of_all(self, pages: list[str]) -> None:
        assert len(pages) > 5
        for number, text in enumerate(pages, 1):
            assert text.endswith(f"{number} / {len(pages)}")

    def test_the_header_of_a_table_is_on_every_page_it_goes_over(self, pages: list[str]) -> None:
        with_units = [text for text in pages if "reference 062520" in text]
        assert len(with_units) > 3
        assert all("Unit Status Failures Function test Duration test" in text for text in with_units)

    def test_no_unit_is_lost_between_two(self, pages: list[str]) -> None:
        text = " ".join(pages)
        assert len(set(re.findall(r"Luminaire no\. (\d{3})\.", text))) == 150
        assert "Units 150 150 0 0" in text

    def test_the_same_report_is_the_same_bytes(self) -> None:
        report = report_of(UNITS[:2], [entry(words="Ελένη")])
        assert printed(report) == printed(report)


class TestAnyText:
    def test_names_of_any_script_are_printed_or_marked(self) -> None:
        report = report_of([(a_unit(number, name), WELL) for number, name in enumerate(NASTY)], name="Κλινική 出口")
        text = words(report, responsible="مسؤول")
        assert "reference 062520" in text

    def test_a_font_of_the_machine_is_used_only_where_it_must_be(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        assert choose_typeface(["Hôpital – “Straße” 5 €, naïve"]).regular is None
        monkeypatch.setattr(fonts, "FOLDERS", (tmp_path / "none",))
        assert choose_typeface(["Κλινική"]).regular is None
        assert "?" in words(report_of([(a_unit(1, "Κλινική"), WELL)]))

    def test_what_helvetica_lacks_is_spelled_or_marked(self) -> None:
        clean = Typeface().clean
        assert clean("Ż–ł “x” … € café ﬁ") == 'Z-l "x" ... EUR café fi'
        assert clean("Κλ🚪") == "???"
        assert clean("a\tb\r\nc\rd\0e\u202e") == "a b\nc\nde"
        assert clean("e\u0301 x\u0336") == "é x"

    def test_arabic_is_printed_from_right_to_left_in_joined_letters(self) -> None:
        # Meem is first and so on the right, joined to khah; lam and alef are one letter.
        assert to_visual("مخ") == "\ufea6\ufee3"
        assert to_visual("لا") == "\ufefb"
        assert to_visual("A مخ 1") == "A 1 \ufea6\ufee3"
        assert to_visual("שלום") == "םולש"
        assert to_visual("Exit (west)") == "Exit (west)"

    @given(st.text(st.characters(min_codepoint=0x590, max_codepoint=0x6FF), max_size=30))
    def test_right_to_left_text_loses_no_letter(self, text: str) -> None:
        assert sorted(unicodedata.normalize("NFKD", to_visual(text))) == sorted(unicodedata.normalize("NFKD", text))

    @pytest.mark.parametrize(
        "text",
        ["W" * 4000, "word " * 800, "line\n" * 800, "\n" * 4000, "a" * 1999 + "\n" + "b" * 1999],
        ids=["one word", "words", "lines", "nothing", "two words"],
    )
    def test_the_longest_entries_fit(self, text: str) -> None:
        pages = read_pages(printed(report_of([], [entry(words=text, by="W" * 200, module="M" * 200)])))
        printed_text = "".join("".join(pages).split())
        for letter, count in (("w", 800), ("b", 1999)):
            if f"{letter}or" in text or letter * 99 in text:
                assert printed_text.count(letter) >= count

    @given(st.text(st.characters(exclude_categories=["Cs"]), max_size=40))
    @settings(max_examples=15, suppress_health_check=[HealthCheck.too_slow])
    def test_nothing_that_people_write_breaks_it(self, text: str) -> None:
        report = report_of([(a_unit(1, text), WELL)], [entry(words=text, by=text, module=text)], name=text, address=text)
        assert print_pdf(report, made_by="Domogate", zone=UTC, responsible=text).startswith(b"%PDF-")
