"""`./dev`, and the lock files that it installs from."""

import os
import re
import subprocess
import sys
import tomllib
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from support.node_packages import use_node

ROOT = Path(__file__).parents[2]
LOCKS = (
    "requirements.lock",
    "requirements-dev.lock",
    "requirements-web.lock",
    "requirements-build.lock",
    "requirements-pip.lock",
    "requirements-site.lock",
)
EVERY_LOCK = (*LOCKS, "integrations/homeassistant/requirements.lock")
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())


def pins(lock: str) -> dict[tuple[str, str], str]:
    """Versions by name and marker."""
    found = {}
    for line in (ROOT / lock).read_text().splitlines():
        if match := re.match(r"([a-z0-9][a-z0-9.-]*)(?:\[[a-z,]+\])?==(\S+)(?: ; (.+?))?(?: \\)?$", line):
            found[match[1], match[3] or ""] = match[2]
    return found


def dev(*arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([ROOT / "dev", *arguments], capture_output=True, text=True, check=False)


class TestLockFiles:
    @pytest.mark.parametrize("lock", EVERY_LOCK)
    def test_they_name_no_host_and_take_no_option_but_hashes(self, lock: str) -> None:
        lines = [line for line in (ROOT / lock).read_text().splitlines() if not line.lstrip().startswith("#")]
        assert [
            line for line in lines if "://" in line or (line.lstrip().startswith("-") and "--hash=sha256:" not in line)
        ] == []

    @pytest.mark.parametrize("lock", EVERY_LOCK)
    def test_every_pin_has_a_hash(self, lock: str) -> None:
        text = (ROOT / lock).read_text()
        assert len(pins(lock)) == len(re.findall(r"^[a-z0-9].* \\\n    --hash=sha256:[0-9a-f]{64}", text, re.MULTILINE)) > 0

    def test_the_one_for_development_holds_all_of_the_other(self) -> None:
        development = pins(LOCKS[1])
        # The development lock may contain packages that only some platforms need to run.
        missing = [
            (name, marker, version)
            for (name, marker), version in pins(LOCKS[0]).items()
            if version not in (development.get((name, marker)), development.get((name, "")))
        ]
        assert missing == []

    @pytest.mark.parametrize(
        ("lock", "wanted"),
        [
            (LOCKS[0], [*PROJECT["project"]["dependencies"], *chain(*PROJECT["project"]["optional-dependencies"].values())]),
            (LOCKS[1], PROJECT["dependency-groups"]["dev"]),
            (LOCKS[2], PROJECT["dependency-groups"]["web"]),
            (LOCKS[3], PROJECT["dependency-groups"]["build"]),
            (LOCKS[4], PROJECT["dependency-groups"]["pip"]),
            (LOCKS[5], PROJECT["dependency-groups"]["site"]),
        ],
    )
    def test_they_pin_what_the_project_asks_for(self, lock: str, wanted: list[str]) -> None:
        pinned = {name: version for (name, _), version in pins(lock).items()}
        for requirement in map(Requirement, wanted):
            assert requirement.specifier.contains(pinned[canonicalize_name(requirement.name)], prereleases=True), requirement


class TestDev:
    def test_without_arguments_it_tells_its_commands(self) -> None:
        told = dev()
        assert told.returncode == 0
        for command in ("run", "test", "test fast", "lint", "web", "site", "bench", "soak", "package", "lock"):
            assert re.search(rf"^  {command}\b", told.stdout, re.MULTILINE)

    def test_an_unknown_command_fails_and_is_named(self) -> None:
        told = dev("rnu")
        assert told.returncode == 1
        assert "rnu" in told.stderr

    def test_a_wrong_python_is_refused_before_anything_is_made(self, tmp_path: Path) -> None:
        for name in ("dev", "pyproject.toml", *LOCKS):
            (tmp_path / name).write_bytes((ROOT / name).read_bytes())
        environment = {"PATH": "/usr/bin:/bin", "DOMOGATE_PYTHON": "true"}
        told = subprocess.run(["sh", tmp_path / "dev", "run"], env=environment, capture_output=True, text=True, check=False)
        assert told.returncode == 1
        assert "3.11" in told.stderr
        assert not (tmp_path / ".dev" / "venv").exists()
        assert not (tmp_path / ".dev" / "lock").exists()


@pytest.mark.slow
class TestPages:
    @pytest.fixture
    def checkout(self, tmp_path: Path) -> Path:
        """A checkout with an environment, in which the packages of web/ are not installed."""
        for name in ("dev", "pyproject.toml", *LOCKS, "src/domogate/auth/pages/shared.css", "web/package.json"):
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_bytes((ROOT / name).read_bytes())
        for name in ("package-lock.json", ".npmrc"):
            (tmp_path / "web" / name).write_bytes((ROOT / "web" / name).read_bytes())
        (tmp_path / ".dev").mkdir()
        (tmp_path / ".dev" / "venv").symlink_to(sys.prefix)
        return tmp_path

    def test_without_a_registry_the_command_says_that_they_are_not_built(self, checkout: Path) -> None:
        use_node()
        unreachable = {"npm_config_registry": "http://127.0.0.1:9/", "npm_config_fetch_retries": "0"}
        settings = {**os.environ, **unreachable, "npm_config_cache": str(checkout / "cache")}
        told = subprocess.run(["sh", checkout / "dev", "web"], env=settings, capture_output=True, text=True, check=False)
        assert told.returncode == 1
        assert told.stderr.splitlines()[-1] == "./dev: the pages could not be built (see above)."
        assert not (checkout / ".dev" / "lock").exists()
        assert not (checkout / "src" / "domogate" / "console" / "static").exists()

    @pytest.mark.parametrize("folder", ["web", "benchmarks/peers"])
    def test_their_lock_file_names_no_host(self, folder: str) -> None:
        assert "://" not in "".join(
            line for line in (ROOT / folder / "package-lock.json").read_text().splitlines() if '"url":' not in line
        )
