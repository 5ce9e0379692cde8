"""The log: lines of structlog and of the standard library's loggers, as text or as JSON.

Texts that look like a token, a key or a password are redacted. No code should log a secret; redaction is a second safeguard.
Repeated failures with the same cause are one line with a count.
"""

import atexit
import logging
import re
import sys
import threading
from collections import deque
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from typing import Any, NamedTuple, TextIO

import structlog

from domogate.edge.log_repeats import LogRepeats
from domogate.edge.request_ids import current_request_id
from domogate.ports import StoreTimeout

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
"""The colours that a terminal shows."""

EventDict = MutableMapping[str, Any]


def redact_text(text: str) -> str:
    for pattern, replacement in _SECRET_TEXT:
        text = pattern.sub(replacement, text)
    return text


def redact_value(value: Any, depth: int = 0) -> Any:
    """Return the value without secrets.

    Secrets are the fields that have the name of a secret, and the texts that look like a secret.
    """
    if isinstance(value, str):
        return redact_text(value)
    if isinstance(value, bool | int | float | None):
        return value
    if depth > 5:
        return redact_text(repr(value))
    if isinstance(value, Mapping):
        return {key: REDACTED if _is_secret(key) else redact_value(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [redact_value(item, depth + 1) for item in value]
    return redact_text(value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value))


def _is_secret(name: object) -> bool:
    return isinstance(name, str) and _SECRET_NAME.fullmatch(name) is not None


def redact(_logger: Any, _method: str, event: EventDict) -> EventDict:
    """A structlog processor. It runs last, so it sees the whole line, including tracebacks."""
    for name, value in event.items():
        if not name.startswith("_"):
            event[name] = REDACTED if _is_secret(name) and value is not None else redact_value(value)
    return event


def add_request_id(_logger: Any, _method: str, event: EventDict) -> EventDict:
    request_id = current_request_id.get()
    if request_id is not None:
        event.setdefault("request_id", request_id)
    return event


def _name_process(process: str | int | None) -> Callable[[Any, str, EventDict], EventDict]:
    def add(_logger: Any, _method: str, event: EventDict) -> EventDict:
        if process is not None:
            event["process"] = process
        return event

    return add


def explain_timeouts(_logger: Any, _method: str, event: EventDict) -> EventDict:
    """Replace the traceback of a database timeout by a sentence.

    The traceback would look like the traceback of a bug, and would show only the code that waited for the database.
    """
    given = event.get("exc_info")
    error = sys.exc_info()[1] if given is True else given[1] if isinstance(given, tuple) else given
    if isinstance(error, StoreTimeout):
        del event["exc_info"]
        event["reason"] = str(error)
    return event


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
        """Return the lines, the oldest first."""
        with self._lock:
            return tuple(self._lines)


recent_lines = RecentLines()
"""The last lines of this process."""


class _KeepingHandler(logging.StreamHandler[TextIO]):
    """Writes each line to a stream, and adds it to `recent_lines`. The line is formatted only once."""

    def format(self, record: logging.LogRecord) -> str:
        text = super().format(record)
        recent_lines.add(record, text)
        return text


def setup_logs(
    level: str = "info", format: str = "text", stream: TextIO | None = None, process: str | int | None = None
) -> None:
    """Write the lines of all loggers of the process to `stream` (default: standard error) in one format.

    Lines below `level` are not written. If several processes write to the same stream, `process` is given, and every line
    contains it.
    """
    stream = stream or sys.stderr
    repeats = LogRepeats()
    atexit.register(repeats.flush, everything=True)
    origin: list[Any] = [
        _name_process(process),
        add_request_id,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
    ]
    content: list[Any] = [
        explain_timeouts,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.StackInfoRenderer(),
        structlog.processors.format_exc_info,
    ]
    renderer: Any = (
        structlog.processors.JSONRenderer(sort_keys=False)
        if format == "json"
        else structlog.dev.ConsoleRenderer(colors=stream.isatty(), pad_event_to=0)
    )
    handler = _KeepingHandler(stream)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[*origin, *content],
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, redact, renderer],
        )
    )
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
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            structlog.stdlib.PositionalArgumentsFormatter(),
            *origin,
            repeats.limit,
            *content,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )
