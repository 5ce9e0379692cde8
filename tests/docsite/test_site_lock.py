"""requirements-site.lock has all packages of the build of the site, because the image installs nothing else for it."""

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import distributions, entry_points
from pathlib import Path

from packaging.utils import canonicalize_name

from docsite.building import ROOT
from domogate.cli import _units
from domogate.console import site_manifest
from release.dependencies import find_needed, read_lock

LOCK = read_lock(ROOT / "requirements-site.lock")
DOCSITE = ROOT / "docsite"
FILES = [*DOCSITE.glob("*.py"), Path(site_manifest.__file__), Path(_units.__file__)]
"""The Python files of the build. `docsite/reference` is no part of it."""


def list_modules(path: Path) -> Iterator[str]:
    """The modules that a file imports, or starts as a program with `-m`."""
    text = path.read_text()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield (node.module or "").partition(".")[0]
    yield from re.findall(r'"-m", "(\w+)"', text)


class TestSiteLock:
    def test_it_has_the_packages_of_the_group_site_and_all_that_these_need(self) -> None:
        declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["dependency-groups"]["site"]
        needed = find_needed(declared)
        assert len(needed) > len(declared)
        assert needed.keys() - LOCK.keys() == set()

    def test_it_has_the_packages_of_all_imports_and_programs_of_docsite(self) -> None:
        modules = {name for path in FILES for name in list_modules(path)} - sys.stdlib_module_names - {"docsite", "domogate"}
        assert {"mkdocs", "mmdr", "msgspec"} <= modules
        locked = [one for one in distributions() if canonicalize_name(one.name) in LOCK]
        assert modules - {file.parts[0].removesuffix(".py") for one in locked for file in one.files or ()} == set()

    def test_it_has_the_theme_and_the_plugins_of_the_site(self) -> None:
        settings = (ROOT / "mkdocs.yml").read_text()
        themes = re.findall(r"^theme:\n  name: (\w+)", settings, re.MULTILINE)
        plugins = re.findall(r"^  - (\w+)", settings.partition("\nplugins:\n")[2].partition("\n\n")[0], re.MULTILINE)
        assert themes
        assert plugins
        for group, names in (("mkdocs.themes", themes), ("mkdocs.plugins", plugins)):
            for name in names:
                (found,) = entry_points(group=group, name=name)
                assert found.dist is not None
                assert canonicalize_name(found.dist.name) in LOCK

    def test_its_versions_are_those_of_development(self) -> None:
        development = read_lock(ROOT / "requirements-dev.lock")
        assert {name: version for name, version in LOCK.items() if development.get(name) != version} == {}
