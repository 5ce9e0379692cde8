"""Builds the parts that make a gateway a member of a cluster, and starts and stops them in order."""

import socket
from collections.abc import Collection

from domogate import __version__
from domogate.domain.ids import Id
from domogate.edge.after_write import AnswerAfterWrite, answer_after_write
from domogate.edge.direct import Handler
from domogate.edge.stack import ASGIApp
from domogate.fabric.connection import NatsAccess, NatsConnection
from domogate.fabric.nats import NatsFabric
from domogate.fabric.progress import NatsProgress
from domogate.identity.rate_sharing import RateSharing
from domogate.identity.rates import RateWindows
from domogate.ports import Fabric, Holdings, MessageTrace
from domogate.services.cluster import (
    ClusterClock,
    ClusterStatus,
    HeldShards,
    HolderWatch,
    Membership,
    Propagation,
    ShardDriver,
)
from domogate.settings import Settings
from domogate.stores import SqlStore
from domogate.stores.leases import open_leases


def nats_access(settings: Settings) -> NatsAccess:
    """Return the access to the NATS servers: the setting `nats`, and the settings whose names begin with `nats_`."""
    fields = set(NatsAccess.__struct_fields__) - {"servers"}
    return NatsAccess(servers=settings.nats, **{field: getattr(settings, f"nats_{field}") for field in fields})


class Cluster:
    """Makes this gateway a member of a cluster: it has the gateway's lease, shards and fabric. Implements Placement."""

    def __init__(
        self,
        settings: Settings,
        store: SqlStore,
        clock: ClusterClock,
        process: int | None,
        trace: MessageTrace | None = None,
    ) -> None:
        assert settings.database is not None
        assert settings.cluster is not None
        address = f"{socket.gethostname()}:{settings.port}"
        self._name = name = address if process is None else f"{address}/{process}"
        self._url = f"{'https' if settings.tls_certificate else 'http'}://{address}"
        self._clock, self._cluster = clock, settings.cluster
        self._knowledge_bound = settings.knowledge_bound
        self._store = store
        self._leases = open_leases(settings.database)
        self._held = HeldShards()
        self.held: Holdings | None = self._held
        store.holdings = self._held
        watch = HolderWatch(self._leases)
        self._connection = NatsConnection(nats_access(settings), name)
        self._progress = NatsProgress(self._connection, settings.cluster)
        self._propagation = Propagation(
            store, self._progress, self._list_others, lambda: self._known_as, settings.knowledge_bound
        )
        self._nats = NatsFabric(self._connection, clock, settings.cluster, watch.is_moving, self._propagation.wait, trace)
        self.fabric: Fabric = self._nats
        self._rates: RateSharing | None = None
        self.membership: Membership | None = None

    @property
    def _own_id(self) -> Id | None:
        return None if self.membership is None or self.membership.member is None else self.membership.member.id

    @property
    def _known_as(self) -> Id | None:
        return None if self.membership is None else self.membership.known_as

    def _list_others(self) -> Collection[Id]:
        return () if self.membership is None else self.membership.list_others()

    def wrap(self, application: ASGIApp) -> ASGIApp:
        return AnswerAfterWrite(application, lambda: self._store.written, self._propagation.wait)

    def wrap_handler(self, handler: Handler) -> Handler:
        return answer_after_write(handler, lambda: self._store.written, self._propagation.wait)

    @property
    def is_cut_off(self) -> bool:
        return self.membership is not None and self.membership.is_cut_off

    @property
    def has_successor(self) -> bool:
        return self.membership is not None and self.membership.has_successor

    def read_status(self) -> ClusterStatus | None:
        membership, connection = self.membership, self._connection
        if membership is None:
            return None
        return ClusterStatus(
            self._cluster,
            self._own_id,
            membership.list_members(),
            len(self._held.epochs),
            self._held.fenced,
            self._store.knowledge_age(),
            self._knowledge_bound,
            connection.server,
            "" if connection.is_connected else connection.problem or "the connection was lost",
        )

    def share_rates(self, windows: RateWindows) -> None:
        self._rates = RateSharing(windows, self._clock, self._nats.publish_usage)

    async def prepare(self) -> None:
        """Set the clock to the time of the database. Call it after the tables are made, and before the clock is used."""
        await self._clock.set_by(self._leases.read_time)
        self._clock.began_at = await self._leases.find_beginning()

    async def start(self, work: ShardDriver) -> None:
        """Join the cluster. From now on this gateway drives its share of the plants.

        Raises OtherCluster if the running gateways of the database have another cluster name than this gateway.
        """
        await self._nats.start()
        self.membership = Membership(
            self._leases,
            self._held,
            work,
            self._nats,
            self._clock,
            name=self._name,
            url=self._url,
            version=__version__,
            cluster=self._cluster,
        )
        self.membership.on_members = self._propagation.on_members
        await self._progress.start(self._propagation.on_question, self._propagation.on_answer)
        await self._nats.on_feed(self._store.poll_now)
        self._store.on_commit = self._nats.publish_feed
        await self._nats.on_shards(self.membership.wake)
        self._nats.on_link(self.membership.wake)
        if self._rates is not None:
            await self._nats.on_usage(self._rates.receive)
        # When this gateway is a member, other gateways wait for its answers. So it must get their messages before.
        await self._nats.flush()
        await self.membership.start()

    def begin_leave(self) -> None:
        """Begin to hand over the shards to other gateways. Running orders end first. This gateway still answers requests."""
        if self.membership is not None:
            self.membership.begin_leave()

    async def leave(self) -> None:
        """Hand over all shards, wait until this gateway drives no plant, and leave the cluster."""
        if self.membership is not None:
            await self.membership.stop()
            await self._nats.finish()

    async def stop(self) -> None:
        self._store.on_commit = lambda: None
        if self._rates is not None:
            self._rates.stop()
        await self._propagation.stop()
        await self._nats.stop()
        await self._leases.stop()
