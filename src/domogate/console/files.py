"""The built files of the pages. They are read once, at the start: no path of a request reaches the file system."""

import gzip
import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from domogate.common.log import get_logger

STATIC = Path(__file__).parent / "static"
ASSETS = "/assets/"

_MEDIA_TYPES = {".js": "text/javascript", ".css": "text/css"}
"""The media types of the files that `web/build.mjs` makes, by the end of their names."""

_log = get_logger(__name__)


class Manifest(msgspec.Struct, frozen=True):
    """The content of `build.json`, which `web/build.mjs` writes."""

    version: str
    script: str
    style: str
    first: tuple[str, ...]
    """The scripts that a browser needs before it shows anything."""
    areas: dict[str, tuple[str, ...]]
    """The scripts that the pages of each area need in addition to the scripts in `first`."""
    files: tuple[str, ...]


class File(msgspec.Struct, frozen=True):
    """A file in compressed form. To compress it for each request would take too much time.

    Nearly all clients accept a compressed file, so the plain form is not kept. For all other clients the file is decompressed.
    """

    media_type: str
    etag: str
    gzip: bytes
    brotli: bytes | None

    def encode(self, accepted: str) -> tuple[bytes, str | None]:
        """Return the bytes of the file and their content coding, such as `gzip`. `accepted` is the header Accept-Encoding.

        If the client accepts no coding that the file has, return the plain bytes and None.
        """
        codings = accepted_codings(accepted)
        if self.brotli is not None and "br" in codings:
            return self.brotli, "br"
        if "gzip" in codings:
            return self.gzip, "gzip"
        return gzip.decompress(self.gzip), None


def accepted_codings(header: str) -> frozenset[str]:
    """Return the content codings of an Accept-Encoding header (RFC 9110 §12.5.3), without the codings with weight 0."""
    found = set()
    for part in header[:1000].split(","):
        coding, _, weight = part.partition(";")
        if weight.replace(" ", "").rstrip("0").rstrip(".") not in ("q=", "q=0"):
            found.add(coding.strip().lower())
    return frozenset(found)


def make_file(content: bytes, media_type: str) -> File:
    return File(media_type, hashlib.sha256(content).hexdigest()[:20], gzip.compress(content, mtime=0), None)


class Build(msgspec.Struct, frozen=True):
    """One build of the pages: its manifest and its files."""

    manifest: Manifest
    files: dict[str, File]
    """The files of the build, by the path of their URL."""

    @property
    def script_url(self) -> str:
        return ASSETS + self.manifest.script

    @property
    def style_url(self) -> str:
        return ASSETS + self.manifest.style

    def list_preloaded(self, area: str) -> Sequence[str]:
        """Return the URLs of the scripts that the browser can load immediately for a page of the area.

        So the browser need not first load the scripts that import them.
        """
        names = (*self.manifest.first, *self.manifest.areas.get(area, ()))
        return [ASSETS + name for name in names if name != self.manifest.script]


def load_build(folder: Path = STATIC) -> Build | None:
    """Read the built files. Returns None if the pages are not built, or if one of their files is missing or cannot be read."""
    try:
        manifest = msgspec.json.decode((folder / "build.json").read_bytes(), type=Manifest)
        files = dict(_read_files(folder, manifest.files))
    except FileNotFoundError:
        return None
    except (OSError, KeyError, msgspec.MsgspecError) as error:
        _log.error("the built pages cannot be read, so / does not show them", folder=str(folder), reason=str(error))
        return None
    return Build(manifest, files)


def _read_files(folder: Path, names: Iterable[str]) -> Iterable[tuple[str, File]]:
    """Read the compressed files. Each name contains a hash of the content, so the name is also the ETag."""
    for name in names:
        media_type = _MEDIA_TYPES[Path(name).suffix]
        packed, brotli = ((folder / f"{name}{suffix}").read_bytes() for suffix in (".gz", ".br"))
        yield ASSETS + name, File(media_type, name, packed, brotli)
