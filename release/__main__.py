"""`./dev package`: writes the packages of a release to dist/. With `--check`, also installs and tries them."""

import argparse
import sys
from datetime import datetime
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from domogate import __version__
from release.bill_of_materials import write_bill
from release.building import ROOT, CannotPackage, build, list_uncommitted, time_of_last_commit, write_hashes
from release.checking import check
from release.dependencies import find_needed, read_declared
from release.licences import list_documentation_parts, list_page_parts, list_python_parts, write_list
from release.npm import build_npm

_EXTRAS = ("cluster", "otel", "postgres")
"""The extras whose packages are in requirements.lock."""


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def describe_parts(target: Path, when: datetime) -> list[Path]:
    """Write the bill of materials and the list of licences. Return both files."""
    documentation = list_documentation_parts(ROOT / "requirements-dev.lock")
    python = list_python_parts(ROOT / "requirements.lock")
    parts = [*python, *documentation, *list_page_parts(ROOT / "web" / "package-lock.json")]
    declared = read_declared(ROOT / "pyproject.toml", _EXTRAS)
    direct = {canonicalize_name(Requirement(line).name) for line in declared} | {one.name for one in documentation}
    bill, licences = target / f"domogate-{__version__}.cdx.json", target / f"domogate-{__version__}.licences.txt"
    bill.write_bytes(write_bill(__version__, when, parts, find_needed(declared), direct))
    licences.write_text(write_list(parts))
    return [bill, licences]


def parse_arguments(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="./dev package", description=__doc__, allow_abbrev=False)
    parser.add_argument(
        "--check", action="store_true", help="build twice, install with hashes into a new environment, and run the demo"
    )
    parser.add_argument("--out", type=Path, default=ROOT / "dist", metavar="DIR", help="folder for the files (dist)")
    return parser.parse_args(words)


def main() -> int:
    arguments = parse_arguments(sys.argv[1:])
    try:
        if list_uncommitted() and not arguments.check:
            say("Some changes are not committed. Do not publish these packages.")
        when = time_of_last_commit()
        packages = [*build(ROOT, arguments.out, when), build_npm(ROOT, arguments.out)]
        files = [*packages, *describe_parts(arguments.out, when)]
        files.append(write_hashes(files, arguments.out))
        if arguments.check:
            check(packages, when, say)
    except CannotPackage as problem:
        sys.stderr.write(f"./dev package: {problem}\n")
        return 1
    for file in files:
        say(str(file))
    return 0


if __name__ == "__main__":
    sys.exit(main())
