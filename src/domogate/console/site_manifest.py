"""The list of the files of the documentation site. `docsite/` writes it, and the gateway reads it.

The build of the documentation imports this file. Of the packages that the gateway needs, only msgspec
is installed for this build. So this file may import only msgspec and the standard library.
"""

from pathlib import Path

import msgspec

SITE = Path(__file__).parent / "site"
MANIFEST = "site.json"


class Entry(msgspec.Struct, frozen=True):
    """A file of the documentation site: its type and its ETag, without its content."""

    media_type: str
    etag: str


class SiteManifest(msgspec.Struct, frozen=True):
    """The content of `site.json`, which `docsite/packing.py` writes."""

    scripts: tuple[str, ...]
    """The hashes of the inline scripts, as a content security policy names them."""
    files: dict[str, Entry]
    """The files by their paths below `/docs/`. Each file is stored in compressed form, with `.gz` after its path."""
