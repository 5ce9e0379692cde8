"""Writes log lines with named values: `log.warning("no answer", module=module.id)`.

The lines go to Python's standard logging. `edge/logs.py` decides how they look and where they go.
"""

import logging
from types import TracebackType
from typing import Any

ExcInfo = bool | BaseException | tuple[type[BaseException], BaseException, TracebackType | None] | None


class Logger:
    __slots__ = ("_logger",)

    def __init__(self, name: str) -> None:
        self._logger = logging.getLogger(name)

    def debug(self, event: str, **values: Any) -> None:
        self.log(logging.DEBUG, event, **values)

    def info(self, event: str, **values: Any) -> None:
        self.log(logging.INFO, event, **values)

    def warning(self, event: str, **values: Any) -> None:
        self.log(logging.WARNING, event, **values)

    def error(self, event: str, **values: Any) -> None:
        self.log(logging.ERROR, event, **values)

    def exception(self, event: str, **values: Any) -> None:
        """Log an error, with the traceback of the exception that is being handled."""
        self.log(logging.ERROR, event, exc_info=True, **values)

    def log(self, level: int, event: str, *, exc_info: ExcInfo = None, **values: Any) -> None:
        if self._logger.isEnabledFor(level):
            self._logger.log(level, event, exc_info=exc_info, extra={"values": values})


def get_logger(name: str) -> Logger:
    return Logger(name)


def values_of(record: logging.LogRecord) -> dict[str, Any]:
    """Return the named values of a line of the log. A line that another library logged has no named values."""
    values: dict[str, Any] = vars(record).get("values", {})
    return values
