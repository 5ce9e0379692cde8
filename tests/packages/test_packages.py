"""The packages of a release: two builds are the same, and they work when they are installed."""

import json
import math
import re
import subprocess
import sys
import tarfile
import zipfile
from datetime import datetime
from email.parser import Parser
from pathlib import Path

import pytest

from domogate import __version__
from release.building import PROJECTS, ROOT, CannotPackage, build, build_wheel, hash_file, write_hashes
from release.checking import LIMIT, Timer, compare, judge, run
from release.npm import build_npm, convert_version
from release.trial import try_demo
from support.clean_environment import make_clean_environment
from support.examples import is_long

pytestmark = pytest.mark.slow

NAMES = ("domogate", "domogate_client", "pytest_domogate")


def wheel_of(made: dict[str, Path], name: str) -> Path:
    return made[f"{name}-{__version__}-py3-none-any.whl"]


class TestBuild:
    def test_each_project_has_a_source_package_and_a_wheel_with_the_version_of_the_gateway(self, made: dict[str, Path]) -> None:
        wanted = [(f"{name}-{__version__}.tar.gz", f"{name}-{__version__}-py3-none-any.whl") for name in NAMES]
        assert set(made) == {name for pair in wanted for name in pair}

    def test_a_second_build_has_the_same_hashes(self, made: dict[str, Path], when: datetime, tmp_path: Path) -> None:
        """Only the long form builds the gateway again in this way: its source package is large."""
        projects = PROJECTS if is_long() else [project for project in PROJECTS if project != "."]
        again = build(ROOT, tmp_path, when, projects)
        assert len(again) == 2 * len(projects)
        compare([made[path.name] for path in again], again)

    @pytest.mark.parametrize("name", NAMES)
    def test_a_source_package_has_the_time_of_the_commit_and_no_user(
        self, made: dict[str, Path], when: datetime, name: str
    ) -> None:
        package = made[f"{name}-{__version__}.tar.gz"]
        time_of_archive = int.from_bytes(package.read_bytes()[4:8], "little")
        with tarfile.open(package) as archive:
            found = {(one.mtime, one.uid, one.gid, one.uname, one.gname) for one in archive}
        assert (time_of_archive, found) == (int(when.timestamp()), {(int(when.timestamp()), 0, 0, "", "")})

    def test_the_source_package_has_all_committed_files_the_built_pages_and_nothing_else(self, made: dict[str, Path]) -> None:
        """If a committed file is missing, add it to `only-include` in pyproject.toml."""
        listed = subprocess.run(["git", "ls-files", "--cached"], cwd=ROOT, capture_output=True, text=True, check=True)
        committed = {name for name in listed.stdout.splitlines() if (ROOT / name).is_file()}
        with tarfile.open(made[f"domogate-{__version__}.tar.gz"]) as archive:
            names = {name.partition("/")[2] for name in archive.getnames()}
        assert committed - names == set()
        others = names - {*committed, "PKG-INFO"}
        built = ("src/domogate/console/static/", "src/domogate/console/site/")
        assert {name for name in others if not name.startswith(built)} == set()

    def test_a_wheel_from_the_checkout_is_the_wheel_from_the_source_package(
        self, made: dict[str, Path], when: datetime, tmp_path: Path
    ) -> None:
        assert hash_file(build_wheel(ROOT, tmp_path, when)) == hash_file(wheel_of(made, "domogate"))

    def test_a_different_file_is_named(self, made: dict[str, Path], tmp_path: Path) -> None:
        other = tmp_path / wheel_of(made, "domogate").name
        other.write_bytes(b"other")
        with pytest.raises(CannotPackage, match=re.escape(f"differ: {other.name}.")):
            compare([wheel_of(made, "domogate")], [other])

    def test_sha256sum_accepts_the_hashes(self, made: dict[str, Path]) -> None:
        folder = next(iter(made.values())).parent
        sums = write_hashes(made.values(), folder)
        checked = subprocess.run(["sha256sum", "--check", sums.name], cwd=folder, capture_output=True, text=True, check=True)
        assert checked.stdout.count(": OK") == len(made)


class TestTypeScriptClient:
    @pytest.mark.parametrize(
        ("version", "converted"), [("1.2.3", "1.2.3"), ("0.1.0.dev0", "0.1.0-dev.0"), ("1.0.0rc1", "1.0.0-rc.1")]
    )
    def test_npm_has_its_own_form_of_versions(self, version: str, converted: str) -> None:
        assert convert_version(version) == converted

    def test_two_builds_are_the_same_and_have_all_modules(self, npm_package: Path, tmp_path: Path) -> None:
        compare([npm_package], [build_npm(ROOT, tmp_path)])
        assert npm_package.name == f"domogate-client-{convert_version(__version__)}.tgz"
        with tarfile.open(npm_package) as archive:
            held = set(archive.getnames())
            described = archive.extractfile("package/package.json")
            assert described is not None
            assert json.load(described)["version"] == convert_version(__version__)
        source = ROOT / "clients" / "typescript" / "src"
        modules = [path.relative_to(source).with_suffix("") for path in source.rglob("*.ts") if not path.name.endswith(".d.ts")]
        wanted = {f"package/dist/{module}{ending}" for module in modules for ending in (".js", ".d.ts")}
        assert held == {"package/package.json", "package/README.md", "package/LICENSE", *wanted}


