"""Runs the delivery of all webhooks. A webhook has a task only while it has something to deliver."""

import asyncio
import heapq
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from math import inf

import structlog

from domogate.common.tasks import cancel
from domogate.domain.events import Change, ChangesLost, GrantRevoked, PlantChanged, StateChanged, UserChanged
from domogate.domain.ids import Id, new_id
from domogate.domain.webhooks import Webhook
from domogate.ports import Audit, Clock, WebhookSender
from domogate.services.audit import GATEWAY, AuditAction, AuditResult
from domogate.services.events.notices import find_notice
from domogate.services.plants.read_model import ReadModel
from domogate.services.rights.identity_cache import IdentityCache
from domogate.services.webhooks.administration import webhook_ref
from domogate.services.webhooks.backoff import is_ahead
from domogate.services.webhooks.context import DeliveryContext, DeliveryStore
from domogate.services.webhooks.counters import DeliveryCounters
from domogate.services.webhooks.delivery_log import DeliveryLog
from domogate.services.webhooks.formats import WebhookFormats
from domogate.services.webhooks.lease import RETRY
from domogate.services.webhooks.rights import WebhookEnded, WebhookRights
from domogate.services.webhooks.worker import WebhookWorker

_FAILING_AT_ONCE = 64
"""The number of failing receivers that are tried in parallel. The number is limited, because each attempt may take long."""
_LEASE = 10.0
"""The length of a lease in seconds. After this time another process takes over the webhooks of a process that ended."""
_PRUNE_EVERY = 3_600.0
_CLOCK_JUMP = 30.0
"""In seconds. If the clock and the monotonic clock differ by more than this, the clock was set, or the machine slept."""
_GRACE = 2.0
"""The seconds that running deliveries have to finish when the gateway stops."""

_log = structlog.get_logger(__name__)


class Dispatcher:
    """Delivers webhooks. `apply` must be a listener of the store, after the read model."""

    def __init__(
        self,
        store: DeliveryStore,
        identities: IdentityCache,
        read_model: ReadModel,
        sender: WebhookSender,
        clock: Clock,
        formats: WebhookFormats,
        audit: Audit,
        *,
        given_up: float,
        dead_kept: float,
        may_prune: Callable[[], Awaitable[bool]],
        poll: float = 5.0,
    ) -> None:
        """All times are in seconds. `poll`: how often webhooks are read from the store, to see changes of other processes."""
        self._store = store
        self._read_model = read_model
        self._clock = clock
        self._audit = audit
        self._dead_kept = dead_kept
        self._poll = poll
        self._may_prune = may_prune
        self.counters = DeliveryCounters()
        self.log = DeliveryLog(clock)
        self._context = DeliveryContext(
            store=store,
            sender=sender,
            clock=clock,
            rights=WebhookRights(identities, read_model, clock),
            formats=formats,
            counters=self.counters,
            log=self.log,
            holder=new_id(),
            lease_duration=_LEASE,
            given_up=given_up,
        )
        self._workers: dict[Id, WebhookWorker] = {}
        self._by_plant: dict[Id, dict[Id, WebhookWorker]] = {}
        self._running: dict[Id, asyncio.Task[None]] = {}
        self._run_again: set[Id] = set()
        """Webhooks that were woken while they were running. They run again."""
        self._timers: list[tuple[float, Id]] = []
        self._timer_of: dict[Id, float] = {}
        self._timer_set = asyncio.Event()
        self._failing = asyncio.Semaphore(_FAILING_AT_ONCE)
        self._background: asyncio.Task[None] | None = None
        self._stopping = False

    @property
    def webhooks(self) -> int:
        """The number of webhooks that have not ended."""
        return len(self._workers)

    @property
    def running(self) -> int:
        """The number of webhooks that are delivering now."""
        return len(self._running)

    @property
    def idle(self) -> bool:
        """Whether no delivery is running or due."""
        return not self._running and all(at > self._clock.now() for at in self._timer_of.values())

    async def start(self) -> None:
        await self._read_webhooks()
        for webhook_id in list(self._workers):
            self.wake(webhook_id)
        self._background = asyncio.create_task(self._run_background(), name="webhooks")

    async def stop(self) -> None:
        """Stop. Deliveries that do not finish in time are cancelled, and the next process repeats them."""
        self._stopping = True
        for worker in self._workers.values():
            worker.stop()
        await cancel(self._background)
        self._background = None
        running = list(self._running.values())
        if running:
            await asyncio.wait(running, timeout=_GRACE)
        await cancel(*running)
        await self._store.release_webhooks(self._context.holder)

    # which webhooks there are

    def add(self, webhook: Webhook) -> None:
        """Add a webhook that was registered or found in the store. It may be added twice."""
        if webhook.id in self._workers:
            return
        worker = WebhookWorker(webhook, self._context)
        self._workers[webhook.id] = worker
        self._by_plant.setdefault(webhook.plant_id, {})[webhook.id] = worker

    def remove(self, webhook_id: Id) -> None:
        """Deliver nothing more to this webhook. A running delivery is cancelled."""
        worker = self._workers.pop(webhook_id, None)
        if worker is None:
            return
        worker.stop()
        self.log.forget(webhook_id)
        self._timer_of.pop(webhook_id, None)
        self._run_again.discard(webhook_id)
        of_plant = self._by_plant[worker.webhook.plant_id]
        del of_plant[webhook_id]
        if not of_plant:
            del self._by_plant[worker.webhook.plant_id]
        running = self._running.get(webhook_id)
        if running is not None and running is not asyncio.current_task():
            running.cancel()

    # when they run

    def apply(self, changes: Sequence[Change]) -> None:
        """Wake the webhooks that need these changes, and webhooks whose rights may have changed."""
        for change in changes:
            event = change.event
            if isinstance(event, StateChanged | PlantChanged):
                of_plant = self._by_plant.get(event.plant_id)
                if of_plant:
                    self._apply_to_plant(change, event.plant_id, of_plant)
            elif isinstance(event, ChangesLost):
                for worker in self._workers.values():
                    worker.forget_changes()
                self._wake_all(tuple(self._workers))
            elif isinstance(event, GrantRevoked | UserChanged):
                self._wake_all(id for id, worker in self._workers.items() if _depends_on(worker.webhook, event))

    def _apply_to_plant(self, change: Change, plant_id: Id, workers: Mapping[Id, WebhookWorker]) -> None:
        plant = self._read_model.find_plant(plant_id)
        rights_changed = plant is None or isinstance(change.event, PlantChanged)
        notice = None if plant is None else find_notice(change, plant)
        if notice is None and not rights_changed:
            return
        now = self._clock.now()
        for webhook_id, worker in workers.items():
            kinds = worker.webhook.kinds
            if rights_changed or not kinds or (notice is not None and not set(kinds).isdisjoint(notice.kinds)):
                worker.add_change(change)
                if rights_changed or worker.paused_until <= now:
                    self._wake(webhook_id)

    def _wake_all(self, webhook_ids: Iterable[Id]) -> None:
        for webhook_id in list(webhook_ids):
            self._wake(webhook_id)

    def wake(self, webhook_id: Id) -> None:
        """Run the webhook: it was changed in the store, or there may be something to deliver."""
        worker = self._workers.get(webhook_id)
        if worker is not None:
            worker.reload = True
            self._wake(webhook_id)

    def _wake(self, webhook_id: Id) -> None:
        if webhook_id in self._running:
            self._run_again.add(webhook_id)
        elif webhook_id in self._workers and not self._stopping:
            self._running[webhook_id] = asyncio.create_task(self._run(webhook_id), name=f"webhook {webhook_id}")

    async def _run(self, webhook_id: Id) -> None:
        try:
            while True:
                self._run_again.discard(webhook_id)
                worker = self._workers.get(webhook_id)
                if worker is None:
                    return
                next_at = await self._run_worker(worker)
                if webhook_id not in self._run_again or self._stopping:
                    break
            if next_at is not None:
                self._set_timer(next_at, webhook_id)
        finally:
            del self._running[webhook_id]
            if webhook_id in self._run_again:
                self._wake(webhook_id)

    async def _run_worker(self, worker: WebhookWorker) -> float | None:
        webhook = worker.webhook
        try:
            if webhook.failing_since is None:
                return await worker.run()
            async with self._failing:
                return await worker.run()
        except WebhookEnded as ended:
            await self._end(webhook, str(ended))
            return None
        except Exception:
            _log.exception("a webhook could not be delivered; it is tried again", webhook=webhook.id)
            return self._clock.now() + RETRY

    async def _end(self, webhook: Webhook, reason: str) -> None:
        self.remove(webhook.id)
        if reason and await self._store.end_webhook(webhook.id, reason, self._clock.now()):
            self._audit.note(
                AuditAction.WEBHOOK_ENDED, who=GATEWAY, what=webhook_ref(webhook), result=AuditResult.OK, detail={"why": reason}
            )

    # in the background

    def _set_timer(self, at: float, webhook_id: Id) -> None:
        if self._timer_of.get(webhook_id) != at:
            self._timer_of[webhook_id] = at
            heapq.heappush(self._timers, (at, webhook_id))
            self._timer_set.set()

    def _forget_timers(self) -> None:
        """The clock was set, so the times of all timers are wrong. Each webhook finds its next time again."""
        self._timers.clear()
        self._timer_of.clear()
        for worker in self._workers.values():
            worker.paused_until = 0.0
        self._wake_all(self._workers)

    def _wake_due(self) -> None:
        """Wake the webhooks whose time has come. Replaced timers are skipped."""
        now = self._clock.now()
        while self._timers and self._timers[0][0] <= now:
            at, webhook_id = heapq.heappop(self._timers)
            if self._timer_of.get(webhook_id) == at:
                del self._timer_of[webhook_id]
                self._wake(webhook_id)

    async def _run_background(self) -> None:
        loop = asyncio.get_running_loop()
        read_at, prune_at = loop.time() + self._poll, 0.0
        offset = self._clock.now() - loop.time()
        while True:
            now = self._clock.now()
            if abs(now - loop.time() - offset) > _CLOCK_JUMP:
                self._forget_timers()
                prune_at = 0.0
            offset = now - loop.time()
            self._wake_due()
            try:
                if loop.time() >= read_at:
                    read_at = loop.time() + self._poll
                    await self._read_webhooks()
                if loop.time() >= prune_at and await self._may_prune():
                    prune_at = loop.time() + _PRUNE_EVERY
                    await self._store.prune_pending(now - self._dead_kept)
            except Exception:
                _log.exception("the webhooks could not be read; trying again", every=self._poll)
            await self._renew_leases()
            pause = max(0.0, min(read_at - loop.time(), _LEASE / 4 if self._running else inf))
            if self._timers:
                pause = min(pause, max(0.0, self._timers[0][0] - self._clock.now()))
            self._timer_set.clear()
            try:
                async with asyncio.timeout(pause):
                    await self._timer_set.wait()
            except TimeoutError:
                pass

    async def _renew_leases(self) -> None:
        """Renew the leases of running deliveries. After a failure there is time to try again before a lease ends."""
        renewed = await asyncio.gather(
            *(self._workers[id].renew_lease() for id in self._running if id in self._workers), return_exceptions=True
        )
        for failure in renewed:
            if isinstance(failure, Exception):
                _log.error("the lease of a webhook could not be renewed; trying again", exc_info=failure)

    async def _read_webhooks(self) -> None:
        """Read all webhooks from the store, because other processes add, end, remove and replay webhooks too."""
        before = set(self._workers)
        now = self._clock.now()
        alive = {webhook.id: webhook for webhook in await self._store.list_webhooks() if webhook.ended_at is None}
        for webhook_id in before - alive.keys():
            self.remove(webhook_id)
        for webhook_id, webhook in alive.items():
            if webhook_id not in self._workers:
                self.add(webhook)
                self.wake(webhook_id)
            else:
                is_due = webhook.next_at > 0 and not is_ahead(webhook.next_at, now)
                if is_due or webhook.secret != self._workers[webhook_id].webhook.secret:
                    self.wake(webhook_id)


def _depends_on(webhook: Webhook, event: GrantRevoked | UserChanged) -> bool:
    return webhook.grant_id == event.grant_id if isinstance(event, GrantRevoked) else webhook.user_id == event.user_id
