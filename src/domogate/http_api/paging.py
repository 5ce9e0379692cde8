"""Lists in pages. `?limit=` and `?after=` select a page.

The answer has the items and the field `next`: the cursor of the next page, which the client sends as `after`. The cursor is,
for example, an id, a number or a time.
"""

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
    """The requested page of a list."""

    limit: Annotated[int, Meta(ge=1, le=200, description="The greatest number of items.")] = 50
    after: Annotated[str, Meta(max_length=300, description="The value of `next` on the previous page.")] | None = None

    @property
    def after_number(self) -> int:
        """Return the cursor as a number, for a list whose cursors are numbers.

        0 means the start of the list. Raises Problem if the cursor is not a number.
        """
        return read_cursor(self.after or "0")


class Listing(msgspec.Struct, Generic[T], frozen=True):
    """One page of a list. `next` is null on the last page."""

    items: Sequence[T]
    next: str | None = None


def page_of(items: Iterable[T], page: Page, key: Callable[[T], str], to_output: Callable[[T], U]) -> Listing[U]:
    """Return the requested page of the items, sorted by `key`. The keys are the cursors of the list."""
    ordered = sorted((item for item in items if page.after is None or key(item) > page.after), key=key)
    return first_page(ordered, page.limit, key, to_output)


def first_page(items: Sequence[T], limit: int, key: Callable[[T], str], to_output: Callable[[T], U]) -> Listing[U]:
    """Return the first `limit` items as a page.

    If `items` has more items than `limit`, there is a next page: its cursor is the `key` of the last item on this page.
    """
    kept = items[:limit]
    return Listing([to_output(item) for item in kept], key(kept[-1]) if len(items) > limit else None)


def end_of_page(items: Sequence[T], limit: int, time_of: Callable[[T], float]) -> int:
    """In a list whose cursors are times, return the index of the first item of the next page.

    Items of the same time stay on one page, so a page can be longer than its limit.
    """
    end = min(limit, len(items))
    while 0 < end < len(items) and time_of(items[end]) == time_of(items[end - 1]):
        end += 1
    return end


def read_cursor(text: str) -> int:
    if not is_cursor(text):
        raise wrong_cursor()
    return int(text)


def is_cursor(text: str) -> bool:
    """Whether the text can be a cursor of a list whose cursors are numbers: a number that the database can store."""
    return text.isascii() and text.isdecimal() and len(text) <= MAX_CURSOR_DIGITS


def wrong_cursor() -> Problem:
    return not_as_expected("query", "`after` must be the value of `next` on the previous page")
