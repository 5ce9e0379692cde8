"""The packages of a release, built once for the tests of this folder."""

from datetime import datetime
from pathlib import Path

import pytest

from docsite.building import build as build_site
from release.building import ROOT, build, time_of_last_commit
from release.npm import build_npm
from support.built_once import build_once
from support.node_packages import use_node


@pytest.fixture(scope="session")
def when() -> datetime:
    return time_of_last_commit()


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory, when: datetime) -> dict[str, Path]:
    """The built files by their names. Only `./dev test` builds the documentation site before, not `./dev soak`."""
    build_site()
    folder = build_once(tmp_path_factory, "dist", lambda folder: build(ROOT, folder, when))
    return {path.name: path for path in folder.iterdir() if path.name.endswith((".whl", ".tar.gz"))}


@pytest.fixture(scope="session")
def npm_package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package of the TypeScript client."""
    use_node()
    folder = build_once(tmp_path_factory, "npm", lambda folder: build_npm(ROOT, folder))
    (package,) = folder.glob("*.tgz")
    return package
