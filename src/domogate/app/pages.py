"""Builds the pages for people, and registers the OAuth client of the pages."""

import time
from functools import cache

from domogate import __version__
from domogate.common.log import get_logger
from domogate.console import files
from domogate.console.documentation import PREFIX, DocumentationApp
from domogate.console.shell import Demo, Identity, make_documentation_not_built, read_logo
from domogate.console.surface import PATHS, PagesApp
from domogate.edge.stack import ASGIApp, nothing_here
from domogate.ports import OperatorStore, Store, StoreTimeout
from domogate.services.people.pages_client import register_pages_client
from domogate.settings import Settings

_CHECK_SECONDS = 1.0

_log = get_logger(__name__)

load_build = cache(files.load_build)
"""Reads the built files of the pages. They do not change, so a second gateway in the process does not read them again."""


class FirstStart:
    """Finds out whether the gateway is new: it has no active operator yet."""

    def __init__(self, store: OperatorStore) -> None:
        self._store = store
        self._has_operator = False
        self._is_new = False
        self._checked_at = -_CHECK_SECONDS

    async def is_new(self) -> bool:
        """Return whether the gateway has no active operator yet.

        The store is asked at most once a second. After an operator was found, the store is not asked any more. If the
        store does not answer in time, the result is False until the store is asked again.
        """
        if not self._has_operator and time.monotonic() - self._checked_at >= _CHECK_SECONDS:
            self._checked_at = time.monotonic()
            try:
                self._has_operator = await self._store.has_active_operator()
                self._is_new = not self._has_operator
            except StoreTimeout:
                self._is_new = False
        return self._is_new


def _name(settings: Settings) -> str:
    return settings.operator_name or "Domogate"


async def register_client(settings: Settings, store: Store) -> None:
    await register_pages_client(store, settings.base_url, _name(settings), enabled=settings.serves_pages)


def build_pages(settings: Settings, demo: Demo, store: OperatorStore) -> dict[bytes, ASGIApp]:
    """Return the app for each first path segment that belongs to the pages or to the documentation."""
    if not settings.console:
        return {}
    identity = Identity(
        name=_name(settings),
        version=__version__,
        base_url=settings.base_url,
        logo=None if settings.operator_logo is None else read_logo(settings.operator_logo),
        demo=demo,
    )
    documentation = {PREFIX.strip("/").encode(): DocumentationApp(make_documentation_not_built(identity))}
    if not settings.serves_pages:
        return dict(documentation)
    build = load_build()
    if build is None:
        _log.warning("the pages are not built, so / answers 503; run ./dev web in the checkout, then install and start again")
    pages = PagesApp(build, identity, nothing_here, FirstStart(store).is_new)
    return {**documentation, **{path.encode(): pages for path in PATHS}}
