"""`./dev bench --write` updates the table of docs/performance.md."""

from benchmarks.__main__ import update_table
from benchmarks.scenarios import Row

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
