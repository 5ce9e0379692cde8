"""Operations that show the settings in force, and the last lines of the log."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated

import msgspec
from msgspec import Meta

from domogate.http_api.operations import OperationTable
from domogate.management.services import ManagementServices, OperatorCall
from domogate.management.status import OwnListing, SettingOut
from domogate.wire import OutputModel, to_datetime

SETTINGS, LOGS = OperationTable("settings"), OperationTable("logs")


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


@SETTINGS.add("GET /settings", "The settings of the gateway that answers, and where each came from; secrets are not shown")
async def list_settings(services: ManagementServices, _call: OperatorCall) -> OwnListing[SettingOut]:
    return services.status.own_list(services.status.list_settings())


@LOGS.add("GET /logs", "The last lines of the log of the gateway that answers; the oldest is first")
async def list_logs(services: ManagementServices, _call: OperatorCall, query: LogQuery) -> OwnListing[LogLineOut]:
    levels = list(LogLevel)
    wanted = levels[levels.index(query.level) :]
    lines = services.status.list_log_lines()
    found = [LogLineOut(to_datetime(at), level, text) for at, level, text in lines if level in wanted]
    return services.status.own_list(found)


OPERATIONS = (*SETTINGS, *LOGS)
