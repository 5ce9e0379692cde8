"""The table of docs/clients.md: which operations the tests call with which client.

    cd tests && PYTHONPATH=../clients:../clients/python/src ../.dev/venv/bin/python -m support.client_matrix

calls every operation and writes the columns of the Python client again.
"""

import asyncio
import tempfile
from pathlib import Path

from client_generator.documents import Described, Documents
from support.client_calls import call_all_awaiting, call_all_blocking
from support.markdown import section, tables
from support.sdk_demo import open_sdk_demo

PAGE = Path(__file__).parents[2] / "docs" / "clients.md"
HEADING = "Which operations the tests call"
BLOCKING, AWAITING, TYPESCRIPT = "Python, `Client`", "Python, `AsyncClient`", "TypeScript"
_BEGIN, _END = "<!-- table -->", "<!-- end of table -->"


def every_operation() -> dict[str, Described]:
    documents = Documents()
    return {one.name: one for document in documents.by_name for one in documents.operations(document)}


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


def print_table(blocking: set[str], awaiting: set[str], typescript: set[str]) -> str:
    lines = [f"| operation | request | {BLOCKING} | {AWAITING} | {TYPESCRIPT} |", "|---|---|---|---|---|"]
    for name, operation in every_operation().items():
        marks = ["yes" if name in called else "-" for called in (blocking, awaiting, typescript)]
        lines.append(f"{row_of(operation)} {' | '.join(marks)} |")
    return "\n".join(lines)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, open_sdk_demo(Path(folder)) as demo:
        blocking = call_all_blocking(demo)
    with tempfile.TemporaryDirectory() as folder, open_sdk_demo(Path(folder)) as demo:
        awaiting = asyncio.run(call_all_awaiting(demo))
    page = PAGE.read_text()
    before, after = page.split(_BEGIN)[0], page.split(_END)[1]
    table = print_table(blocking, awaiting, called_in(TYPESCRIPT))
    PAGE.write_text(f"{before}{_BEGIN}\n{table}\n{_END}{after}")


if __name__ == "__main__":
    main()
