"""Decides which plants a gateway drives: all plants, or its share of the plants in a cluster."""

from importlib.util import find_spec
from typing import Protocol

from domogate.app.parts import SystemClock
from domogate.edge.direct import Handler
from domogate.edge.stack import ASGIApp
from domogate.fabric.in_process import InProcessFabric
from domogate.identity.rates import RateWindows
from domogate.ports import Clock, Fabric, Holdings, MessageTrace
from domogate.services.cluster import ClusterClock, ClusterStatus, ShardDriver
from domogate.settings import BadSettings, Mistake, Settings
from domogate.stores import SqlStore


class Placement(Protocol):
    """Decides which plants this gateway drives, and carries orders to the gateway that drives a plant."""

    held: Holdings | None
    """The shards that this gateway holds. None means that this gateway drives all plants."""
    fabric: Fabric

    def wrap(self, application: ASGIApp) -> ASGIApp:
        """Return an application that delays the answer to a write until the other gateways know the change (`Propagation`)."""
        ...

    def wrap_handler(self, handler: Handler) -> Handler:
        """Return a handler of direct requests that delays the answer to a write until the other gateways know the change."""
        ...

    @property
    def is_cut_off(self) -> bool:
        """True if this gateway has no connection to NATS while another gateway has one. The others then drive all plants."""
        ...

    @property
    def has_successor(self) -> bool:
        """Whether another gateway drives the plants of this gateway after this gateway has stopped."""
        ...

    def read_status(self) -> ClusterStatus | None:
        """Return the status of the cluster. Return None if this gateway is in no cluster, or has not joined its cluster yet."""
        ...

    def share_rates(self, windows: RateWindows) -> None:
        """Share the counts in `windows` with the other gateways. Then the rate of a key applies to all gateways together."""
        ...

    async def prepare(self) -> None: ...
    async def start(self, work: ShardDriver) -> None: ...
    def begin_leave(self) -> None: ...
    async def leave(self) -> None: ...
    async def stop(self) -> None: ...


class _AllPlants:
    """Implements Placement for a gateway that is not a member of a cluster: this gateway drives all plants."""

    held: Holdings | None = None
    is_cut_off = has_successor = False

    def __init__(self, clock: Clock) -> None:
        self.fabric: Fabric = InProcessFabric(clock)

    def wrap(self, application: ASGIApp) -> ASGIApp:
        return application

    def wrap_handler(self, handler: Handler) -> Handler:
        return handler

    def read_status(self) -> None: ...
    def share_rates(self, windows: RateWindows) -> None: ...
    async def prepare(self) -> None: ...
    async def start(self, work: ShardDriver) -> None: ...
    def begin_leave(self) -> None: ...
    async def leave(self) -> None: ...
    async def stop(self) -> None: ...


def build_clock(settings: Settings) -> Clock:
    """Return the clock. The gateways of a cluster use the clock of their database, so that their times agree."""
    return SystemClock() if settings.cluster is None else ClusterClock(SystemClock())


def build_placement(
    settings: Settings, store: SqlStore, clock: Clock, process: int | None = None, trace: MessageTrace | None = None
) -> Placement:
    """Return the placement of this gateway: alone, it drives all plants; in a cluster, it drives the plants of its shards.

    Raises BadSettings if the settings ask for a cluster and the library for clusters is missing.
    """
    if settings.cluster is None:
        return _AllPlants(clock)
    if find_spec("nats") is None:
        source = settings.sources.get("cluster", "settings")
        raise BadSettings([Mistake("cluster", source, "a cluster needs the library nats-py: install domogate[cluster].")])
    from domogate.app.cluster import Cluster  # needs nats-py

    assert isinstance(clock, ClusterClock)
    return Cluster(settings, store, clock, process, trace)
