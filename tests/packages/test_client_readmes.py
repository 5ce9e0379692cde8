"""The installation lines of the clients work: clients/python/README.md, clients/typescript/README.md and
clients/pytest-domogate/README.md.
"""

from collections.abc import Mapping
from pathlib import Path

import pytest

from domogate import __version__
from release.building import ROOT
from release.npm import convert_version
from support.clean_environment import link_needed_packages
from support.markdown import code_blocks
from support.npm_registry import npm_registry
from support.package_lines import make_environment, run_lines, without_index

pytestmark = pytest.mark.slow


def read_lines(client: str) -> list[str]:
    (block,) = code_blocks((ROOT / "clients" / client / "README.md").read_text(), "sh")
    return block.splitlines()


def folder_of(made: dict[str, Path]) -> Path:
    return next(iter(made.values())).parent


@pytest.fixture(scope="module")
def shell(made: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    """The variables of a shell with a new Python environment. Two clients are installed there; neither needs the other."""
    home = tmp_path_factory.mktemp("home")
    return make_environment(home / "environment", without_index(folder_of(made), home))


def test_the_python_client_can_be_imported(shell: Mapping[str, str], tmp_path: Path) -> None:
    run_lines(read_lines("python"), tmp_path, shell)
    link_needed_packages(Path(shell["VIRTUAL_ENV"]), "domogate-client")
    say_version = "python -c 'import domogate_client; print(domogate_client.__version__)'"
    assert run_lines([say_version], tmp_path, shell).strip() == __version__


def test_the_pytest_plugin_runs_the_example_of_its_readme(shell: Mapping[str, str], tmp_path: Path) -> None:
    # pip would also install the gateway, but it may not install what the gateway needs.
    run_lines([*read_lines("pytest-domogate"), "pip install domogate"], tmp_path, shell)
    for package in ("domogate", "pytest-domogate"):
        link_needed_packages(Path(shell["VIRTUAL_ENV"]), package)
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
