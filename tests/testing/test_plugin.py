"""The pytest plugin: one gateway for a run, and a reset before each test."""

import os
from pathlib import Path

import pytest

from support.examples import is_long
from support.markdown import code_blocks
from support.named_code import ROOT

pytestmark = pytest.mark.slow
pytest_plugins = ["pytester"]

PLUGIN = ROOT / "clients" / "pytest-domogate"
PAGES = (ROOT / "docs" / "testing-apps.md", PLUGIN / "README.md")
OWN_ESTATE = "def domogate_estate("


@pytest.fixture
def run_tests(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # loading the plugins of all other packages takes a second
    monkeypatch.syspath_prepend(PLUGIN / "src")  # for a run in this process
    monkeypatch.setenv("PYTHONPATH", f"{PLUGIN / 'src'}{os.pathsep}{ROOT / 'clients' / 'python' / 'src'}")
    return pytester


def run(pytester: pytest.Pytester, *texts: str) -> pytest.RunResult:
    """Run these files of tests on one gateway."""
    files = {f"test_{number}": text for number, text in enumerate(texts)}
    pytester.makepyfile(**files)
    names = [f"{name}.py" for name in files]
    return pytester.runpytest_subprocess("-p", "pytest_domogate", "-p", "no:cacheprovider", "-q", *names)


def list_tests(page: Path) -> list[str]:
    blocks = [block for block in code_blocks(page.read_text(), "python") if "def test_" in block]
    assert blocks, page
    return blocks


def count_tests(block: str) -> int:
    return block.count("\ndef test_") + block.startswith("def test_")


FAKE_PROCESS = """
import os
import pytest_domogate

class FakeProcess:
    def __init__(self):
        print("process started by", os.environ.get("PYTEST_XDIST_WORKER", "no worker"))

    def stop(self):
        print("process stopped")

pytest_domogate.GatewayProcess = FakeProcess
"""


class TestEarlyStart:
    """The process of the gateway loads while pytest collects the tests. Most runs are in this process, which is faster."""

    def run(self, pytester: pytest.Pytester, *options: str) -> list[str]:
        pytester.makeconftest(FAKE_PROCESS)
        pytester.makepyfile(
            test_early_start="""
            print("test is read")

            def test_with(gateway):
                pass

            def test_other():
                print("test runs")
            """
        )
        run = pytester.runpytest_inprocess("-s", "-q", "-p", "pytest_domogate", *options)
        words = ("started", "stopped", "test is read", "test runs")
        return [word for line in run.stdout.lines for word in words if word in line]

    def test_it_starts_before_the_first_test(self, run_tests: pytest.Pytester) -> None:
        found = self.run(run_tests, "test_early_start.py::test_other", "test_early_start.py::test_with")
        assert found[:3] == ["test is read", "started", "test runs"]

    def test_it_starts_before_the_tests_are_read_if_the_last_run_needed_it(self, run_tests: pytest.Pytester) -> None:
        assert self.run(run_tests)[:2] == ["test is read", "started"]
        assert self.run(run_tests)[:2] == ["started", "test is read"]
        assert self.run(run_tests, "-k", "with")[:2] == ["test is read", "started"]

    def test_a_run_that_did_not_need_it_is_forgotten(self, run_tests: pytest.Pytester) -> None:
        self.run(run_tests)
        run_tests.makepyfile(test_early_start="def test_other(): pass")
        for found in (["started", "stopped"], []):
            run = run_tests.runpytest_inprocess("-s", "-q", "-p", "pytest_domogate")
            assert [word for line in run.stdout.lines for word in ("started", "stopped") if word in line] == found

    def test_without_the_cache_of_pytest_it_starts_when_the_tests_are_read(self, run_tests: pytest.Pytester) -> None:
        for _ in range(2):
            assert self.run(run_tests, "-p", "no:cacheprovider")[:2] == ["test is read", "started"]

    def test_it_is_stopped_if_no_selected_test_needs_it(self, run_tests: pytest.Pytester) -> None:
        assert self.run(run_tests, "-k", "other") == ["test is read", "started", "stopped", "test runs"]

    def test_a_list_of_the_tests_starts_nothing(self, run_tests: pytest.Pytester) -> None:
        self.run(run_tests)
        for option in ("--collect-only", "--fixtures"):
            assert "started" not in self.run(run_tests, option)

    def test_only_the_workers_of_xdist_start_one(self, run_tests: pytest.Pytester) -> None:
        self.run(run_tests)
        run = run_tests.runpytest_subprocess("-s", "-q", "-p", "pytest_domogate", "-p", "xdist", "-n", "1")
        assert "started by no worker" not in run.stdout.str()
        assert "1 passed" in run.stdout.str()


class TestPlugin:
    def test_the_entry_point_names_the_plugin(self) -> None:
        assert '[project.entry-points.pytest11]\ndomogate = "pytest_domogate"\n' in (PLUGIN / "pyproject.toml").read_text()

    def test_many_tests_with_a_reset_each_see_nothing_of_each_other(self, run_tests: pytest.Pytester) -> None:
        count = 100 if is_long() else 20
        result = run(
            run_tests,
            """
            import pytest
            from domogate.testing import Estate

            estate = Estate()
            anna = estate.user("anna@example.com")
            home = estate.plant("Home", owner=anna)
            lamp = home.room("Kitchen").light("Lamp", on=True, level=80)
            PATH = f"/homeauto/v1.0/light/lighting/addressLocation/plants/{home.id}/modules/parameter/id/value/{lamp.id}"

            @pytest.fixture(scope="session")
            def domogate_estate():
                return estate

            @pytest.mark.parametrize("number", range(COUNT))
            def test_switch(gateway, number):
                assert gateway.commands() == []
                headers = gateway.headers(anna)
                assert gateway.request("GET", PATH, headers=headers).json()["lights"][0]["status"] == "on"
                assert gateway.request("POST", PATH, headers=headers, body={"status": "off"}).status == 200
            """.replace("COUNT", str(count)),
        )
        result.assert_outcomes(passed=count)

    def test_the_tests_of_the_pages_pass_and_the_report_of_a_failed_test_shows_the_last_requests(
        self, run_tests: pytest.Pytester
    ) -> None:
        blocks = [block for page in PAGES for block in list_tests(page)]
        failing = """
            def test_fails(gateway):
                gateway.fault(503)
                assert gateway.request("GET", "/homeauto/v1.0/plants", headers={}).status == 200
            """
        with_demo = [block for block in blocks if OWN_ESTATE not in block]
        result = run(run_tests, *with_demo, failing)
        result.assert_outcomes(passed=sum(map(count_tests, with_demo)), failed=1)
        lines = ["*requests to Domogate*", "GET /homeauto/v1.0/plants -> 503 fault 503", "    {*}"]
        result.stdout.fnmatch_lines(lines, consecutive=True)
        for block in blocks:
            if OWN_ESTATE in block:
                run(run_tests, block).assert_outcomes(passed=count_tests(block))
