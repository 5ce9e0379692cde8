"""The log: the lines of all loggers of the process, as text or as JSON.

Texts that look like a token, a key or a password are redacted. No code should log a secret; redaction is a second safeguard.
Repeated failures with the same cause are one line with a count.
"""

import atexit
import json
import logging
import re
import sys
import threading
import traceback
from collections import deque
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple, TextIO

from domogate.common.log import values_of
from domogate.edge.log_repeats import LogRepeats
from domogate.edge.request_ids import current_request_id
from domogate.ports import StoreUnavailable

REDACTED = "[redacted]"

_SECRET_WORD = (
    r"(?:pass(?:word|wd|phrase)?|secret|client[-_]?secret|authorization|(?:access|id|refresh|bearer)[-_]?token|token|ticket"
    r"|(?:ocp-apim-)?subscription[-_]key|api[-_]?key|private[-_]?key|code[-_]verifier|cookie|jwk)"
)
_SECRET_NAME = re.compile(rf"(?:.*[-_.])?{_SECRET_WORD}", re.IGNORECASE)
_SECRET_TEXT = (
    # a JWT, anywhere in the text
    (re.compile(r"eyJ[A-Za-z0-9_-]{6,}(?:\.[A-Za-z0-9_-]*){1,4}"), REDACTED),
    (re.compile(r"\b(bearer|basic)(\s+|%20)[^\s'\",;]+", re.IGNORECASE), rf"\1 {REDACTED}"),
    # name=value, name: value, "name": "value", (b'name', b'value')
    (
        re.compile(
            rf"({_SECRET_WORD}['\"]?\s*[=:,]\s*(?:b?['\"])?)(?!\[redacted\])(?:bearer\s+|basic\s+)?[^\s'\",;&)\]}}]+",
            re.IGNORECASE,
        ),
        rf"\1{REDACTED}",
    ),
    # user:password@ in a URL
    (re.compile(r"(://[^\s/:@]*:)[^\s/@]+@"), rf"\1{REDACTED}@"),
)

_TERMINAL = re.compile(r"\x1b\[[0-9;]*m")
"""The control sequences for colours in a terminal."""

_COLOURS = {"debug": "\x1b[32m", "info": "\x1b[32m", "warning": "\x1b[33m", "error": "\x1b[31m", "critical": "\x1b[31m"}
_BOLD, _DIM, _PLAIN = "\x1b[1m", "\x1b[2m", "\x1b[0m"
_NEEDS_QUOTES = re.compile(r"[\s='\"]")


def redact_text(text: str) -> str:
    for pattern, replacement in _SECRET_TEXT:
        text = pattern.sub(replacement, text)
    return text


def redact_value(value: Any, levels: int = 6) -> Any:
    """Return the value without secrets. A list or an object that is more than `levels` levels deep becomes a text.

    Secrets are the fields that have the name of a secret, and the texts that look like a secret.
    """
    if isinstance(value, str):
        return redact_text(value)
    if isinstance(value, bool | int | float | None):
        return value
    if not levels:
        return redact_text(repr(value))
    if isinstance(value, Mapping):
        return {key: REDACTED if _is_secret(key) else redact_value(item, levels - 1) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [redact_value(item, levels - 1) for item in value]
    return redact_text(value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value))


def _is_secret(name: object) -> bool:
    return isinstance(name, str) and _SECRET_NAME.fullmatch(name) is not None


def redact(line: dict[str, Any]) -> dict[str, Any]:
    """Return the values of a line without secrets.

    This function is called last, so it gets the whole line and its traceback.
    """
    return {name: REDACTED if _is_secret(name) and value is not None else redact_value(value) for name, value in line.items()}


def _describe(record: logging.LogRecord, process: str | int | None) -> dict[str, Any]:
    """Return all values of a log line by name. The text of the line has the name `event`."""
    line = {**values_of(record), "event": record.getMessage()}
    if process is not None:
        line["process"] = process
    if (request_id := current_request_id.get()) is not None:
        line.setdefault("request_id", request_id)
    line["level"] = record.levelname.lower()
    line["logger"] = record.name
    line["timestamp"] = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
    error = record.exc_info[1] if record.exc_info else None
    if isinstance(error, StoreUnavailable):
        # A traceback would look like a bug, and would show only the code that waited for the database.
        line["reason"] = str(error)
    elif error is not None:
        line["exception"] = "".join(traceback.format_exception(error)).rstrip("\n")
    return line


