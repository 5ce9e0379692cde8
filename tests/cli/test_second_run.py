"""The second run of the few tests that failed next to others."""

from pathlib import Path

import pytest

from support.examples import is_long
from support.second_run import MOST_REPEATED, run

pytestmark = pytest.mark.slow

PARALLEL = ("-p", "xdist", "-n", "1")
_TESTS = """
import pathlib
import pytest

@pytest.mark.parametrize("number", range({failing}))
def test_fails(number):
    runs = pathlib.Path(f"runs-{{number}}")
    runs.write_text(runs.read_text() + "x" if runs.exists() else "x")
    assert len(runs.read_text()) > {failures}

def test_passes():
    with pathlib.Path("passed").open("a") as passed:
        passed.write("x")
"""


@pytest.fixture(autouse=True)
def _load_few_plugins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")


def write_tests(folder: Path, *, failing: int, failures: int) -> None:
    """Write one test that passes, and tests that fail in their first runs."""
    (folder / "pytest.ini").write_text("[pytest]\n")
    (folder / "test_it.py").write_text(_TESTS.format(failing=failing, failures=failures))


def count_runs(folder: Path, name: str) -> int:
    return len((folder / name).read_text())


@pytest.mark.parametrize("failing", [1, MOST_REPEATED] if is_long() else [MOST_REPEATED])
def test_a_few_failed_tests_run_again_and_are_named(failing: int, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    write_tests(tmp_path, failing=failing, failures=1)
    assert run(PARALLEL, tmp_path) == 0
    assert [count_runs(tmp_path, f"runs-{number}") for number in range(failing)] == [2] * failing
    assert count_runs(tmp_path, "passed") == 1
    named = capfd.readouterr().out.partition("passed alone")[2]
    assert all(f"test_it.py::test_fails[{number}]" in named for number in range(failing))


def test_a_test_that_fails_twice_fails_the_run(tmp_path: Path) -> None:
    write_tests(tmp_path, failing=2, failures=2)
    assert run(PARALLEL, tmp_path) == 1
    assert count_runs(tmp_path, "runs-0") == 2


def test_many_failed_tests_do_not_run_again(tmp_path: Path) -> None:
    write_tests(tmp_path, failing=MOST_REPEATED + 1, failures=1)
    assert run(PARALLEL, tmp_path) == 1
    assert count_runs(tmp_path, "runs-0") == 1


def test_without_failures_there_is_one_run(tmp_path: Path) -> None:
    write_tests(tmp_path, failing=1, failures=0)
    assert run(PARALLEL, tmp_path) == 0
    assert count_runs(tmp_path, "runs-0") == 1


def test_a_mistake_in_the_arguments_is_not_repeated(tmp_path: Path) -> None:
    write_tests(tmp_path, failing=1, failures=1)
    assert run((*PARALLEL, "--no-such-option"), tmp_path) == pytest.ExitCode.USAGE_ERROR
    assert not (tmp_path / "runs-0").exists()
