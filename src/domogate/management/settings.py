"""The settings in force, and the last lines of the log."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated

import msgspec
from msgspec import Meta

from domogate.http_api.operations import OperationTable
from domogate.http_api.paging import Listing
from domogate.management.services import ManagementServices, OperatorCall
from domogate.management.status import SettingInForce
from domogate.wire import OutputModel, to_datetime

SETTINGS, LOGS = OperationTable("settings"), OperationTable("logs")


class SettingSource(StrEnum):
    """Where the value of a setting came from."""

    DEFAULT = "default"
    FILE = "file"
    ENVIRONMENT = "environment"
    COMMAND_LINE = "command line"
    GATEWAY = "gateway"
    """The gateway chose the value, for example a free port, or a setting of the demo."""


class SettingOut(OutputModel, frozen=True):
    """A setting in force. `value` is null for a secret. `place` names the flag, the variable, or the file with its line."""

    name: str
    panel: str
    help: str
    secret: bool
    value: str | None
    default: str
    source: SettingSource
    place: str


class LogLevel(StrEnum):
    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"
    CRITICAL = "critical"


class LogQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    level: Annotated[LogLevel, Meta(description="Only lines of this level and of higher levels.")] = LogLevel.DEBUG


class LogLineOut(OutputModel, frozen=True):
    """A line of the log without secrets. A line about an error may have several lines of text."""

    at: datetime
    level: str
    text: str


@SETTINGS.add("GET", "/settings", "The settings in force, and where each came from; secrets are not shown")
async def list_settings(services: ManagementServices, _call: OperatorCall) -> Listing[SettingOut]:
    return Listing([_setting_out(setting) for setting in services.status.list_settings()])


@LOGS.add("GET", "/logs", "The last lines of the log of the gateway that answers; the oldest is first")
async def list_logs(services: ManagementServices, _call: OperatorCall, query: LogQuery) -> Listing[LogLineOut]:
    levels = list(LogLevel)
    wanted = levels[levels.index(query.level) :]
    lines = services.status.list_log_lines()
    return Listing([LogLineOut(to_datetime(line.at), line.level, line.text) for line in lines if line.level in wanted])


def _setting_out(setting: SettingInForce) -> SettingOut:
    kind, _, place = (setting.source or "").partition(" ")
    if setting.source is None:
        source, place = SettingSource.DEFAULT if setting.is_default else SettingSource.GATEWAY, ""
    elif kind == "flag":
        source = SettingSource.COMMAND_LINE
    elif kind == "variable":
        source = SettingSource.ENVIRONMENT
    else:
        source, place = SettingSource.FILE, setting.source
    return SettingOut.of(setting, source=source, place=place)


OPERATIONS = (*SETTINGS, *LOGS)
