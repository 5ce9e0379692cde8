"""Forwards requests to a real gateway, and keeps the redacted answers of the families."""

import http.client
import ssl
import time
from collections.abc import Callable, Collection
from contextlib import suppress
from urllib.parse import SplitResult, urlsplit

import msgspec

from domogate.recording.exchanges import Exchange, RecordingFile
from domogate.recording.redaction import Redactor, redact_target
from domogate.recording.server import Answer, Request, Responder

_LARGEST_ANSWER = 16 * 2**20
_KEPT_STATUSES = range(200, 600)
_NOT_FORWARDED = frozenset(
    (
        *("connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "te", "trailer", "transfer-encoding"),
        *("upgrade", "host", "content-length", "accept-encoding", "expect"),
    )
)
"""Headers that are valid only for one connection (RFC 9110 §7.6.1), and headers that the recorder writes itself."""


def parse_upstream(url: str) -> SplitResult:
    """Return the parts of the URL. Raises ValueError if it is not an http or https URL, or if it contains a user name."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username is not None:
        raise ValueError(f"{url!r} is not a URL such as https://gateway.example.com")
    return parts


class Recorder(Responder):
    """Forwards requests to a gateway, and records the redacted answers in a file."""

    def __init__(
        self,
        upstream: str,
        file: RecordingFile,
        families: Collection[str],
        *,
        timeout: float = 30.0,
        ca_file: str | None = None,
        tell: Callable[[str], None] = lambda _: None,
    ) -> None:
        """Raises ValueError if `upstream` is not an http or https URL, or contains a user name."""
        self._parts, self._timeout, self._tell = parse_upstream(upstream), timeout, tell
        self._tls = ssl.create_default_context(cafile=ca_file) if self._parts.scheme == "https" else None
        self._file, self._families = file, frozenset(families)
        self._redactor = Redactor()

    def answer(self, request: Request) -> Answer:
        try:
            answer = self._forward(request)
        except (OSError, http.client.HTTPException, ValueError) as failed:
            text = f"The gateway gave no answer: {str(failed) or type(failed).__name__}"
            return Answer(502, [("Content-Type", "text/plain; charset=utf-8")], text.encode())
        is_of_family = request.target.partition("?")[0].split("/")[1] in self._families
        if is_of_family and answer.status in _KEPT_STATUSES and not self._file.has_ended:
            self._keep(request, answer)
        return answer

    def _forward(self, request: Request) -> Answer:
        deadline = time.monotonic() + self._timeout
        host, port = self._parts.hostname or "", self._parts.port
        connection = (
            http.client.HTTPConnection(host, port, timeout=self._timeout)
            if self._tls is None
            else http.client.HTTPSConnection(host, port, timeout=self._timeout, context=self._tls)
        )
        try:
            headers = {name: value for name, value in request.headers.items() if name not in _NOT_FORWARDED}
            headers["accept-encoding"] = "identity"
            body = request.body if request.body or request.method not in ("GET", "HEAD") else None
            connection.request(request.method, self._parts.path.rstrip("/") + request.target, body=body, headers=headers)
            found = connection.getresponse()
            content, length = bytearray(), found.length
            while part := found.read1(65_536):
                content += part
                if len(content) > _LARGEST_ANSWER:
                    raise ValueError(f"the answer has more than {_LARGEST_ANSWER} bytes")
                if time.monotonic() > deadline:
                    raise TimeoutError("the answer did not end in time")
            if length is not None and len(content) < length:
                raise ValueError(f"the answer ended after {len(content)} of {length} bytes")
            left_out = _NOT_FORWARDED - {"content-length"} if request.method == "HEAD" else _NOT_FORWARDED
            kept = [(name, value) for name, value in found.getheaders() if name.lower() not in left_out]
            return Answer(found.status, kept, bytes(content))
        finally:
            connection.close()

    def _keep(self, request: Request, answer: Answer) -> None:
        try:
            target = redact_target(request.target)
        except ValueError:
            return  # The query has too many fields: the replayer could not find this answer.
        content_type = next((value for name, value in answer.headers if name.lower() == "content-type"), "")
        body = None
        if answer.body and "json" in content_type:
            try:
                body = self._redactor.redact(msgspec.json.decode(answer.body))
            except (ValueError, RecursionError):
                body = None
        exchange = Exchange(request.method, target, answer.status, content_type[:100], body, is_empty=not answer.body)
        reason = self._file.add(exchange)
        if reason is not None:
            with suppress(OSError):  # Standard error can be a file on the same full disk.
                self._tell(f"The recording ends here: {reason}. Further answers are forwarded, but not kept.")
