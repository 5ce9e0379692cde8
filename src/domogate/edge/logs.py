"""The log: lines of structlog and of the standard library's loggers, as text or as JSON.

Texts that look like a token, a key or a password are redacted. No code should log a secret; redaction is a second safeguard.
Repeated failures with the same cause are one line with a count.
"""

import atexit
import logging
import re
import sys
from collections.abc import Mapping, MutableMapping
from typing import Any, TextIO

import structlog

from domogate.edge.log_repeats import LogRepeats
from domogate.edge.request_ids import current_request_id

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

EventDict = MutableMapping[str, Any]


def redact_text(text: str) -> str:
    for pattern, replacement in _SECRET_TEXT:
        text = pattern.sub(replacement, text)
    return text


def _redact(value: Any, depth: int = 0) -> Any:
    if isinstance(value, str):
        return redact_text(value)
    if isinstance(value, bool | int | float | None):
        return value
    if depth > 5:
        return redact_text(repr(value))
    if isinstance(value, Mapping):
        return {key: REDACTED if _is_secret(key) else _redact(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_redact(item, depth + 1) for item in value]
    return redact_text(value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value))


def _is_secret(name: object) -> bool:
    return isinstance(name, str) and _SECRET_NAME.fullmatch(name) is not None


def redact(_logger: Any, _method: str, event: EventDict) -> EventDict:
    """A structlog processor. It runs last, so it sees the whole line, including tracebacks."""
    for name, value in event.items():
        if not name.startswith("_"):
            event[name] = REDACTED if _is_secret(name) and value is not None else _redact(value)
    return event


def add_request_id(_logger: Any, _method: str, event: EventDict) -> EventDict:
    request_id = current_request_id.get()
    if request_id is not None:
        event.setdefault("request_id", request_id)
    return event


def setup_logs(level: str = "info", format: str = "text", stream: TextIO | None = None) -> None:
    """Send all loggers of the process to `stream` (default: standard error) in one format, from `level` up."""
    stream = stream or sys.stderr
    repeats = LogRepeats()
    atexit.register(repeats.flush, everything=True)
    origin: list[Any] = [add_request_id, structlog.stdlib.add_log_level, structlog.stdlib.add_logger_name]
    content: list[Any] = [
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.StackInfoRenderer(),
        structlog.processors.format_exc_info,
    ]
    renderer: Any = (
        structlog.processors.JSONRenderer(sort_keys=False)
        if format == "json"
        else structlog.dev.ConsoleRenderer(colors=stream.isatty(), pad_event_to=0)
    )
    handler = logging.StreamHandler(stream)
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
