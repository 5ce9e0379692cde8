"""The bill of materials and the list of licences name each package that the gateway uses."""

import json
import re
from base64 import b64encode
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from release.__main__ import describe_parts
from release.building import ROOT, CannotPackage
from release.dependencies import find_needed, read_hashes
from release.licences import find_licence, list_python_parts

WHEN = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    bill, licences = describe_parts(tmp_path_factory.mktemp("dist"), WHEN)
    return bill, licences


@pytest.fixture(scope="module")
def bill(written: tuple[Path, Path]) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(written[0].read_bytes())
    return document


def used_packages() -> set[str]:
    python = re.findall(r"^([a-z0-9.-]+)==(\S+)", (ROOT / "requirements.lock").read_text(), re.MULTILINE)
    python += re.findall(r"^(mkdocs-material)==(\S+)", (ROOT / "requirements-dev.lock").read_text(), re.MULTILINE)
    web = json.loads((ROOT / "web" / "package-lock.json").read_text())["packages"]
    pages = [(path.removeprefix("node_modules/"), one["version"]) for path, one in web.items() if path and not one.get("dev")]
    return {f"{name} {version}" for name, version in [*python, *pages]}


class TestBill:
    @pytest.mark.slow
    def test_it_names_each_package_of_the_lock_files_once(self, bill: dict[str, Any]) -> None:
        named = [f"{one['name']} {one['version']}" for one in bill["components"]]
        assert len(named) == len(set(named))
        assert set(named) == used_packages()

    def test_it_has_the_header_of_cyclonedx(self, bill: dict[str, Any]) -> None:
        assert (bill["bomFormat"], bill["specVersion"], bill["version"]) == ("CycloneDX", "1.6", 1)
        assert re.fullmatch(
            r"urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", bill["serialNumber"]
        )
        assert bill["metadata"]["timestamp"] == "2026-03-01T12:00:00Z"

    def test_each_reference_is_a_package_url_that_exists(self, bill: dict[str, Any]) -> None:
        known = {bill["metadata"]["component"]["bom-ref"], *(one["bom-ref"] for one in bill["components"])}
        assert all(re.fullmatch(r"pkg:(pypi|npm)/(%40[a-z0-9-]+/)?[a-z0-9.-]+@[0-9a-z.]+", reference) for reference in known)
        assert {one["ref"] for one in bill["dependencies"]} == known
        assert {needed for one in bill["dependencies"] for needed in one["dependsOn"]} <= known

    def test_each_python_package_for_this_machine_is_reached_from_the_gateway(self, bill: dict[str, Any]) -> None:
        needs = {one["ref"]: one["dependsOn"] for one in bill["dependencies"]}
        reached: set[str] = set()
        waiting = [bill["metadata"]["component"]["bom-ref"]]
        while waiting:
            if (one := waiting.pop()) not in reached:
                reached.add(one)
                waiting += needs[one]
        assert {one for one in needs if one not in reached} <= {one for one in needs if one.startswith("pkg:pypi/tzdata@")}

    def test_each_package_has_the_hashes_of_the_lock_file(self, bill: dict[str, Any]) -> None:
        lock = (ROOT / "requirements.lock").read_text() + (ROOT / "requirements-dev.lock").read_text()
        web = (ROOT / "web" / "package-lock.json").read_text()
        for one in bill["components"]:
            hashes = [(entry["alg"], entry["content"]) for entry in one["hashes"]]
            assert hashes, one["name"]
            for algorithm, content in hashes:
                if one["purl"].startswith("pkg:npm/"):
                    assert algorithm == "SHA-512"
                    assert f"sha512-{b64encode(bytes.fromhex(content)).decode()}" in web
                else:
                    assert algorithm == "SHA-256"
                    assert f"--hash=sha256:{content}" in lock

    def test_a_package_has_all_its_hashes_and_none_of_the_next_package(self) -> None:
        hashes = read_hashes(ROOT / "requirements.lock")
        text = (ROOT / "requirements.lock").read_text()
        assert sum(map(len, hashes.values())) == text.count("--hash=sha256:")
        block = re.search(r"^msgspec==.*?(?=^\S)", text, re.MULTILINE | re.DOTALL)
        assert block is not None
        assert hashes["msgspec"] == re.findall(r"sha256:([0-9a-f]{64})", block[0])

    def test_a_package_without_a_hash_is_refused(self, tmp_path: Path) -> None:
        (lock := tmp_path / "some.lock").write_text("msgspec==1.0\n")
        with pytest.raises(CannotPackage, match=r"some\.lock has no hash of msgspec; run \./dev lock"):
            list_python_parts(lock)

    @pytest.mark.slow
    def test_it_follows_the_schema_of_cyclonedx(self, written: tuple[Path, Path]) -> None:
        assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(written[0].read_text()) is None

    @pytest.mark.parametrize(
        ("old", "new"), [('"SHA-256"', '"SHA-265"'), ('"type": "library"', '"type": "libary"'), ('"purl"', '"purls"')]
    )
    def test_the_schema_notices_a_mistake(self, written: tuple[Path, Path], old: str, new: str) -> None:
        wrong = written[0].read_text().replace(old, new, 1)
        assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(wrong) is not None

    @pytest.mark.slow
    def test_it_is_the_same_when_it_is_written_again(self, written: tuple[Path, Path], tmp_path: Path) -> None:
        assert [path.read_bytes() for path in describe_parts(tmp_path, WHEN)] == [path.read_bytes() for path in written]


class TestLicences:
    def test_the_list_has_a_licence_for_each_package(self, written: tuple[Path, Path]) -> None:
        lines = written[1].read_text().splitlines()[2:]
        assert {" ".join(line.split()[1:3]) for line in lines} == used_packages()
        assert all(re.fullmatch(r"[A-Z][\w.-]+( (AND|OR) [A-Z][\w.-]+)*", line.split(maxsplit=3)[3]) for line in lines)

    def test_a_package_without_an_exact_licence_is_refused(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        info = tmp_path / "vague-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: vague\nVersion: 1.0\nLicense: free as in beer\n")
        monkeypatch.syspath_prepend(tmp_path)
        with pytest.raises(CannotPackage, match="the metadata of vague name no SPDX licence"):
            find_licence("vague")

    def test_a_package_that_is_not_installed_is_refused(self) -> None:
        with pytest.raises(CannotPackage, match="not installed"):
            find_licence("no-such-package")


class TestNeeded:
    def test_an_extra_adds_its_packages(self) -> None:
        assert "psycopg-binary" not in find_needed(["psycopg>=3.2"])
        assert "psycopg-binary" in find_needed(["psycopg[binary]>=3.2"])["psycopg"]

    def test_a_requirement_of_another_system_is_left_out(self) -> None:
        assert find_needed(["tzdata; sys_platform == 'no such system'"]) == {}
