"""`domogate readings export`."""

import csv
import io
from pathlib import Path

import pytest

from domogate.domain.states import Reading, Report, Unit
from support.command_line import CommandLine
from support.device_estate import ESTATE, METER, PLANT, PLUG, report


class TestReadingsExport:
    BEGIN = 1_800_000_000.0

    @pytest.fixture
    def measured(self, home: CommandLine) -> CommandLine:
        reports = [
            Report(
                PLANT,
                module,
                self.BEGIN + place * 30,
                readings=(
                    ("power", Reading(place, Unit.WATT, self.BEGIN + place * 30)),
                    ("energy", Reading(100 + place / 2, Unit.WATT_HOUR, self.BEGIN + place * 30)),
                ),
            )
            for module in (PLUG, METER)
            for place in range(4)
        ]
        report(home, *reports)
        return home

    RANGE = ("--since", "2027-01-15T08:00:00Z", "--until", "2027-01-15T09:00:00Z")

    def rows(self, domogate: CommandLine, *words: str) -> list[dict[str, str]]:
        return list(csv.DictReader(io.StringIO(domogate.good("readings", "export", *words, *self.RANGE))))

    def test_each_reading_is_a_row(self, measured: CommandLine) -> None:
        rows = self.rows(measured, "Kettle")
        assert len(rows) == 8
        assert list(rows[0]) == ["module", "name", "measure", "unit", "at", "value", "simulated"]
        power = [(row["at"], row["value"]) for row in rows if row["measure"] == "power"]
        assert power[:2] == [("2027-01-15T08:00:00.000+00:00", "0.0"), ("2027-01-15T08:00:30.000+00:00", "1.0")]
        assert {(row["module"], row["simulated"]) for row in rows} == {(PLUG, "yes")}

    def test_with_a_resolution_each_span_is_a_row(self, measured: CommandLine) -> None:
        rows = self.rows(measured, "Kettle", "--resolution", "1m", "--measure", "energy")
        assert list(rows[0]) == ["module", "name", "measure", "unit", "at", "count", "mean", "low", "high", "last", "simulated"]
        assert [(row["at"], row["count"], row["last"]) for row in rows] == [
            ("2027-01-15T08:00:00+00:00", "2", "100.5"),
            ("2027-01-15T08:01:00+00:00", "2", "101.5"),
        ]

    def test_several_modules_or_a_whole_plant_come_one_after_the_other(self, measured: CommandLine) -> None:
        both = self.rows(measured, "Kettle", METER)
        assert [row["name"] for row in both] == ["Kettle"] * 8 + ["Meter"] * 8
        whole = self.rows(measured, "--plant", "Home")
        assert sorted(map(str, whole)) == sorted(map(str, both))
        assert self.rows(measured, "--plant", "Shed") == []

    def test_a_name_that_looks_like_a_formula_is_marked(self, measured: CommandLine) -> None:
        measured.good("estate", "import", "-", input=ESTATE.replace("Kettle", "'=HYPERLINK(1)'"))
        rows = self.rows(measured, PLUG)
        assert {row["name"] for row in rows} == {"'=HYPERLINK(1)"}
        assert {float(row["value"]) for row in rows if row["measure"] == "power"} == {0.0, 1.0, 2.0, 3.0}

    def test_a_file_is_written_whole_and_not_over_another(self, measured: CommandLine, tmp_path: Path) -> None:
        out = tmp_path / "plug.csv"
        said = measured.run("readings", "export", "Kettle", *self.RANGE, "--out", str(out))
        assert (said.exit_code, said.stdout) == (0, "")
        assert "Wrote 8 rows" in said.stderr
        assert len(out.read_text().splitlines()) == 9
        assert "--force" in measured.refused("readings", "export", "Kettle", *self.RANGE, "--out", str(out))
        measured.good("readings", "export", "Kettle", *self.RANGE, "--out", str(out), "--force", "--measure", "power")
        assert len(out.read_text().splitlines()) == 5
        assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []

    def test_names_with_commas_and_quotes_are_quoted(self, measured: CommandLine) -> None:
        renamed = ESTATE.replace("name: Kettle", 'name: "Kettle, the \\"old\\" one"')
        measured.good("estate", "import", "-", input=renamed)
        assert {row["name"] for row in self.rows(measured, PLUG)} == {'Kettle, the "old" one'}

    def test_what_is_wrong_is_said(self, measured: CommandLine, tmp_path: Path) -> None:
        assert "--plant" in measured.refused("readings", "export", code=2)
        assert "--plant" in measured.refused("readings", "export", "Kettle", "--plant", "Home", code=2)
        assert "module list" in measured.refused("readings", "export", "Toaster")
        assert "1m" in measured.refused("readings", "export", "Kettle", "--resolution", "5s")
        assert "2026-11-15" in measured.refused("readings", "export", "Kettle", "--since", "monday")
        out = str(tmp_path / "x.csv")
        backwards = ("--since", "2027-01-15", "--until", "2027-01-14", "--out", out)
        assert "after" in measured.refused("readings", "export", "Kettle", *backwards, code=2)
        assert not Path(out).exists()

    def test_it_says_when_more_is_asked_for_than_is_kept(self, measured: CommandLine) -> None:
        said = measured.run("readings", "export", "Kettle", "--since", "2020-01-01", "--until", "2020-01-02")
        assert (said.exit_code, len(said.stdout.splitlines())) == (0, 1)
        assert "are kept only since" in said.stderr
