"""The state of the gateway that answers, as the composition root gives it to the management API."""

from collections.abc import Callable, Sequence
from typing import Protocol

import msgspec

from domogate.services.clock_check import ClockCheck
from domogate.services.monitoring.monitor import Monitor


class SettingInForce(msgspec.Struct, frozen=True, kw_only=True):
    """A setting and its value. `value` is None for a secret."""

    name: str
    panel: str
    help: str
    secret: bool
    value: str | None
    default: str
    source: str | None
    """The place from which the value came: `flag --port`, `variable DOMOGATE_PORT` or a file. None if it was not given."""
    is_default: bool


class LogLine(Protocol):
    """One line of the log, after redaction."""

    @property
    def at(self) -> float: ...
    @property
    def level(self) -> str: ...
    @property
    def text(self) -> str: ...


class Status(msgspec.Struct, frozen=True):
    """The state of the gateway that answers."""

    version: str
    monitor: Monitor
    duration_bounds: tuple[float, ...]
    """The upper bounds of the buckets of durations, in seconds."""
    is_database_reachable: Callable[[], bool]
    clock_check: ClockCheck
    list_settings: Callable[[], Sequence[SettingInForce]]
    list_log_lines: Callable[[], Sequence[LogLine]]
    """Returns the last lines of the log, the oldest first."""
