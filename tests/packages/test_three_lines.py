"""The three lines of the start page lead from the wheel to a gateway with pages and documentation."""

import subprocess
import time
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import pytest

from release.building import ROOT
from support.clean_environment import link_needed_packages
from support.markdown import code_blocks
from support.package_lines import run_lines, without_index
from support.ports import free_port

DEADLINE = 300.0


def fetch(url: str, program: "subprocess.Popen[bytes]") -> str:
    """Fetch a page. Repeats this until the program listens."""
    deadline = time.monotonic() + DEADLINE
    while True:
        try:
            with urlopen(url, timeout=DEADLINE) as answer:
                return str(answer.read().decode())
        except URLError as error:
            if (
                not isinstance(error.reason, ConnectionRefusedError)
                or program.poll() is not None
                or time.monotonic() > deadline
            ):
                raise
            time.sleep(0.2)


@pytest.mark.slow
def test_they_run_as_they_are_shown(made: dict[str, Path], tmp_path: Path) -> None:
    """pip installs the wheel of this checkout by its name. It must not use a package index, so the packages that the wheel
    needs come from the environment of the tests.
    """
    make, install, run = code_blocks((ROOT / "docs" / "index.md").read_text(), "sh")[0].splitlines()
    wheels = next(iter(made.values())).parent
    port = free_port()
    environment = {**without_index(wheels, tmp_path), "DOMOGATE_PORT": str(port)}
    run_lines([make, install], tmp_path, environment)
    link_needed_packages(tmp_path / "domogate", "domogate")
    with subprocess.Popen(["sh", "-c", f"exec {run}"], cwd=tmp_path, env=environment, stdout=subprocess.DEVNULL) as program:
        try:
            assert 'src="/assets/' in fetch(f"http://127.0.0.1:{port}/", program)
            assert "Start in three lines" in fetch(f"http://127.0.0.1:{port}/docs/", program)
        finally:
            program.terminate()
