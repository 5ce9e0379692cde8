"""`./dev reference`: write the generated pages and tables again. With `--check`, only say which pages differ.

It also writes the SQL file with the tables of a new SQLite database.
"""

import argparse
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from docsite.building import ROOT
from docsite.reference.api import write_api_page
from docsite.reference.cli import write_cli_page
from docsite.reference.errors import write_faults
from docsite.reference.helm import write_values_page
from docsite.reference.metrics import write_metrics
from docsite.reference.parts import Writer, write_parts
from docsite.reference.settings import list_setting_tables
from domogate.stores.migrate import SQLITE_TABLES, print_sqlite_tables

PAGES: dict[Path, Callable[[], str]] = {
    Path("docs/api.md"): write_api_page,
    Path("docs/cli-reference.md"): write_cli_page,
    Path("docs/helm-values.md"): write_values_page,
    SQLITE_TABLES.relative_to(ROOT): print_sqlite_tables,
}
"""The pages and other files that are wholly made from the code."""
TABLES: dict[Path, Mapping[str, Writer]] = {
    Path("docs/settings.md"): list_setting_tables(),
    Path("docs/metrics.md"): {"metrics": write_metrics},
    Path("docs/errors.md"): {"faults": write_faults},
}
"""The pages that people write, with the tables that are made from the code."""


def main(arguments: list[str], root: Path = ROOT) -> int:
    """Write or check the pages below `root`. Return 1 if a checked page differs from the code."""
    parser = argparse.ArgumentParser(prog="./dev reference", description=__doc__)
    parser.add_argument("--check", action="store_true", help="only say which pages differ")
    only_check = parser.parse_args(arguments).check
    texts = {root / path: write() for path, write in PAGES.items()}
    for path, writers in TABLES.items():
        texts[root / path] = write_parts((root / path).read_text(encoding="utf-8"), writers)
    changed = [path for path, text in texts.items() if not path.is_file() or path.read_text(encoding="utf-8") != text]
    for path in changed:
        if only_check:
            sys.stdout.write(f"{path.relative_to(root)} differs; run ./dev reference\n")
        else:
            path.write_text(texts[path], encoding="utf-8")
    return 1 if only_check and changed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
