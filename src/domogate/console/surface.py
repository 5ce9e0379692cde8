"""The ASGI app of the pages: the shell for every page, and the files that it loads."""

from collections.abc import Awaitable, Callable
from functools import cached_property
from typing import Any

from domogate.common.http_messages import request_of, send_answer
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
"""The first segments of the paths that show a page. Paths with the same first segment get the same answer; the script in the
browser chooses the page by the whole path (`web/src/app/router.ts`).
"""
PATHS = PAGE_PATHS | {path.strip("/") for path in (ASSETS, LOGO, ICON, WEB_MANIFEST, *PNG_ICONS)}

_OPERATION = "domogate.operation"
_PAGE_HEADERS = make_page_headers()
# With this policy, an image of the operator cannot run a script, even if somebody opens the image alone.
_IMAGE_POLICY = {"content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox"}


class PagesApp:
    """Serves the pages. A request for any other path goes to the ASGI app `otherwise`."""

    def __init__(self, build: Build | None, identity: Identity, otherwise: ASGIApp, is_new: IsNew | None = None) -> None:
        """If `build` is None, every page says how to build the pages. `is_new` says whether the gateway has no operator yet."""
        self._build = build
        self._identity = identity
        self._is_new = is_new
        self._assets = {} if build is None else build.files
        self._otherwise = otherwise

    # The files are made at the first request: compressing them would delay the start.

    @cached_property
    def _shells(self) -> dict[str, File]:
        build = self._build
        return {} if build is None else {path: make_shell(build, self._identity, path) for path in PAGE_PATHS}

    @cached_property
    def _door_of_new(self) -> File | None:
        return None if self._build is None else make_shell(self._build, self._identity, "", is_new=True)

    @cached_property
    def _not_built(self) -> bytes:
        return make_not_built(self._identity)

    @cached_property
    def _files(self) -> dict[str, File]:
        return make_identity_files(self._identity)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        scope[_OPERATION] = "pages"
        answer = self._find(scope["path"])
        if answer is None:
            await self._otherwise(scope, receive, send)
            return
        if scope["method"] not in ("GET", "HEAD"):
            await send_answer(send, refuse_method())
            return
        file, headers = answer
        if scope["path"] == "/" and self._is_new is not None and await self._is_new():
            file = self._door_of_new
        request = request_of(scope, receive)
        await send_answer(send, answer_not_built(self._not_built) if file is None else answer_file(request, file, headers))

    def _find(self, path: str) -> tuple[File | None, dict[str, str]] | None:
        """Return the file of a path with its headers, or None if the path does not belong to the pages.

        The file of a page is None if the pages are not built.
        """
        if path in self._assets:
            return self._assets[path], {"cache-control": IMMUTABLE}
        if path in self._files:
            policy = _IMAGE_POLICY if path in (LOGO, ICON, *PNG_ICONS) else {}
            return self._files[path], {"cache-control": CHECKED, **policy}
        first = path[1:].split("/", 1)[0]
        if first in PAGE_PATHS and not path.startswith("//"):
            return self._shells.get(first), {"cache-control": CHECKED, **_PAGE_HEADERS}
        return None
