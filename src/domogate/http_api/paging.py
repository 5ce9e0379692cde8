"""Lists in pages: `?limit=` and `?after=`, answered with the items and the cursor of the next page."""

from collections.abc import Callable, Iterable, Sequence
from typing import Annotated, Generic, TypeVar

import msgspec
from msgspec import Meta

from domogate.http_api.problems import Problem
from domogate.http_api.requests import not_as_expected

T = TypeVar("T")
U = TypeVar("U")

MAX_CURSOR_DIGITS = 18


class Page(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """Which part of a list."""

    limit: Annotated[int, Meta(ge=1, le=200, description="How many at most.")] = 50
    after: Annotated[str, Meta(max_length=300, description="`next` of the page before.")] | None = None

    @property
    def after_number(self) -> int:
        """For lists whose cursor is a number; 0 is before the first. Raises Problem."""
        return read_cursor(self.after or "0")


class Listing(msgspec.Struct, Generic[T], frozen=True):
    """One page of a list. `next` is null on the last page."""

    items: Sequence[T]
    next: str | None = None


def page_of(items: Iterable[T], page: Page, key: Callable[[T], str], to_output: Callable[[T], U]) -> Listing[U]:
    """One page of all items, in the order of their keys."""
    ordered = sorted((item for item in items if page.after is None or key(item) > page.after), key=key)
    return first_page(ordered, page.limit, key, to_output)


def first_page(items: Sequence[T], limit: int, key: Callable[[T], str], to_output: Callable[[T], U]) -> Listing[U]:
    """The first `limit` of ordered items. The caller fetches one more than that: it tells whether there is a next page."""
    kept = items[:limit]
    return Listing([to_output(item) for item in kept], key(kept[-1]) if len(items) > limit else None)


def read_cursor(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) <= MAX_CURSOR_DIGITS):
        raise wrong_cursor()
    return int(text)


def wrong_cursor() -> Problem:
    return not_as_expected("query", "`after` must be `next` of the page before")
