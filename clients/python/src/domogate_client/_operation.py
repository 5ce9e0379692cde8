"""Declarations of operations. The methods of both clients send the same declarations."""

import re
from collections.abc import Mapping
from typing import Any, Generic, TypeVar
from urllib.parse import quote, urlencode

import msgspec

from domogate_client.errors import DomogateError

T = TypeVar("T")

Query = Mapping[str, Any]

_ID = re.compile(r"[0-9a-fA-F-]{32,36}").fullmatch


class RawContent(msgspec.Struct, frozen=True):
    """An answer that is not JSON: a picture, a report, a file."""

    data: bytes
    media_type: str

    @property
    def text(self) -> str:
        return self.data.decode()


class Operation(Generic[T]):
    """One operation: its request and the type of its answer."""

    def __init__(
        self,
        name: str,
        method: str,
        path: str,
        answer: type[T],
        *,
        token: str = "id",
        key: bool = True,
        hex_ids: bool = False,
        etag: bool = False,
        repeatable: bool = False,
        empty: bytes = b"",
    ) -> None:
        self.name = name
        self.method = method
        self.answer = answer
        self.token = token
        """The kind of token: `id`, `access`, `given` (the caller passes the token) or an empty text for none."""
        self.needs_key = key
        self.has_etag = etag
        self.takes_idempotency_key = repeatable
        self.is_read = method == "GET"
        self.empty = empty
        """The value that is decoded instead of the body if the status is 204."""
        self._begin, *rest = re.split(r"\{(\w*)\}", path)
        self._parameters = list(zip(rest[::2], rest[1::2], strict=True))
        self._hex_ids = hex_ids
        self._decoder: msgspec.json.Decoder[T] | None = None

    def url(self, path: tuple[str, ...], query: Query | None) -> str:
        """Return the path with its parameters and the query. Ids may have any spelling: with or without dashes."""
        url = self._begin
        for value, (kind, rest) in zip(path, self._parameters, strict=True):
            url += (self._spell_id(value) if kind and _ID(value) else _segment(value)) + rest
        if query is None:
            return url
        pairs = [(name, _spell(value)) for name, value in query.items() if value is not None]
        return f"{url}?{urlencode(pairs, doseq=True)}" if pairs else url

    def _spell_id(self, value: str) -> str:
        digits = value.replace("-", "")
        if self._hex_ids or len(digits) != 32:
            return digits if self._hex_ids else value
        return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"

    def decode(self, body: bytes) -> T:
        """Return the body as the declared type. Raises msgspec.DecodeError if it is something else."""
        if self._decoder is None:
            self._decoder = msgspec.json.Decoder(self.answer)
        return self._decoder.decode(body)


def _segment(text: str) -> str:
    """A text as one segment of a path. Parsers of URLs remove the segments `.` and `..`: the request would be another one."""
    if text in ("", ".", ".."):
        raise DomogateError(f"{text!r} cannot be part of a path")
    return quote(text, safe="")


def _spell(value: Any) -> Any:
    """A value of the query as text; a sequence is a parameter that is repeated."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str | int | float) else [str(one) for one in value]
