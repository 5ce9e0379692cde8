"""Queries: each parameter once unless it is a tuple, no unknown one, in percent-encoded UTF-8."""

from typing import Annotated

import msgspec
import pytest
from msgspec import Meta

from domogate.http_api.problems import Problem
from domogate.http_api.requests import read_query


class Query(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    max_size: Annotated[int, Meta(ge=1)] = 5
    name: str | None = None
    tags: tuple[str, ...] = ()


@pytest.mark.parametrize(
    ("query", "read"),
    [
        (b"", Query()),
        (b"maxSize=3&name=a%20b", Query(3, "a b")),
        (b"name=", Query(name="")),
        (b"name=null", Query(name="null")),
        (b"tags=a&name=x&tags=b", Query(name="x", tags=("a", "b"))),
    ],
)
def test_a_query_is_read(query: bytes, read: Query) -> None:
    assert read_query(query, Query) == read


@pytest.mark.parametrize(
    "query",
    [b"maxSize=1&maxSize=1", b"name=a&name=b", b"max_size=1", b"maxSize=0", b"maxSize=x", b"name=%ff", b"name=\xc3\xa9"],
)
def test_a_query_that_is_not_as_described_is_refused(query: bytes) -> None:
    with pytest.raises(Problem) as refused:
        read_query(query, Query)
    assert refused.value.status == 400
