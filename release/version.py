"""`./dev version`: writes the version into all files that need it. With `--check`, only says which files differ.

The version is in one place: `__version__` in `src/domogate/__init__.py` (docs/releasing.md).
"""

import argparse
import re
import sys
from pathlib import Path
from typing import NamedTuple

from release.building import ROOT
from release.npm import convert_version

SOURCE = Path("src/domogate/__init__.py")
_VERSION = re.compile(r'^__version__ = "([^"]+)"$', re.MULTILINE)
_ALLOWED = re.compile(r"\d+\.\d+\.\d+(rc\d+|\.dev\d+)?")
_MANIFEST = Path("integrations/homeassistant/custom_components/domogate/manifest.json")
_CHART = Path("deploy/helm/domogate/Chart.yaml")


class Place(NamedTuple):
    """A line of a file that has the version after `before`, in the form of Python or of npm."""

    file: Path
    before: str
    is_npm: bool = False


PLACES = (
    Place(Path("clients/python/src/domogate_client/_version.py"), '__version__ = "'),
    Place(_CHART, "\nversion: ", is_npm=True),
    Place(_CHART, "\nappVersion: "),
    Place(_MANIFEST, '"domogate-client=='),
    Place(_MANIFEST, '"version": "'),
    Place(Path("docs/deployment.md"), "--build-arg VERSION="),
)


def read_version(root: Path = ROOT) -> str:
    """Return the version of the gateway in a checkout."""
    (version,) = _VERSION.findall((root / SOURCE).read_text())
    return str(version)


def write_source(version: str, root: Path = ROOT) -> None:
    """Write a new version to the one place. Raises ValueError if it is not a version of a release."""
    if not _ALLOWED.fullmatch(version):
        raise ValueError(f"write a version such as 0.2.0, 0.2.0rc1 or 0.2.0.dev0, not {version!r}.")
    path = root / SOURCE
    path.write_text(_VERSION.sub(f'__version__ = "{version}"', path.read_text()))


def find_changes(root: Path = ROOT) -> dict[Path, str]:
    """Return the new text of each file that has another version. Raises ValueError if a file does not have its line."""
    version = read_version(root)
    before = {place.file: (root / place.file).read_text() for place in PLACES}
    texts = dict(before)
    for place in PLACES:
        wanted = convert_version(version) if place.is_npm else version
        texts[place.file], count = re.subn(rf"({re.escape(place.before)})[0-9][\w.-]*", rf"\g<1>{wanted}", texts[place.file])
        if not count:
            raise ValueError(f"{place.file} has no version after {place.before.strip()!r}; correct the file or {__name__}.")
    return {file: text for file, text in texts.items() if text != before[file]}


def main(arguments: list[str], root: Path = ROOT) -> int:
    """Write or check the files below `root`. Return 1 if a checked file differs."""
    parser = argparse.ArgumentParser(prog="./dev version", description=__doc__, allow_abbrev=False)
    parser.add_argument("version", nargs="?", metavar="VERSION", help=f"write this version to {SOURCE} first")
    parser.add_argument("--check", action="store_true", help="only say which files differ")
    chosen = parser.parse_args(arguments)
    if chosen.check and chosen.version:
        parser.error("--check takes no version")
    try:
        if chosen.version:
            write_source(chosen.version, root)
        changes = find_changes(root)
    except ValueError as problem:
        sys.stderr.write(f"./dev version: {problem}\n")
        return 2
    for file, text in changes.items():
        if chosen.check:
            sys.stdout.write(f"{file} has another version; run ./dev version\n")
        else:
            (root / file).write_text(text)
            sys.stdout.write(f"{file}\n")
    return 1 if chosen.check and changes else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
