"""The ASGI app of the pages: the shell for every page, and the files that it loads."""

from collections.abc import Awaitable, Callable
from typing import Any

from starlette.requests import Request

from domogate.console.answers import CHECKED, IMMUTABLE, answer_file, answer_not_built, make_page_headers, refuse_method
from domogate.console.files import ASSETS, Build, File
from domogate.console.shell import (
    ICON,
    LOGO,
    PNG_ICONS,
    WEB_MANIFEST,
    Identity,
    make_identity_files,
    make_not_built,
    make_shell,
)

ASGIApp = Callable[[Any, Any, Any], Awaitable[None]]

IsNew = Callable[[], Awaitable[bool]]

PAGE_PATHS = frozenset(("", "homes", "console", "developers", "signed-in"))
"""The first segment of the paths that show a page. The script chooses the page: `web/src/app/router.ts`."""
PATHS = PAGE_PATHS | {path.strip("/") for path in (ASSETS, LOGO, ICON, WEB_MANIFEST, *PNG_ICONS)}

_OPERATION = "domogate.operation"
_PAGE_HEADERS = make_page_headers()
# With this policy, an image of the operator cannot run a script, even if somebody opens the image alone.
_IMAGE_POLICY = {"content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox"}


class PagesApp:
    """Serves the pages. A request for any other path goes to the ASGI app `otherwise`."""

    def __init__(self, build: Build | None, identity: Identity, otherwise: ASGIApp, is_new: IsNew | None = None) -> None:
        """If `build` is None, every page says how to build the pages. `is_new` says whether the gateway has no operator yet."""
        self._shells = {} if build is None else {path: make_shell(build, identity, path) for path in PAGE_PATHS}
        self._door_of_new = None if build is None else make_shell(build, identity, "", is_new=True)
        self._is_new = is_new
        self._not_built = make_not_built(identity)
        self._assets = {} if build is None else build.files
        self._files = make_identity_files(identity)
        self._otherwise = otherwise

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        scope[_OPERATION] = "pages"
        answer = self._find(scope["path"])
        if answer is None:
            await self._otherwise(scope, receive, send)
            return
        request = Request(scope)
        if scope["method"] not in ("GET", "HEAD"):
            await refuse_method()(scope, receive, send)
            return
        file, headers = answer
        if scope["path"] == "/" and self._is_new is not None and await self._is_new():
            file = self._door_of_new
        response = answer_not_built(self._not_built) if file is None else answer_file(request, file, headers)
        await response(scope, receive, send)

    def _find(self, path: str) -> tuple[File | None, dict[str, str]] | None:
        """Return the file of a path with its headers. The file is None if the pages are not built."""
        if path in self._assets:
            return self._assets[path], {"cache-control": IMMUTABLE}
        if path in self._files:
            policy = _IMAGE_POLICY if path in (LOGO, ICON, *PNG_ICONS) else {}
            return self._files[path], {"cache-control": CHECKED, **policy}
        first = path[1:].split("/", 1)[0]
        if first in PAGE_PATHS and not path.startswith("//"):
            return self._shells.get(first), {"cache-control": CHECKED, **_PAGE_HEADERS}
        return None
