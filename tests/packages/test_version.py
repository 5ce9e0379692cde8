"""The version is in one place. `./dev version` writes it into all other files."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from release.building import ROOT
from release.version import PLACES, SOURCE, main, read_version

MANIFEST = "integrations/homeassistant/custom_components/domogate/manifest.json"
EXAMPLES = {"docs/releasing.md", "docs/operations/upgrading.md"}
"""Pages with examples of versions."""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """The files with a version, in a folder of their own."""
    for file in {SOURCE, *(place.file for place in PLACES)}:
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / file, tmp_path / file)
    return tmp_path


def test_all_files_have_the_version_of_the_gateway(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--check"]) == 0, capsys.readouterr().out


def test_a_new_version_is_written_in_the_form_that_each_file_needs(checkout: Path) -> None:
    assert main(["3.4.5.dev6"], checkout) == 0
    assert read_version(checkout) == "3.4.5.dev6"
    chart = yaml.safe_load((checkout / "deploy/helm/domogate/Chart.yaml").read_text())
    assert (chart["version"], chart["appVersion"]) == ("3.4.5-dev.6", "3.4.5.dev6")
    manifest = json.loads((checkout / MANIFEST).read_text())
    assert (manifest["version"], manifest["requirements"]) == ("3.4.5.dev6", ["domogate-client==3.4.5.dev6"])
    assert "--build-arg VERSION=3.4.5.dev6 ." in (checkout / "docs/deployment.md").read_text()
    assert '__version__ = "3.4.5.dev6"\n' in (checkout / "clients/python/src/domogate_client/_version.py").read_text()
    assert main(["--check"], checkout) == 0


@pytest.mark.parametrize("file", sorted({str(place.file) for place in PLACES}))
def test_a_file_with_another_version_is_named_with_the_command_and_corrected(
    checkout: Path, file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    version = read_version(checkout)
    text = (checkout / file).read_text()
    (checkout / file).write_text(text.replace(version, "9.9.9"))
    assert main(["--check"], checkout) == 1
    assert capsys.readouterr().out == f"{file} has another version; run ./dev version\n"
    assert main([], checkout) == 0
    assert (checkout / file).read_text() == text


def test_a_line_that_has_gone_is_noticed(checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (checkout / "docs/deployment.md").write_text("# Deployment\n")
    assert main(["--check"], checkout) == 2
    assert "docs/deployment.md has no version after '--build-arg VERSION='" in capsys.readouterr().err


@pytest.mark.parametrize("version", ["1.2", "v1.2.3", "1.2.3-dev.1", "1.2.3 "])
def test_a_wrong_version_is_refused(checkout: Path, version: str, capsys: pytest.CaptureFixture[str]) -> None:
    before = (checkout / SOURCE).read_text()
    assert main([version], checkout) == 2
    assert "write a version such as 0.2.0" in capsys.readouterr().err
    assert (checkout / SOURCE).read_text() == before


@pytest.mark.slow
def test_no_other_file_for_users_has_the_version_of_the_gateway() -> None:
    """Such a file would keep the old version at the next release."""
    version = re.compile(rf"(?<![\d.^~]){re.escape(read_version())}(?![\d.])")
    folders = ["deploy", "integrations/homeassistant/custom_components", "docs/*.md", "docs/tutorials", "docs/guides"]
    command = ["git", "ls-files", *folders]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=60).stdout.splitlines()
    assert "docs/deployment.md" in listed
    known = {str(SOURCE), *(str(place.file) for place in PLACES), *EXAMPLES}
    texts = {name: (ROOT / name).read_text() for name in listed if "decisions/" not in name and not name.endswith(".png")}
    others = [name for name, text in texts.items() if name not in known and version.search(text)]
    assert others == [], "add the file to release/version.py, or write no version"
