"""`domogate safety …` on the demo estate."""

import csv
import io
import json
import shutil
from pathlib import Path

import pytest

from domogate.cli.safety import WorkKind
from domogate.domain.logbook import LogbookKind
from domogate.estate.resources import demo_text
from support.command_line import CommandLine
from support.safety_reports import read_pages

HOSPITAL = "Ospedale San Luca"
HOSPITAL_ID = "405b0001-0000-4000-8000-000000000000"
UNIT = "Corridor luminaire west"


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A shared data folder with the demo estate, because importing takes longer than most of these tests."""
    folder = tmp_path_factory.mktemp("hospital")
    (folder / "demo.yaml").write_text(demo_text())
    CommandLine(folder / "data").good("estate", "import", str(folder / "demo.yaml"))
    return folder / "data"


@pytest.fixture
def hospital(domogate: CommandLine, imported: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    shutil.copytree(imported, domogate.data)
    monkeypatch.chdir(tmp_path)
    return domogate


class TestReport:
    def test_is_a_pdf_named_after_site_and_day(self, hospital: CommandLine, tmp_path: Path) -> None:
        hospital.good("safety", "report", HOSPITAL, "--responsible", "Elena Rossi", "--timezone", "Europe/Rome")
        (written,) = tmp_path.glob("safety-report-Ospedale-San-Luca-*.pdf")
        pages = read_pages(written.read_bytes())
        assert "Elena Rossi" in pages[0]
        assert "Controllers 6 2 3 1 3 Units 16 7 8 1 -" in pages[0]
        assert "No function test is recorded yet for 16 units." in pages[0]

    def test_an_id_in_either_spelling_is_a_site_too(self, hospital: CommandLine, tmp_path: Path) -> None:
        for number, spelled in enumerate((HOSPITAL_ID, HOSPITAL_ID.replace("-", "").upper())):
            hospital.good("safety", "report", spelled, "--out", f"{number}.pdf")
            assert (tmp_path / f"{number}.pdf").read_bytes().startswith(b"%PDF-")

    def test_as_csv_is_one_file_for_each_table(self, hospital: CommandLine, tmp_path: Path) -> None:
        hospital.good("safety", "report", HOSPITAL, "--out", "month.csv")
        assert sorted(path.name for path in tmp_path.glob("*.csv")) == [
            f"month-{table}.csv" for table in ("logbook", "order-list", "summary", "units")
        ]
        with (tmp_path / "month-units.csv").open(newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        assert len([row for row in rows if row["kind"] == "unit"]) == 16

    def test_nothing_is_replaced_without_being_told(self, hospital: CommandLine, tmp_path: Path) -> None:
        (tmp_path / "a.pdf").write_text("mine")
        (tmp_path / "b-summary.csv").write_text("mine")
        for out in ("a.pdf", "b.csv"):
            assert "--force replaces it" in hospital.refused("safety", "report", HOSPITAL, "--out", out)
        assert not (tmp_path / "b-units.csv").exists()
        hospital.good("safety", "report", HOSPITAL, "--out", "a.pdf", "--force")
        assert (tmp_path / "a.pdf").read_bytes().startswith(b"%PDF-")

    def test_goes_to_standard_output_too(self, hospital: CommandLine) -> None:
        done = hospital.run("safety", "report", HOSPITAL, "--out", "-")
        assert done.exit_code == 0
        assert done.stdout_bytes.startswith(b"%PDF-")

    def test_has_the_logbook_of_the_period(self, hospital: CommandLine, tmp_path: Path) -> None:
        log = ("safety", "log", HOSPITAL, "--kind", "note", "--by", "Elena", "--words")
        hospital.good(*log, "in May", "--at", "2026-05-10")
        hospital.good(*log, "in June", "--at", "2026-06-01")
        hospital.good("safety", "report", HOSPITAL, "--since", "2026-05-01", "--until", "2026-06-01", "--out", "may.pdf")
        text = " ".join(read_pages((tmp_path / "may.pdf").read_bytes()))
        assert "2026-05-01 00:00 to 2026-06-01 00:00" in text
        assert "in May" in text
        assert "in June" not in text

    @pytest.mark.parametrize(
        ("arguments", "told"),
        [
            (["--out", "x.pdf", "--format", "csv"], "does not match the ending"),
            (["--out", "-", "--format", "csv"], "one file for each table"),
        ],
    )
    def test_options_that_contradict_each_other_are_refused(
        self, hospital: CommandLine, arguments: list[str], told: str
    ) -> None:
        assert told in hospital.refused("safety", "report", HOSPITAL, *arguments, code=2)

    @pytest.mark.parametrize(
        ("arguments", "told"),
        [
            (["nowhere"], "there is no plant 'nowhere'"),
            (["Casa Bianchi"], "not a site of emergency lighting"),
            ([HOSPITAL, "--timezone", "Mars/Olympus"], "not a known time zone"),
            ([HOSPITAL, "--timezone", "../../etc/passwd"], "not a known time zone"),
            ([HOSPITAL, "--since", "yesterday"], "is not a time"),
            ([HOSPITAL, "--since", "2026-05-02", "--until", "2026-05-01"], "ends before it begins"),
            ([HOSPITAL, "--out", "no/such/folder/x.pdf"], "there is no folder"),
        ],
    )
    def test_what_cannot_be_is_said_plainly(self, hospital: CommandLine, arguments: list[str], told: str) -> None:
        assert told in hospital.refused("safety", "report", *arguments)

    def test_a_site_without_units_has_one_too(self, hospital: CommandLine, tmp_path: Path) -> None:
        hospital.good("safety", "report", "Clinic O'Hara, under construction", "--out", "empty.pdf")
        assert "No unit is connected to this site yet." in read_pages((tmp_path / "empty.pdf").read_bytes())[0]


class TestSchedule:
    def test_shows_every_unit_and_the_figures(self, hospital: CommandLine) -> None:
        shown = hospital.good("safety", "schedule", HOSPITAL)
        assert "  Exit sign on the stairs" in shown
        assert "16 units: 7 working, 8 in failure, 1 without communication" in shown
        assert "function tests: 0 passed, 0 failed, 16 not recorded yet" in shown

    def test_commissioning_makes_tests_due(self, hospital: CommandLine) -> None:
        log = ("safety", "log", HOSPITAL, "--kind", "commissioning", "--by", "Elettrica Torino", "--words", "put into service")
        hospital.good(*log, "--at", "2025-01-31")
        seen = hospital.read("safety", "schedule", HOSPITAL)
        assert (seen["summary"]["function_tests"]["overdue"], seen["summary"]["complies"]) == (16, False)
        test = seen["controllers"][0]["units"][0]["function_test"]
        assert (test["due_at"], test["standing"], test["last"]) == ("2025-01-31T00:00:00Z", "overdue", None)


class TestLogbook:
    def log(self, hospital: CommandLine, *more: str) -> dict[str, object]:
        words = ("--by", "Elena Rossi", "--words", "=1+1 and Καλημέρα")
        return dict(json.loads(hospital.good("safety", "log", HOSPITAL, "--kind", "inspection", *words, *more, "--json")))

    def test_what_is_written_is_listed(self, hospital: CommandLine) -> None:
        first = self.log(hospital)
        second = self.log(hospital, "--module", UNIT, "--at", "2026-01-02T03:04:05Z")
        assert hospital.read("safety", "logbook", HOSPITAL) == [first, second]
        assert (second["module"], second["at"], second["by"]) == (UNIT, "2026-01-02T03:04:05Z", "Elena Rossi")
        shown = hospital.good("safety", "logbook", HOSPITAL, "--until", "2026-02-01", "--timezone", "Europe/Rome")
        assert "2026-01-02 04:04" in shown
        assert "=1+1 and Καλημέρα" in shown
        assert hospital.read("safety", "logbook", HOSPITAL, "--kind", "note") == []

    def test_it_is_in_the_audit_log_without_what_was_written(self, hospital: CommandLine) -> None:
        self.log(hospital)
        told = hospital.good("audit", "list", "--action", "logbook written", "--json")
        assert f"plant:{HOSPITAL_ID}" in told
        assert "Elena" not in told

    @pytest.mark.parametrize(
        ("arguments", "told"),
        [
            (["--words", " "], "words must have 1 to 4000 characters"),
            (["--by", ""], "by must have 1 to 200 characters"),
            (["--module", "Kettle"], "no module 'Kettle'"),
            (["--at", "2999-01-01"], "must not be in the future"),
        ],
    )
    def test_what_is_no_entry_is_refused(self, hospital: CommandLine, arguments: list[str], told: str) -> None:
        given = {"--kind": "note", "--by": "Elena", "--words": "x"} | {arguments[0]: arguments[1]}
        written = [part for pair in given.items() for part in pair]
        assert told in hospital.refused("safety", "log", HOSPITAL, *written)
        assert hospital.read("safety", "logbook", HOSPITAL) == []

    def test_exactly_the_kinds_that_people_write_are_offered(self, hospital: CommandLine) -> None:
        assert list(WorkKind) == [kind.value for kind in LogbookKind if kind.by_hand]
        told = hospital.refused("safety", "log", HOSPITAL, "--kind", "test", "--by", "Elena", "--words", "x", code=2)
        assert "'test' is not one of commissioning, inspection, service, alteration, note." in told


class TestOrderList:
    def test_parts_are_added_up(self, hospital: CommandLine) -> None:
        orders = hospital.read("safety", "order-list", HOSPITAL)
        assert [(line["reference"], line["type"], line["quantity"]) for line in orders["lines"]] == [
            ("061089", "Battery", "2"),
            ("061092", "Battery", "2"),
            ("060926", "Emergency lamp", "2"),
            ("060931", "Emergency lamp", "1"),
        ]
        assert [need["name"] for need in orders["without_parts"]] == ["Controller east wing"]

    def test_for_people_and_for_spreadsheets(self, hospital: CommandLine) -> None:
        done = hospital.run("safety", "order-list", HOSPITAL)
        assert "061089  Battery" in done.stdout
        assert "No Battery is known for Controller east wing (reference 088260)." in done.stderr
        rows = list(csv.DictReader(io.StringIO(hospital.good("safety", "order-list", HOSPITAL, "--csv"))))
        assert [row["part"] for row in rows] == ["061089", "061089", "061092", "060926", "060931", ""]
        hospital.refused("safety", "order-list", HOSPITAL, "--csv", "--json", code=2)
