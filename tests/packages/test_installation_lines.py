"""The installation lines of the start page (docs/index.md) and of the clients work: clients/python/README.md,
clients/typescript/README.md and clients/pytest-domogate/README.md.
"""

import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import pytest

from domogate import __version__
from release.building import ROOT
from release.npm import convert_version
from support.clean_environment import link_needed_packages
from support.markdown import code_blocks
from support.npm_registry import npm_registry
from support.package_lines import run_lines, use_environment, without_index
from support.ports import free_port

pytestmark = pytest.mark.slow

MAKE, INSTALL, RUN = code_blocks((ROOT / "docs" / "index.md").read_text(), "sh")[0].splitlines()
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


def read_lines(client: str) -> list[str]:
    (block,) = code_blocks((ROOT / "clients" / client / "README.md").read_text(), "sh")
    return block.splitlines()


def folder_of(made: dict[str, Path]) -> Path:
    return next(iter(made.values())).parent


@pytest.fixture(scope="module")
def folder(made: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the first two lines of the start page have been run.

    pip installs the wheels of this checkout by their names. It must not use a package index, so the packages that a wheel needs
    come from the environment of the tests.
    """
    folder = tmp_path_factory.mktemp("start")
    run_lines([MAKE, INSTALL], folder, without_index(folder_of(made), folder))
    link_needed_packages(folder / "domogate", "domogate")
    return folder


@pytest.fixture(scope="module")
def shell(made: dict[str, Path], folder: Path) -> Mapping[str, str]:
    """The variables of a shell with this environment. The clients are installed there too; they do not need each other."""
    return use_environment(folder / "domogate", without_index(folder_of(made), folder))


def test_the_three_lines_lead_to_a_gateway_with_pages_and_documentation(folder: Path) -> None:
    port = free_port()
    environment = {**without_index(folder, folder), "DOMOGATE_PORT": str(port)}
    with subprocess.Popen(["sh", "-c", f"exec {RUN}"], cwd=folder, env=environment, stdout=subprocess.DEVNULL) as program:
        try:
            assert 'src="/assets/' in fetch(f"http://127.0.0.1:{port}/", program)
            assert "Start in three lines" in fetch(f"http://127.0.0.1:{port}/docs/", program)
        finally:
            program.terminate()


def test_the_python_client_can_be_imported(shell: Mapping[str, str], tmp_path: Path) -> None:
    run_lines(read_lines("python"), tmp_path, shell)
    link_needed_packages(Path(shell["VIRTUAL_ENV"]), "domogate-client")
    say_version = "python -c 'import domogate_client; print(domogate_client.__version__)'"
    assert run_lines([say_version], tmp_path, shell).strip() == __version__


def test_the_pytest_plugin_runs_the_example_of_its_readme(shell: Mapping[str, str], tmp_path: Path) -> None:
    run_lines(read_lines("pytest-domogate"), tmp_path, shell)
    link_needed_packages(Path(shell["VIRTUAL_ENV"]), "pytest-domogate")
    (example,) = code_blocks((ROOT / "clients" / "pytest-domogate" / "README.md").read_text(), "python")
    (tmp_path / "test_example.py").write_text(example)
    assert "1 passed" in run_lines(["python -m pytest -q test_example.py"], tmp_path, shell)


def test_the_typescript_client_can_be_imported(npm_package: Path, tmp_path: Path) -> None:
    application = tmp_path / "application"
    application.mkdir()
    (application / "package.json").write_text('{"name": "application", "private": true}')
    with npm_registry(npm_package) as registry:
        shell = without_index(tmp_path, tmp_path) | {"npm_config_registry": registry, "npm_config_update_notifier": "false"}
        run_lines(read_lines("typescript"), application, shell)
        listed = run_lines(["npm ls --json @domogate/client"], application, shell)
    assert f'"version": "{convert_version(__version__)}"' in listed
    call = """node --input-type=module -e 'import { Client } from "@domogate/client"; console.log(typeof Client)'"""
    assert run_lines([call], application, shell).strip() == "function"
