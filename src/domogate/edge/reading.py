"""Parses requests in pieces. It checks Host, size and framing more strictly than httptools.

A piece contains bytes of only one request, so a connection can handle one request at a time. For speed, bytes are counted per
piece. The size of the headers is computed only if so many bytes arrived that the headers may be too large.
"""

import re
from abc import abstractmethod
from typing import Any

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from domogate.edge.guards import Guards, Refusal

IDLE, HEAD, BODY = range(3)
_CHECKED_HEADERS = frozenset((b"host", b"expect", b"transfer-encoding", b"content-length"))
_MOST_HEADERS = 200
"""The largest number of headers of a request.

A parsed header needs much more memory than its bytes, so `max_header` alone does not bound the memory. Clients and proxies
send far fewer headers.
"""
HEAD_END = b"\r\n\r\n"
"""The bytes that end a header section or a chunked body."""

# RFC 9112 §3.2: uri-host [ ":" port ], never empty for http (RFC 9110 §4.2.1)
_find_host = re.compile(
    rb"(?:(?:[A-Za-z0-9\-._~!$&'()*+,;=]|%[0-9A-Fa-f]{2}){1,255}|\[[0-9A-Fa-f:.]{2,45}\])(?::[0-9]{0,5})?"
).fullmatch
# RFC 9110 §9.1: a method is a token. llhttp accepts a fixed list; other methods are parsed under an accepted name.
_find_method = re.compile(rb"([!#$%&'*+\-.^_`|~0-9A-Za-z]{1,40}) ").match
_find_part_of_method = re.compile(rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]{0,40}").fullmatch
_STAND_IN_METHOD = b"SEARCH"


