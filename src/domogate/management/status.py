"""The state of the gateway that answers, as the composition root gives it to the management API."""

from collections.abc import Callable, Mapping, Sequence
from typing import Generic, Literal, TypeVar

import msgspec

from domogate.http_api.paging import Listing
from domogate.services.clock_check import ClockCheck
from domogate.services.cluster import ClusterStatus
from domogate.services.monitoring.monitor import Monitor
from domogate.services.monitoring.problems import ProblemKind
from domogate.wire import OutputModel

SettingSource = Literal["default", "file", "environment", "command line", "gateway"]
"""The source of a setting. `gateway`: the gateway chose the value, for example a free port, or a setting of the demo."""

LogLine = tuple[float, str, str]
"""The time, the level and the text of one line of the log, after redaction."""


T = TypeVar("T")


class OwnListing(Listing[T], Generic[T], frozen=True):
    """A list of things that only the answering gateway knows. `gateway` is its name in the cluster, or null."""

    gateway: str | None = None


class SettingOut(OutputModel, frozen=True):
    """A setting in force. `value` is null for a secret.

    `place` says where it was set: the flag, the variable, or the file and line.
    """

    name: str
    panel: str
    help: str
    secret: bool
    value: str | None
    default: str
    source: SettingSource
    place: str


class Status(msgspec.Struct, frozen=True):
    """The functions and objects with which the management API reads the state of this gateway."""

    version: str
    monitor: Monitor
    duration_bounds: tuple[float, ...]
    """In seconds. Requests are counted in groups by their duration (buckets). Each bound is the longest duration of a group."""
    is_database_reachable: Callable[[], bool]
    clock_check: ClockCheck
    find_warnings: Callable[[], Mapping[ProblemKind, str]]
    """Returns the problems that operators must know about. The gateway is ready in spite of these problems."""
    read_cluster: Callable[[], ClusterStatus | None]
    """Returns the status of the cluster, or None if this gateway is not a member of a cluster."""
    list_settings: Callable[[], Sequence[SettingOut]]
    list_log_lines: Callable[[], Sequence[LogLine]]
    """Returns the last lines of the log, the oldest first."""

    @property
    def gateway_name(self) -> str | None:
        """The name of this gateway in its cluster, or None if it is not a member of a cluster."""
        cluster = self.read_cluster()
        return None if cluster is None else cluster.own_name

    def own_list(self, items: Sequence[T]) -> OwnListing[T]:
        """Return the items as a list with the name of this gateway, because only this gateway knows these items."""
        return OwnListing(items, gateway=self.gateway_name)
