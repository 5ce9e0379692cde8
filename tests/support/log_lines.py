"""Collects the lines that the gateway logs."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from domogate.common.log import values_of


class _Collector(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.lines: list[dict[str, Any]] = []

    def emit(self, record: logging.LogRecord) -> None:
        line = {"event": record.getMessage(), "log_level": record.levelname.lower(), **values_of(record)}
        self.lines.append(line | ({"exc_info": record.exc_info} if record.exc_info else {}))


@contextmanager
def capture_logs() -> Iterator[list[dict[str, Any]]]:
    """Yield the list of the lines of all levels: each has `event`, `log_level` and its values. The lines are not printed."""
    logger, collector = logging.getLogger("domogate"), _Collector()
    before = logger.handlers, logger.level, logger.propagate
    logger.handlers, logger.propagate = [collector], False
    logger.setLevel(logging.DEBUG)
    try:
        yield collector.lines
    finally:
        logger.handlers, logger.propagate = before[0], before[2]
        logger.setLevel(before[1])
