"""Keeps the lease of this gateway, and acquires and hands over shards.

A member renews its lease every second. At each renewal it gets the list of all members, and computes from this list which
shards it should hold. A member never takes a shard of another member whose lease has not ended. The holder first stops driving
the shard, and then releases it. If the lease cannot be renewed, the member stops driving before the lease ends in the database.
So no shard is driven by two members.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from typing import Protocol

import msgspec

from domogate.common.log import get_logger
from domogate.common.tasks import cancel, wait_for_event
from domogate.domain.ids import Id, new_id
from domogate.domain.shards import share_of
from domogate.ports import ClusterMember, ClusterView, LeaseEnded, LeaseStore, LiveMember, MessageLink, OtherCluster
from domogate.services.cluster.clock import ClusterClock
from domogate.services.cluster.holdings import HeldShards
from domogate.services.cluster.links import LinkWatch, list_sharing

_log = get_logger(__name__)

_SHORTEST_TIMER = 0.01


class LeaseTimes(msgspec.Struct, frozen=True):
    """The times of leases, in seconds.

    `lease`: a lease ends this time after its last renewal. `renewal`: the time between two renewals. A crashed member is
    replaced after `lease` plus one `renewal`. This sum must stay below 10 s. `margin`: a member that cannot renew its lease
    stops driving this number of seconds before the lease ends. So its last commands reach the devices before another member
    drives these devices. `pause`: the shortest time between the beginnings of two renewals.

    `cut_off`: a member that gets no messages from NATS hands over its shards after this time, if other members get messages.
    But if NATS itself stops, no member shall hand over its shards. The members do not notice the stop at the same time. The
    last member notices it at most one second (the time between two pings) after the first member. At most one renewal later,
    each member reads in the database that all members noticed it. `cut_off` must be longer than both times together.
    """

    lease: float = 6.0
    renewal: float = 1.0
    margin: float = 1.0
    pause: float = 0.05
    cut_off: float = 3.0


class ShardDriver(Protocol):
    """The service that drives the plants of shards."""

    def start_shards(self, shards: Collection[int]) -> None:
        """Start to drive the plants of these shards, in the background."""
        ...

    def hand_over(self, shards: Collection[int]) -> AsyncIterator[Sequence[int]]:
        """Stop driving these shards. Running orders end first. Yield shards as soon as they are no longer driven."""
        ...

    def drop_shards(self, shards: Collection[int]) -> None:
        """Stop driving these shards at once, and write nothing: another member may drive them already."""
        ...


class ShardMessenger(Protocol):
    """Carries requests to the holder of a shard. Messages may be lost."""

    @property
    def is_connected(self) -> bool:
        """Whether this member is connected to NATS, so that it can send and get messages."""
        ...

    def hold(self, shards: Collection[int]) -> None:
        """Receive the requests for these shards from now on. Returns at once."""
        ...

    def let_go(self, shards: Collection[int]) -> None:
        """Stop receiving the requests of other gateways for these shards. Returns at once."""
        ...

    async def wait_let_go(self) -> None:
        """Wait until no more requests arrive for the shards that were given to `let_go`."""
        ...

    def publish_shards(self) -> None:
        """Tell the other members that this member has joined or left the cluster, or has released shards.

        The other members renew their leases when they get this message.
        """
        ...


class Membership:
    """The membership of this gateway in the cluster, from `start` to `stop`."""

    def __init__(
        self,
        leases: LeaseStore,
        held: HeldShards,
        driver: ShardDriver,
        messenger: ShardMessenger,
        clock: ClusterClock,
        *,
        name: str,
        url: str,
        version: str,
        cluster: str,
        times: LeaseTimes | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._leases = leases
        self._held = held
        self._driver = driver
        self._messenger = messenger
        self._clock = clock
        self._name, self._url, self._version, self._cluster = name, url, version, cluster
        self._times = times or LeaseTimes()
        self._monotonic = monotonic
        self.member: ClusterMember | None = None
        """This gateway as a member. None while it has no lease."""
        self.known_as: Id | None = None
        """The newest id of this gateway as a member. Other members may know this id even while `member` is None."""
        self.members: tuple[LiveMember, ...] = ()
        """The members at the last renewal of the lease."""
        self.on_members: Callable[[], None] = lambda: None
        """Called after each renewal of the lease; `members` has been updated before."""
        self._began_at = self._renewed_at = monotonic()
        self._link = LinkWatch(lambda: messenger.is_connected, self._times.cut_off, monotonic)
        self._share: frozenset[int] = frozenset()
        self._sharing: frozenset[str] = frozenset()
        """The ids of the members that share the shards; `_share` (the shards of this member) was computed from these ids."""
        self._leaving = False
        self._failing = False
        self._woken = asyncio.Event()
        self._loop: asyncio.Task[None] | None = None
        self._expiry: asyncio.TimerHandle | None = None
        self._handing_over: set[asyncio.Task[None]] = set()
        held.when_fenced = self._on_fenced

    @property
    def is_cut_off(self) -> bool:
        """True if the other members drive all plants, because this member gets no messages."""
        return self.member is not None and self.member.id not in self._sharing and self._link.state is MessageLink.CUT_OFF

    def list_members(self) -> tuple[LiveMember, ...]:
        """Return the members of the cluster, as they were when this member last renewed its lease.

        `lease_left` of each member is the time that is left now.
        """
        passed = self._monotonic() - self._renewed_at
        return tuple(msgspec.structs.replace(live, lease_left=max(0.0, live.lease_left - passed)) for live in self.members)

    def list_others(self) -> list[Id]:
        """Return the other members that must know a change before the client gets the answer to its write.

        Members that are cut off are left out. They are not ready, so no client reads from them. This member itself is always
        left out, also after it has left the cluster: then it still answers its last writes, and must not wait for itself.
        """
        return [m.member.id for m in self.members if m.member.id != self.known_as and m.link is not MessageLink.CUT_OFF]

    @property
    def has_successor(self) -> bool:
        """Whether another member can take the shards of this member: at least one other member is not leaving."""
        return any(live.member.id != self.known_as and not live.is_leaving for live in self.members)

    # life cycle

    async def start(self) -> None:
        """Join the cluster. If the database answers, shards are acquired before this method returns.

        If the database does not answer, later renewals acquire the shards. Raises OtherCluster if running gateways on
        this database have another cluster name.
        """
        await self._renew()
        self._loop = asyncio.create_task(self._renew_regularly(), name="renew the lease")

    def wake(self) -> None:
        """Renew the lease at once, for example after a lost connection to NATS or after another member released shards."""
        self._woken.set()

    def begin_leave(self) -> None:
        """Start to hand over all shards to other members. The lease is renewed until `stop`."""
        self._leaving = True
        self.wake()

    async def stop(self) -> None:
        """Wait until all shards are handed over, and leave the cluster."""
        self.begin_leave()
        await self._held.empty.wait()
        await cancel(self._loop, *self._handing_over)
        if self._expiry is not None:
            self._expiry.cancel()
        if self.member is not None:
            try:
                await self._leases.leave(self.member.id)
                self._messenger.publish_shards()
            except Exception as error:
                _log.warning("the cluster was left without notice; the lease ends soon", exc_info=error)
        self.member = None

    # renewing

    async def _renew_regularly(self) -> None:
        while True:
            if await wait_for_event(self._woken, self._times.renewal):
                # A message is obeyed at once, but many messages do not make this member renew all the time.
                await asyncio.sleep(max(0.0, self._began_at + self._times.pause - self._monotonic()))
            self._woken.clear()
            await self._renew()

    async def _renew(self) -> None:
        """Renew the lease. Then acquire and release shards, so that this member holds its share.

        Errors are logged, and the next renewal tries again. Only OtherCluster is raised, and only before `start` has returned.
        """
        try:
            member = self.member or await self._join()
            link = self._link.look(live for live in self.members if live.member.id != member.id)
            self._began_at = sent_at = self._monotonic()
            view = await self._leases.renew(member.id, self._times.lease, is_leaving=self._leaving, link=link)
            self._clock.adjust(view.now, sent_at, self._monotonic())
            self._extend(sent_at)
            await self._adapt(member.id, view)
        except LeaseEnded:
            _log.warning("the lease of this gateway has ended; it joins the cluster again")
            self.member = None
            self._lose(tuple(self._held.epochs))
            self.wake()
        except Exception as error:
            if self._loop is None and isinstance(error, OtherCluster):
                raise  # The gateway does not start.
            if not self._failing:
                _log.error("the lease was not renewed; will retry", exc_info=error)
            self._failing = True
        else:
            self._failing = False

    async def _join(self) -> ClusterMember:
        member = ClusterMember(new_id(), self._name, self._url, self._version, self._clock.now(), self._cluster)
        self.known_as = member.id
        await self._leases.join(member, self._times.lease)
        self.member = member
        self._messenger.publish_shards()
        return member

    def _extend(self, sent_at: float) -> None:
        """Set the time until which this member may drive plants. Start a timer that stops driving at this time.

        The time is `margin` before the end of a lease that begins at `sent_at`. The lease in the database ends still later:
        it begins when the database gets the renewal.
        """
        self._held.valid_until = sent_at + self._times.lease - self._times.margin
        if self._expiry is not None:
            self._expiry.cancel()
        self._await_expiry()

    def _await_expiry(self) -> None:
        left = self._held.valid_until - self._monotonic()
        self._expiry = asyncio.get_running_loop().call_later(max(_SHORTEST_TIMER, left), self._expire)

    def _expire(self) -> None:
        if self._held.is_valid:
            self._await_expiry()  # A timer of uvloop can fire some milliseconds early.
        elif self._held.epochs:
            _log.error("the lease could not be renewed in time; this gateway stops driving", shards=len(self._held.epochs))
            self._lose(tuple(self._held.epochs))

    # shards

    async def _adapt(self, member_id: Id, view: ClusterView) -> None:
        held = self._held
        self.members, self._renewed_at = view.members, self._monotonic()
        self.on_members()
        if lost := [shard for shard, epoch in held.epochs.items() if view.held.get(shard) != epoch]:
            _log.error("other gateways have taken shards of this gateway", shards=len(lost))
            self._lose(lost)
        share = self._find_share(member_id)
        if leaving := held.accepted - share:
            held.begin_hand_over(leaving)
            task = asyncio.create_task(self._hand_over(member_id, leaving), name="hand over shards")
            self._handing_over.add(task)
            task.add_done_callback(self._handing_over.discard)
        # These shards are unknown here, because the answer to an earlier `acquire` or `release` was lost.
        if unknown := view.held.keys() - held.epochs.keys() - share:
            await self._leases.release(member_id, unknown)
            self._messenger.publish_shards()
        if missing := share - held.epochs.keys():
            acquired = await self._leases.acquire(member_id, missing)
            if acquired and held.is_valid:
                held.add(acquired)
                self._driver.start_shards(acquired.keys())
                self._messenger.hold(acquired.keys())

    def _find_share(self, member_id: Id) -> frozenset[int]:
        """Return the shards that this member should hold."""
        if self._leaving:
            return frozenset()
        sharing = list_sharing(self.members)
        if sharing != self._sharing:
            self._share, self._sharing = share_of(member_id, sharing), sharing
            _log.info("members of the cluster", members=len(sharing), shards=len(self._share))
        return self._share

    async def _hand_over(self, member_id: Id, shards: Collection[int]) -> None:
        self._messenger.let_go(shards)
        async for stopped in self._driver.hand_over(shards):
            # Otherwise this member and the next holder would both get a request, and the refusal could be the first answer.
            await self._messenger.wait_let_go()
            # This member may have lost a shard and acquired it again in the meantime. Such a shard is not handed over.
            released = self._held.handing_over & set(stopped)
            # The shards are removed before the release, because after the release another member may write.
            self._held.remove(released)
            try:
                await self._leases.release(member_id, released)
                self._messenger.publish_shards()
            except Exception as error:
                _log.warning("shards were not released; the next renewal releases them", exc_info=error)

    def _lose(self, shards: Sequence[int]) -> None:
        """Stop driving these shards at once: another member may hold them now."""
        if shards:
            self._held.remove(shards)
            self._driver.drop_shards(shards)
            self._messenger.let_go(shards)

    def _on_fenced(self, shard: int) -> None:
        _log.error("another gateway has taken a shard of this gateway", shard=shard)
        self._lose((shard,))
        self.wake()