class RequestReader(HttpToolsProtocol):
    """uvicorn's protocol with a stricter parser. Between two requests `phase` is IDLE."""

    def __init__(self, guards: Guards, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.guards, self.limits = guards, guards.limits
        self.phase = IDLE
        self.seen = 0
        """The number of bytes received since the parser last completed a header section, a part of a body, or a request."""
        self._piece = 0
        self.begun = b""
        """The first bytes of a request whose method is not complete yet."""
        self._tail = b""
        self._body_left = 0
        self._upgrade_asked = False
        self._has_body = self._is_chunked = False
        self._unknown_method: bytes | None = None
        self._host: bytes | None = None
        self._good_host: bytes | None = None

    @abstractmethod
    def begin_direct(self, body_size: int) -> bool:
        """Make a direct request from the header section, and return True. Return False if this is not possible."""

    @abstractmethod
    def refuse(self, refusal: Refusal) -> None:
        """Stop reading input, and answer with the refusal."""

    def too_large(self) -> Refusal:
        return Refusal(431, f"The request line and header section may have at most {self.limits.max_header} bytes together.")

    def find_end(self, data: bytes, at: int) -> int:
        """Return the index in `data` at which the next piece to parse ends. A piece contains bytes of only one request."""
        if self.phase == BODY and self._body_left:
            return min(len(data), at + self._body_left)
        if self._tail:  # The end mark may have begun in the previous piece.
            split = (self._tail + data[at : at + 3]).find(HEAD_END)
            if split >= 0:
                end = at + split + len(HEAD_END) - len(self._tail)
                self._tail = b""
                return end
        found = data.find(HEAD_END, at)
        self._tail = (self._tail + data[max(at, len(data) - 3) :])[-3:] if found < 0 else b""
        return len(data) if found < 0 else found + len(HEAD_END)

    def feed(self, data: bytes) -> None:
        """Parse a piece of a request.

        If the piece ends inside the HTTP method, its bytes are kept and parsed together with the next piece. So the result does
        not depend on how the network splits the request into packets.
        """
        self.seen += len(data)
        if self.phase == IDLE:
            data = (self.begun + data).lstrip(b"\r\n")  # Empty lines before a request are ignored (RFC 9112 §2.2).
            self.begun = data if _find_part_of_method(data) else b""
            if self.begun or not data:
                return
        self._piece = len(data)
        pending: list[bytes | memoryview] = [data]
        while pending:
            piece = pending.pop()
            try:
                self.parser.feed_data(piece)
            except httptools.HttpParserUpgrade as upgrade:
                pending += (memoryview(piece)[upgrade.args[0] :], self._restart_without_upgrade())
            except httptools.HttpParserInvalidMethodError:
                renamed = self._restart_with_known_method(data)
                if renamed is None:
                    self.refuse(Refusal(400, "This is not HTTP."))
                    return
                pending.append(renamed)
            except httptools.HttpParserError as error:
                cause = error.__context__
                self.refuse(cause if isinstance(cause, Refusal) else Refusal(400, f"This is not valid HTTP/1.1: {error}."))
                return

    def begin_parser(self) -> None:
        """Make a new parser, which takes the next bytes as the beginning of a request."""
        self.parser = httptools.HttpRequestParser(self)
        self.parser.set_dangerous_leniencies(lenient_data_after_close=True)

    def _restart_without_upgrade(self) -> bytes:
        """Make a new parser. Return the header section without the header Upgrade, to be parsed again (RFC 9110 §7.8).

        With this header, the parser llhttp would treat the body as data of the new protocol.
        """
        version = self.parser.get_http_version().encode()
        head = [b"%b %b HTTP/%b\r\n" % (self.parser.get_method(), self.url, version)]
        head += [b"%b: %b\r\n" % header for header in self.headers if header[0] != b"upgrade"]
        self._upgrade_asked = False
        self.begin_parser()
        return b"".join([*head, b"\r\n"])

    def _restart_with_known_method(self, data: bytes) -> bytes | None:
        """Make a new parser. Return `data` with a known method instead of the unknown method, to be parsed again.

        The family of the URL can then answer 405 in its own error shape, with its Allow header. Return None if `data` does not
        begin with a method.
        """
        match = _find_method(data)
        if match is None:
            return None
        self._unknown_method = match[1]
        self.begin_parser()
        return _STAND_IN_METHOD + data[match.end(1) :]

    # --- callbacks of the parser --------------------------------------------------------------------------------------

    def on_message_begin(self) -> None:
        self.phase = HEAD
        self._host = None
        self._body_left = 0
        self._has_body = self._is_chunked = False
        self.url, self.headers, self.expect_100_continue = b"", [], False

    def on_header(self, name: bytes, value: bytes) -> None:
        if self.phase == BODY:
            return  # A trailer is not a header of the running request (RFC 9110 §6.5.1).
        if len(self.headers) == _MOST_HEADERS:
            raise Refusal(431, f"A request may have at most {_MOST_HEADERS} headers.")
        name = name.lower()
        if name in _CHECKED_HEADERS:
            self._check_header(name, value)
        self.headers.append((name, value))

    def _check_header(self, name: bytes, value: bytes) -> None:
        if name == b"host":
            if self._host is not None:
                raise Refusal(400, "A request must have exactly one Host header (RFC 9112, section 3.2).")
            if value != self._good_host:
                if _find_host(value) is None:
                    raise Refusal(400, "The Host header is not a host with an optional port (RFC 9112, section 3.2).")
                self._good_host = value
            self._host = value
        elif name == b"content-length":
            self._body_left = int(value)
            self._has_body = True
        elif name == b"expect":
            self.expect_100_continue = value.lower() == b"100-continue"
        elif value.lower() != b"chunked":
            raise Refusal(501, "The only supported transfer coding is chunked (RFC 9112, section 6.1).")
        elif self.parser.get_http_version() != "1.1":
            raise Refusal(400, "Transfer-Encoding needs HTTP/1.1 (RFC 9112, section 6.1).")
        else:
            self._has_body = self._is_chunked = True

    def on_headers_complete(self) -> None:
        parser, limit = self.parser, self.limits.max_header
        if (self.seen > limit or self._piece > limit) and self._head_size() > limit:
            raise self.too_large()
        version = parser.get_http_version()
        if version != "1.1" and version != "1.0":
            raise Refusal(400, "Only HTTP/1.1 is supported.")
        if self._host is None and version == "1.1":
            # HTTP/1.0 has no Host, and some health probes still use HTTP/1.0. Only HTTP/1.1 needs Host (RFC 9112 §3.2).
            raise Refusal(400, "A request needs a Host header (RFC 9112, section 3.2).")
        if b"#" in self.url:
            raise Refusal(400, "A request target must not have a fragment (RFC 9112, section 3.2).")
        if parser.should_upgrade():
            if parser.get_method() == b"CONNECT":
                raise Refusal(405, "The gateway is not a proxy.")
            self._upgrade_asked = True
            return
        if self._has_usual_form() and self.begin_direct(self._body_left):
            return
        self._prepare_scope()
        super().on_headers_complete()
        if self._unknown_method is not None:
            self.scope["method"] = self._unknown_method.decode()
            self._unknown_method = None
        self.phase = BODY
        self.seen = 0

    def _has_usual_form(self) -> bool:
        """Whether this request may be a direct request, as far as its method and body are concerned.

        True for a GET request without a body. Also true for a POST request that has no body or declares the length of its body.
        But a POST request with the header `Expect: 100-continue` is never direct.
        """
        method = self.parser.get_method()
        return (method == b"GET" and not self._has_body) or (
            method == b"POST" and not self._is_chunked and not self.expect_100_continue
        )

    def _prepare_scope(self) -> None:
        """Make the ASGI scope of a request that is not direct.

        uvicorn would make a scope at the start of each request, but a direct request does not need one.
        """
        url, headers, expect_100_continue = self.url, self.headers, self.expect_100_continue
        super().on_message_begin()
        self.url, self.expect_100_continue = url, expect_100_continue
        self.headers += headers

    def _head_size(self) -> int:
        return len(self.url) + len("GET  HTTP/1.1\r\n\r\n") + sum(len(name) + len(value) + 4 for name, value in self.headers)

    def on_body(self, body: bytes) -> None:
        self.seen = 0
        self._body_left = max(0, self._body_left - len(body))
        super().on_body(body)

    def on_message_complete(self) -> None:
        if not self._upgrade_asked:
            if self.phase == BODY:
                super().on_message_complete()
            self.phase = IDLE
            self.seen = 0
