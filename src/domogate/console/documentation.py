"""The documentation at `/docs`: the web pages that `./dev site` builds from `docs/` (Decision 0134)."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from domogate.common.http_messages import Answer, Request, request_of, send_answer
from domogate.common.log import get_logger
from domogate.console.answers import CHECKED, answer_file, answer_not_built, make_page_headers, redirect, refuse_method
from domogate.console.files import File
from domogate.console.site_manifest import MANIFEST, SITE, SiteManifest

PREFIX = "/docs"
START_PAGE = "index.html"
NOT_FOUND_PAGE = "404.html"

_OPERATION = "domogate.operation"

_log = get_logger(__name__)


class Site:
    """The built documentation. A file is read when it is first requested, because most gateways are never asked for it.

    The manifest is the list of all files of the documentation. A request can get only a file that is in this list.
    """

    def __init__(self, folder: Path, manifest: SiteManifest) -> None:
        self._folder = folder
        self._manifest = manifest
        self._read: dict[str, File] = {}
        self.page_headers = make_page_headers(manifest.scripts)

    def has(self, path: str) -> bool:
        return path in self._manifest.files

    def find_page(self, path: str) -> str | None:
        """Return the path of the page for a path without `.html`, or for the path of a source file (`.md`). None if there is no
        page.
        """
        name = path.removesuffix("/").removesuffix(".md")
        return next((page for page in (f"{name}.html", f"{name}/index.html") if self.has(page)), None)

    def read(self, path: str) -> File:
        """Return a file that the manifest of the documentation lists. Raises OSError if the file is missing."""
        if path not in self._read:
            entry = self._manifest.files[path]
            content = (self._folder / f"{path}.gz").read_bytes()
            self._read[path] = File(entry.media_type, entry.etag, content, None)
        return self._read[path]


def load_site(folder: Path = SITE) -> Site | None:
    """Read the manifest of the documentation. Returns None if the documentation is not built or its manifest cannot be read."""
    try:
        manifest = msgspec.json.decode((folder / MANIFEST).read_bytes(), type=SiteManifest)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.MsgspecError) as error:
        _log.error("the documentation cannot be read, so /docs does not show it", folder=str(folder), reason=str(error))
        return None
    return Site(folder, manifest)


class DocumentationApp:
    """Serves the documentation below `/docs/`. If the documentation is not built, a page says how to build it."""

    def __init__(self, not_built: bytes, load: Callable[[], Site | None] = load_site) -> None:
        self._not_built = not_built
        self._load = load
        self._site: Site | None = None

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        scope[_OPERATION] = "documentation"
        is_read = scope["method"] in ("GET", "HEAD")
        await send_answer(send, await self._answer(request_of(scope, receive), scope["path"]) if is_read else refuse_method())

    async def _answer(self, request: Request, path: str) -> Answer:
        if path == PREFIX:  # The links of the start page are relative to /docs/.
            return redirect(308, f"{PREFIX}/")
        try:
            return await asyncio.to_thread(self._find, request, path.removeprefix(f"{PREFIX}/") or START_PAGE)
        except OSError as error:
            _log.error("a file of the documentation cannot be read", path=path[:200], reason=str(error))
            return answer_not_built(self._not_built)

    def _find(self, request: Request, path: str) -> Answer:
        site = self._site = self._site or self._load()
        if site is None:
            return answer_not_built(self._not_built)
        headers = {"cache-control": CHECKED, **site.page_headers}
        if site.has(path):
            return answer_file(request, site.read(path), headers)
        if (page := site.find_page(path)) is not None:
            return redirect(307, f"{PREFIX}/{page}", {"cache-control": CHECKED})
        return answer_file(request, site.read(NOT_FOUND_PAGE), headers, 404)