def _print_json(line: dict[str, Any]) -> str:
    return json.dumps(line, default=str)


def _print_text(line: dict[str, Any], colours: bool) -> str:
    timestamp, level, event, logger = (line.pop(name) for name in ("timestamp", "level", "event", "logger"))
    exception = line.pop("exception", None)
    shown = f"[{level:<9}]"
    if colours:
        timestamp, event = f"{_DIM}{timestamp}{_PLAIN}", f"{_BOLD}{event}{_PLAIN}"
        shown = f"[{_COLOURS.get(level, '')}{level:<9}{_PLAIN}]"
    values = [f"{name}={_print_value(line[name])}" for name in sorted(line)]
    text = " ".join([timestamp, shown, event, f"[{logger}]", *values])
    return text if exception is None else f"{text}\n{exception}"


def _print_value(value: Any) -> str:
    # `repr` escapes characters that are not printable: they could control the terminal.
    is_plain = isinstance(value, str) and value.isprintable() and not _NEEDS_QUOTES.search(value)
    return value if is_plain else repr(value)


class LogLine(NamedTuple):
    at: float
    level: str
    text: str


class RecentLines:
    """The last lines of the log after redaction, for operators. Their number and their size are bounded."""

    def __init__(self, most: int = 500, most_bytes: int = 262_144, longest: int = 4_000) -> None:
        self._most, self._most_bytes, self._longest = most, most_bytes, longest
        self._lines: deque[LogLine] = deque()
        self._bytes = 0
        self._lock = threading.Lock()

    def add(self, record: logging.LogRecord, text: str) -> None:
        text = _TERMINAL.sub("", text)
        if len(text) > self._longest:
            text = f"{text[: self._longest]}…"
        with self._lock:
            self._lines.append(LogLine(record.created, record.levelname.lower(), text))
            self._bytes += len(text.encode("utf-8", "replace"))
            while len(self._lines) > self._most or self._bytes > self._most_bytes:
                self._bytes -= len(self._lines.popleft().text.encode("utf-8", "replace"))

    def list(self) -> Sequence[LogLine]:
        """Return the last lines of the log, the oldest first."""
        with self._lock:
            return tuple(self._lines)

    def clear(self) -> None:
        with self._lock:
            self._lines.clear()
            self._bytes = 0


recent_lines = RecentLines()
"""The last lines of the log of this process."""


class _KeepingHandler(logging.StreamHandler[TextIO]):
    """Writes each line to a stream, and adds it to `recent_lines`."""

    def __init__(self, stream: TextIO, format: str, process: str | int | None) -> None:
        super().__init__(stream)
        self._is_json, self._colours, self._process = format == "json", stream.isatty(), process

    def format(self, record: logging.LogRecord) -> str:
        line = redact(_describe(record, self._process))
        text = _print_json(line) if self._is_json else _print_text(line, self._colours)
        recent_lines.add(record, text)
        return text


def setup_logs(
    level: str = "info", format: str = "text", stream: TextIO | None = None, process: str | int | None = None
) -> None:
    """Write the lines of all loggers of the process to `stream` (default: standard error) in one format.

    Lines below `level` are not written. `process` is the name or number of this process. It is given if several processes write
    to the same stream; then every line contains it.
    """
    repeats = LogRepeats()
    atexit.register(repeats.flush, everything=True)
    handler = _KeepingHandler(stream or sys.stderr, format, process)
    handler.addFilter(repeats.filter)
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(level.upper())
    for name in ("uvicorn", "uvicorn.error", "uvicorn.access", "uvicorn.asgi", "aiohttp", "aiohttp.access"):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [], True
        logger.setLevel(logging.NOTSET)
    # uvicorn and alembic log details at level info that operators do not need. Their warnings are logged.
    for name in ("uvicorn.error", "alembic"):
        logging.getLogger(name).setLevel(max(logging.WARNING, root.level))
