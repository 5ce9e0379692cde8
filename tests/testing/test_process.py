"""The process of the gateway for tests."""

import os
from pathlib import Path

import pytest

from domogate.testing import Estate, GatewayFailed
from domogate.testing.process import GatewayProcess

pytestmark = pytest.mark.slow


def read_environment(process: GatewayProcess) -> dict[str, str]:
    entries = Path(f"/proc/{process.pid}/environ").read_text(encoding="utf-8").split("\0")
    return dict(entry.split("=", 1) for entry in entries if entry)


class TestGatewayProcess:
    @pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="only Linux shows the environment of a process")
    def test_the_process_may_write_bytecode_and_has_no_settings_of_the_developer(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
        monkeypatch.setenv("DOMOGATE_PORT", "1")
        process = GatewayProcess()
        try:
            process.serve(Estate(), 60.0)
            assert {"PYTHONDONTWRITEBYTECODE", "DOMOGATE_PORT"} & read_environment(process).keys() == set()
        finally:
            process.stop()

    def test_a_process_that_never_got_an_estate_can_be_stopped(self) -> None:
        process = GatewayProcess()
        process.stop()
        with pytest.raises(ProcessLookupError):
            os.kill(process.pid, 0)

    def test_an_estate_with_a_mistake_is_explained(self) -> None:
        estate = Estate()
        estate.plant("Home", owner="nobody@example.com")
        with pytest.raises(GatewayFailed, match=r"standard input: line 1.*nobody@example.com"):
            GatewayProcess().serve(estate, 60.0)
