"""Only `domogate demo --testing` has the test API."""

import httpx
import pytest

from domogate.testing import Gateway
from support.gateway import run_command, running, start
from support.http import PATIENCE
from support.restartable import clean_environment

pytestmark = pytest.mark.slow


def reset(base_url: str) -> int:
    return httpx.post(f"{base_url}/manage/v1/testing/reset", timeout=PATIENCE).status_code


class TestWhereItIs:
    def test_it_is_in_the_demo_for_tests(self, house_gateway: Gateway) -> None:
        assert reset(house_gateway.base_url) == 401
        document = httpx.get(f"{house_gateway.base_url}/manage/v1/testing/openapi.json", timeout=PATIENCE).json()
        assert "/manage/v1/testing/reset" in document["paths"]

    @pytest.mark.parametrize("command", ["demo", "serve"])
    def test_it_is_nowhere_else(self, command: str, tmp_path_factory: pytest.TempPathFactory) -> None:
        with running(start(command, tmp_path_factory.mktemp(command))) as gateway:
            assert reset(gateway.base_url) == 404
            assert "management_token" not in gateway.ready


class TestFlags:
    @pytest.mark.parametrize("flags", [["--data", "x"], ["--database", "sqlite:///x.sqlite3"]])
    def test_data_that_a_reset_would_replace_is_refused(self, flags: list[str]) -> None:
        done = run_command(["demo", "--testing", *flags], clean_environment({}))
        assert (done.returncode, flags[0][2:] in done.stderr) == (2, True)

    def test_an_estate_file_is_only_for_tests(self) -> None:
        done = run_command(["demo", "--estate", "x.yaml"], clean_environment({}))
        assert (done.returncode, "--testing" in done.stderr) == (2, True)
