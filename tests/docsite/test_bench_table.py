"""`./dev bench --write` updates the table of docs/performance.md, and `--against` compares with another commit."""

import pytest

from benchmarks.__main__ import main, parse_arguments, update_table
from benchmarks.against import fetch_code
from benchmarks.own_rows import NUMBERS, NotMeasured, find_number
from benchmarks.scenarios import Row, compare_rounds

_PAGE = """before
<!-- table -->
| what | measured | limit |
|---|---|---|
| reads / stock | 1.20 | >= 1.1 |
| memory | 83 MB |  |
<!-- end of table -->
after
"""
_MEMORY = Row("memory", "80 MB", "<= 95 MB", True)
_START = Row("start", "0.7 s", "<= 0.6 s", False)


def test_the_rows_of_some_scenarios_replace_only_their_own_rows() -> None:
    assert update_table(_PAGE, [_START, _MEMORY], keep_others=True) == _PAGE.replace(
        "| memory | 83 MB |  |", "| memory | 80 MB | <= 95 MB |\n| start | 0.7 s | <= 0.6 s **missed** |"
    )


def test_all_rows_replace_the_whole_table() -> None:
    written = update_table(_PAGE, [_MEMORY], keep_others=False)
    assert written == _PAGE.replace("| reads / stock | 1.20 | >= 1.1 |\n| memory | 83 MB |  |", "| memory | 80 MB | <= 95 MB |")
    assert update_table(written, [_MEMORY], keep_others=False) == written


@pytest.mark.parametrize(
    ("rate", "possible", "holds"),
    [(4_600.0, 20_000.0, True), (2_400.0, 7_000.0, True), (4_400.0, 20_000.0, False)],
    ids=["the goal is reached", "the ratio is reached on a slow machine", "neither is reached"],
)
def test_a_row_with_a_goal_needs_the_goal_or_the_ratio(rate: float, possible: float, holds: bool) -> None:
    row = compare_rounds("commands", [rate], [possible], 0.31, goal=4_500)
    assert row == Row("commands", row.figure, ">= 0.31 or >= 4,500 per CPU-second", holds)


def test_a_row_without_a_goal_needs_the_ratio() -> None:
    row = compare_rounds("refusals", [9.0, 3.0, 5.0], [10.0, 10.0, 10.0], 0.6)
    assert row == Row("refusals", "0.50 (0.30 to 0.90) (5 / 10)", ">= 0.6", False)


@pytest.mark.parametrize(
    ("more", "message"), [("pages", "--against cannot compare pages"), ("--write", "--against has its own rows")]
)
def test_a_comparison_with_a_commit_has_its_own_rows(more: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert parse_arguments(["--against", "main", "reads", "streams"]).against == "main"
    with pytest.raises(SystemExit):
        parse_arguments(["--against", "main", more])
    assert message in capsys.readouterr().err


OUTPUT = """\
| what | measured | limit |
|---|---|---|
| refreshes per CPU-second / the most that are possible with two ES256 signatures and one commit | 0.32 (556 / 1,715) | >= 0.3 |
| a million readings: recorded in | 23.0 s (20.1 s CPU) |  |
| SSE: events sent to 1,000 listeners per second | 19,994 | none lost |
| SSE: events sent to listeners per CPU-second, commits included | 20,232 |  |
| Webhooks: deliveries per CPU-second, commits included | 981 |  |
| Webhooks: deliveries per CPU-second / the most that are possible | 0.15 (4,311 / 29,295) | >= 0.12 |
| tickets redeemed per CPU-second / the most that are possible | 0.29 (0.28 to 0.34) (1,344 / 4,571) | >= 0.28 **missed** |
| idle memory with the demo estate | 139.40 MB | <= 140 MB |
| E8 on a plant of 100 modules that is not held | 2.26 ms CPU | <= 3 ms CPU |
| E8 on a plant of 100 modules that is not held, if the simulator must be attached and asked | 14.92 ms CPU |  |
"""


def test_the_numbers_of_a_table_are_found() -> None:
    found = [find_number(number, OUTPUT) for number in NUMBERS]
    assert found == [556, 1_344, 20_232, 981, 20.1, 139.4, 2.26]


@pytest.mark.parametrize(
    ("errors", "reason"),
    [
        ("Traceback\nTypeError: no argument 'poll'\nfailed: webhooks", "TypeError: no argument 'poll'"),
        ("the disk is full\n", "the disk is full"),
        ("", "no such row"),
    ],
)
def test_a_benchmark_without_the_row_says_why(errors: str, reason: str) -> None:
    with pytest.raises(NotMeasured, match=reason):
        find_number(NUMBERS[0], "| what | measured | limit |\n", errors)


@pytest.mark.parametrize("commit", ["no-such-commit", "0123456789abcdef0123456789abcdef01234567", "--all"])
def test_a_commit_that_is_not_in_the_repository_is_named(commit: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ValueError, match=f"no commit {commit}"):
        fetch_code(commit)
    assert main([f"--against={commit}"]) == 1
    assert f"this repository has no commit {commit}" in capsys.readouterr().err
