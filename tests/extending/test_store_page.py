"""docs/extending/store.md: its code is applied to a copy of the source and run."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from support.extending import copy_package

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "extending" / "store.md"
TYPES = ROOT / ".dev" / "types-of-store-page"
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_FILE = re.compile(r"^(?:New file|.*Change) `src/(\S+)`:$", re.MULTILINE)

COMPARE = """
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import create_engine
from domogate.stores import SqlStore
from domogate.stores.tables.all_tables import metadata
with create_engine("sqlite:///announcements.sqlite3").connect() as connection:
    options = {"include_object": lambda _item, name, *_: name != "ix_changes_plant_id_cursor"}
    print(compare_metadata(MigrationContext.configure(connection, opts=options), metadata))
"""
"""Alembic does not know that only PostgreSQL has this index."""

REFERENCE = """
from domogate.stores import SqlStore
from domogate.stores.migrate import SQLITE_TABLES, print_sqlite_tables
SQLITE_TABLES.write_text(print_sqlite_tables())
"""
"""The part of `./dev reference` that the page needs."""

CHECKED = """
from domogate.ports import Store
from domogate.stores import SqlStore
def check(store: SqlStore) -> Store:
    return store
"""


def change(text: str, diff: str) -> str:
    lines = diff.splitlines(keepends=True)
    before = "".join(line[1:] for line in lines if not line.startswith("+"))
    after = "".join(line[1:] for line in lines if not line.startswith("-"))
    assert text.count(before) == 1, f"not found once:\n{before}"
    return text.replace(before, after)


class ExtendedPackage:
    """A copy of the package with the code of the page."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.new: set[str] = set()
        self.changed: set[str] = set()
        copy_package(folder / "domogate")
        page = PAGE.read_text()
        for block in _BLOCK.finditer(page):
            kind, code = block.groups()
            names = _FILE.findall(page, 0, block.start())
            path = folder / names[-1] if names else folder
            if kind == "python" and "asyncio.run(main())" in code:
                (folder / "program.py").write_text(code)
            elif kind == "python":
                assert not path.exists(), f"{names[-1]} already exists"
                path.write_text(code)
                self.new.add(names[-1])
            elif kind == "diff":
                path.write_text(change(path.read_text(), code))
                self.changed.add(names[-1])
            else:
                self.output = code
        self.run("-c", REFERENCE)

    def run(self, *arguments: str) -> str:
        environment = {**os.environ, "PYTHONPATH": str(self.folder)}
        done = subprocess.run(
            [sys.executable, *arguments], cwd=self.folder, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture(scope="module")
def extended(tmp_path_factory: pytest.TempPathFactory) -> ExtendedPackage:
    return ExtendedPackage(tmp_path_factory.mktemp("extended"))


def test_the_program_prints_what_the_page_says(extended: ExtendedPackage) -> None:
    assert extended.run("program.py") == extended.output
    assert extended.run("-c", COMPARE) == "[]\n"


def test_the_types_are_right(extended: ExtendedPackage) -> None:
    """`SqlStore` is still a `Store`. mypy keeps what it knows about unchanged files for the next run of the tests."""
    (extended.folder / "checked.py").write_text(CHECKED)
    extended.run("-m", "mypy", "--strict", "--cache-dir", str(TYPES), "checked.py")


def test_it_touches_as_many_files_as_the_page_says(extended: ExtendedPackage) -> None:
    new, changed = len(extended.new), len(extended.changed)
    assert f"You add {new} new files and change {changed} files. `./dev reference` changes one more file." in PAGE.read_text()
