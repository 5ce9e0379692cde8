"""Builds the site with MkDocs, if its sources have changed since the last build."""

import hashlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from fcntl import LOCK_EX, flock
from pathlib import Path

from docsite.deploy_files import list_sources
from docsite.outside import COPIED
from docsite.packing import INPUTS, pack
from domogate.console.site_manifest import SITE

ROOT = Path(__file__).resolve().parents[1]
_DEADLINE = 600.0


class CannotBuild(Exception):
    """The site cannot be built. The message has the warnings of MkDocs."""


def build(target: Path = SITE) -> bool:
    """Build the site into `target`. Return False if the site there is up to date."""
    folder = ROOT / ".dev"
    folder.mkdir(exist_ok=True)
    with (folder / "site.lock").open("w") as lock:
        flock(lock, LOCK_EX)  # Processes that run tests may want to build at the same time.
        inputs = hash_inputs()
        known = target / INPUTS
        if known.is_file() and known.read_text() == inputs:
            return False
        with tempfile.TemporaryDirectory(prefix="domogate-site-") as made:
            run_mkdocs(ROOT / "mkdocs.yml", Path(made))
            pack(Path(made), target, inputs)
        return True


def run_mkdocs(config: Path, folder: Path) -> None:
    """Run MkDocs. Raises CannotBuild for each warning too: for example a link to a heading that does not exist."""
    told = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--config-file", config, "--site-dir", folder],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'src'}", "NO_MKDOCS_2_WARNING": "1", "SOURCE_DATE_EPOCH": "0"},
        capture_output=True,
        text=True,
        check=False,
        timeout=_DEADLINE,
    )
    if told.returncode:
        raise CannotBuild(f"{told.stdout}{told.stderr}")


def hash_inputs() -> str:
    """Return a hash of all files from which the site is built."""
    digest = hashlib.sha256()
    for path in _list_inputs():
        content = path.read_bytes()
        digest.update(f"{path.relative_to(ROOT)}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()


def _list_inputs() -> Iterator[Path]:
    yield from (ROOT / "mkdocs.yml", ROOT / "requirements-site.lock", *(ROOT / source for source in COPIED))
    yield from list_sources(ROOT)
    yield ROOT / "src" / "domogate" / "cli" / "_units.py"
    for folder in ("docs", "docsite"):
        yield from sorted(path for path in (ROOT / folder).rglob("*") if path.is_file() and "__pycache__" not in path.parts)