class TestContent:
    def test_the_wheel_has_all_files_that_are_read_at_run_time(self, made: dict[str, Path]) -> None:
        held = set(zipfile.ZipFile(wheel_of(made, "domogate")).namelist())
        source = ROOT / "src"
        ours = {
            str(path.relative_to(source)) for path in source.rglob("*") if path.is_file() and "__pycache__" not in path.parts
        }
        pages = {"domogate/console/static/build.json", "domogate/console/static/licences.txt"}
        site = {"domogate/console/site/site.json", "domogate/console/site/licences.txt.gz"}
        assert {"domogate/estate/demo.yaml", "domogate/py.typed", *pages, *site} <= held
        assert ours - held == set()

    def test_the_source_package_has_the_pages_and_their_source(self, made: dict[str, Path]) -> None:
        top = f"domogate-{__version__}"
        with tarfile.open(made[f"{top}.tar.gz"]) as source:
            held = set(source.getnames())
        files = ["src/domogate/console/static/build.json", "web/src/main.tsx", "requirements.lock", "dev"]
        assert {f"{top}/{name}" for name in files} <= held
        assert not [name for name in held if "node_modules" in name or "/.dev/" in name or "__pycache__" in name]

    @pytest.mark.parametrize("name", NAMES)
    def test_each_wheel_has_the_licence(self, made: dict[str, Path], name: str) -> None:
        wheel = zipfile.ZipFile(wheel_of(made, name))
        info = f"{name}-{__version__}.dist-info"
        metadata = Parser().parsestr(wheel.read(f"{info}/METADATA").decode())
        assert metadata["License-Expression"] == "Apache-2.0"
        assert wheel.read(f"{info}/licenses/LICENSE") == (ROOT / "LICENSE").read_bytes()

    def test_the_licences_of_the_pages_have_the_text_of_each_package(self, made: dict[str, Path]) -> None:
        texts = zipfile.ZipFile(wheel_of(made, "domogate")).read("domogate/console/static/licences.txt").decode()
        for text in texts.split("-" * 80):
            assert re.match(r"\s*(@?[\w./-]+) \d+\.\d+\.\d+\n\n.*Permission is hereby granted", text, re.DOTALL)
        assert "preact " in texts


class TestInstallation:
    def test_with_its_declared_packages_the_wheel_serves_the_demo(self, made: dict[str, Path], tmp_path: Path) -> None:
        """The long form also removes documentation and pages: then the trial of the demo must fail."""
        environment = make_clean_environment(tmp_path / "environment", wheel_of(made, "domogate"))
        (tmp_path / "demo").mkdir()
        try_demo(environment, tmp_path / "demo")
        for built in ("site/site.json", "static/build.json") if is_long() else ():
            (manifest,) = environment.glob(f"lib/python*/site-packages/domogate/console/{built}")
            manifest.unlink()
            (folder := tmp_path / f"without {manifest.name}").mkdir()
            with pytest.raises(CannotPackage, match="HTTP Error 503"):
                try_demo(environment, folder)

    def test_the_client_needs_only_its_declared_packages(self, made: dict[str, Path], tmp_path: Path) -> None:
        environment = make_clean_environment(tmp_path, wheel_of(made, "domogate_client"))
        told = subprocess.run(
            [environment / "bin" / "python", "-c", "import domogate_client; print(domogate_client.__version__)"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=True,
        )
        assert told.stdout.strip() == __version__

    def test_an_installation_in_time_is_told(self) -> None:
        assert judge("a wheel", LIMIT, 12.3) == "a wheel: from the wheel to a gateway with pages in 60 s (12 s of CPU time)."

    def test_an_installation_that_takes_too_long_is_refused_with_the_reasons_to_look_for(self) -> None:
        with pytest.raises(CannotPackage) as refused:
            judge("a wheel", LIMIT + 1, 12.3)
        said = str(refused.value)
        assert "in 61 s (12 s of CPU time). The limit is 60 s" in said
        assert "If other programs run, stop them and try again" in said

    def test_the_time_of_the_programs_is_measured(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("release.checking.LIMIT", math.inf)  # The machine of the tests may be busy.
        timer = Timer()
        run([sys.executable, "-c", "import time\nwhile time.process_time() < 1.2: pass"])
        (cpu,) = re.findall(r"\((\d+) s of CPU time\)", timer.check("a loop"))
        assert int(cpu) >= 1

    def test_a_step_that_fails_is_named_with_its_output(self) -> None:
        """`./dev package --check` installs with pip and with pipx, from a package index."""
        with pytest.raises(CannotPackage, match=r"`sh -c echo \$PIPX_HOME; exit 3` failed:\nthere"):
            run(["sh", "-c", "echo $PIPX_HOME; exit 3"], {"PIPX_HOME": "there"})
