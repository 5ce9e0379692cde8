"""The table of docs/clients.md: which operations the tests call with which client.

    cd tests && PYTHONPATH=../clients:../clients/python/src ../.dev/venv/bin/python -m support.client_matrix

calls every operation with every client and writes the table again.
"""

import asyncio
import tempfile
from collections.abc import Callable
from pathlib import Path

from client_generator.documents import Described
from support.client_calls import call_all_awaiting, call_all_blocking
from support.client_operations import every_operation
from support.markdown import section, tables
from support.sdk_demo import SdkDemo, open_sdk_demo
from support.typescript_client import build_package, call_all_in_chromium, call_all_in_node

PAGE = Path(__file__).parents[2] / "docs" / "clients.md"
HEADING = "Which operations the tests call"
BLOCKING, AWAITING, NODE, CHROMIUM = "Python, `Client`", "Python, `AsyncClient`", "TypeScript, Node", "TypeScript, Chromium"
_BEGIN, _END = "<!-- table -->", "<!-- end of table -->"


def shown() -> dict[str, dict[str, str]]:
    """The rows of the table, by the name of the operation."""
    (table,) = tables(section(PAGE.read_text(), HEADING))
    return {row["operation"].split("`")[1]: row for row in table}


def called_in(column: str) -> set[str]:
    return {name for name, row in shown().items() if row[column] == "yes"}


def row_of(operation: Described) -> str:
    """The first two cells of a row: the names of the operation, and its request."""
    mark = operation.schema.get("x-operation")
    return f"| `{operation.name}`{f' ({mark})' if mark else ''} | `{operation.method} {operation.path}` |"


def print_table(called: dict[str, set[str]]) -> str:
    """The table. `called` has the names of the called operations by column."""
    lines = [f"| operation | request | {' | '.join(called)} |", "|---" * (len(called) + 2) + "|"]
    for name, operation in every_operation().items():
        marks = ["yes" if name in column else "-" for column in called.values()]
        lines.append(f"{row_of(operation)} {' | '.join(marks)} |")
    return "\n".join(lines)


def call_all(act: Callable[[SdkDemo, Path], set[str]]) -> set[str]:
    """Call every operation of a new gateway."""
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as package, open_sdk_demo(Path(folder)) as demo:
        return act(demo, Path(package))


def main() -> None:
    called = {
        BLOCKING: call_all(lambda demo, _: call_all_blocking(demo)),
        AWAITING: call_all(lambda demo, _: asyncio.run(call_all_awaiting(demo))),
        NODE: call_all(lambda demo, folder: call_all_in_node(demo, build_package(folder))),
        CHROMIUM: call_all(lambda demo, folder: call_all_in_chromium(demo, build_package(folder))),
    }
    page = PAGE.read_text()
    before, after = page.split(_BEGIN)[0], page.split(_END)[1]
    PAGE.write_text(f"{before}{_BEGIN}\n{print_table(called)}\n{_END}{after}")


if __name__ == "__main__":
    main()
