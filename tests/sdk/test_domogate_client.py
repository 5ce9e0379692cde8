"""The Python client calls every operation of a real gateway, blocking and awaiting, and its generated files are up to date."""

import ast
import sys
from pathlib import Path

import pytest

from client_generator.__main__ import PACKAGE, find_generated, generate
from support.client_calls import call_all_awaiting, call_all_blocking
from support.client_matrix import AWAITING, BLOCKING, PAGE, called_in, row_of, shown
from support.client_operations import every_operation
from support.sdk_demo import SdkDemo


class TestGeneratedFiles:
    def test_they_are_as_the_generator_writes_them(self) -> None:
        files = generate()
        assert find_generated() == files.keys()
        assert [path.name for path, text in files.items() if path.read_text() != text] == [], "run ./dev clients"


class TestPackage:
    def test_it_imports_only_the_standard_library_httpx_and_msgspec(self) -> None:
        imported = {name for path in PACKAGE.rglob("*.py") for name in _imports_of(path)}
        assert imported - sys.stdlib_module_names == {"domogate_client", "httpx", "msgspec"}


def _imports_of(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0
            assert node.module is not None
            found.add(node.module.partition(".")[0])
    return found


class TestTableOfCalls:
    """docs/clients.md says which operations the tests call."""

    def test_it_has_every_operation_with_its_request(self) -> None:
        text = PAGE.read_text()
        assert [row for row in map(row_of, every_operation().values()) if row not in text] == []
        assert shown().keys() == every_operation().keys()

    @pytest.mark.slow
    def test_the_blocking_client_calls_what_its_column_says(self, sdk_demo: SdkDemo) -> None:
        assert call_all_blocking(sdk_demo) == called_in(BLOCKING) == every_operation().keys()

    @pytest.mark.slow
    async def test_the_awaiting_client_calls_what_its_column_says(self, sdk_demo: SdkDemo) -> None:
        assert await call_all_awaiting(sdk_demo) == called_in(AWAITING) == every_operation().keys()
