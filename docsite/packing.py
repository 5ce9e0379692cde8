"""Packs a built site for the gateway: compressed files, and a manifest with their types, ETags and the hashes of scripts."""

import base64
import gzip
import hashlib
import re
import shutil
from collections.abc import Iterable, Iterator
from importlib.metadata import files, version
from pathlib import Path

import msgspec

from domogate.console.site_manifest import MANIFEST, Entry, SiteManifest

_TEXT = "text/plain; charset=utf-8"
"""The type of the files of `deploy/`, of which some have no suffix."""
_MEDIA_TYPES = {
    ".css": "text/css",
    ".gz": "application/gzip",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript",
    ".json": "application/json",
    ".png": "image/png",
    ".py": _TEXT,
    ".svg": "image/svg+xml",
    ".txt": _TEXT,
}
# Source maps, the languages of the search other than English, and a map of the site for search engines.
_LEFT_OUT = re.compile(r".*\.map|assets/javascripts/lunr/.*|assets/images/favicon\.png|sitemap\.xml(\.gz)?")
_INLINE_SCRIPT = re.compile(r"<script>(.*?)</script>", re.DOTALL)
INPUTS = "inputs"
"""The file with the hash of the sources. It says whether the site is up to date."""
_PACKAGE = "mkdocs-material"
"""The package whose code and icons are in the site."""
_LICENCE = re.compile(r"(\.dist-info/|\.icons/material/).*LICENSE$")


def pack(site: Path, target: Path, inputs: str) -> None:
    """Write the files of the site and the hash of its sources (`inputs`) to `target`. The folder is replaced as a whole."""
    fresh = target.with_name(f"{target.name}.new")
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir(parents=True)
    (site / "licences.txt").write_text(_collect_licences())
    entries: dict[str, Entry] = {}
    scripts: set[str] = set()
    for path, content in _read(site):
        entries[path] = Entry(_choose_media_type(path), hashlib.sha256(content).hexdigest()[:20])
        packed = fresh / f"{path}.gz"
        packed.parent.mkdir(parents=True, exist_ok=True)
        packed.write_bytes(gzip.compress(content, mtime=0))
        if path.endswith(".html"):
            scripts.update(hash_inline_scripts(content.decode()))
    manifest = SiteManifest(tuple(sorted(scripts)), entries)
    (fresh / MANIFEST).write_bytes(msgspec.json.format(msgspec.json.encode(manifest), indent=1))
    (fresh / INPUTS).write_text(inputs)
    shutil.rmtree(target, ignore_errors=True)
    fresh.rename(target)


def _choose_media_type(path: str) -> str:
    """Raises KeyError for an unknown suffix: the type of such a file must be decided."""
    suffix = Path(path).suffix
    return _TEXT if path.startswith("deploy/") and suffix not in _MEDIA_TYPES else _MEDIA_TYPES[suffix]


def _read(site: Path) -> Iterator[tuple[str, bytes]]:
    for path in sorted(site.rglob("*")):
        name = path.relative_to(site).as_posix()
        if path.is_file() and not _LEFT_OUT.fullmatch(name):
            yield name, path.read_bytes()


def hash_inline_scripts(page: str) -> Iterable[str]:
    """Return the hash of each inline script of a page, as a content security policy names it."""
    for script in _INLINE_SCRIPT.findall(page):
        yield f"sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}"


def _collect_licences() -> str:
    """Return the licences of the packages whose code is in the site. Their text must be distributed together with the code."""
    licences = [file for file in files(_PACKAGE) or () if _LICENCE.search(file.as_posix())]
    title = f"{_PACKAGE} {version(_PACKAGE)}"
    return f"\n{'-' * 80}\n\n".join(f"{title}: {file.parent.name}\n\n{file.read_text()}" for file in licences)
