"""Runs the delivery of webhooks. A webhook has a task only while it has something to deliver.

A gateway of a cluster delivers only the webhooks of the plants that it holds. It reads only these webhooks from the store. The
change feed tells the dispatcher that a webhook was registered or changed, also if another process did it.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Coroutine, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from domogate.common.log import get_logger
from domogate.common.tasks import cancel
from domogate.domain.events import Change, ChangesLost, GrantRevoked, PlantChanged, StateChanged, UserChanged, WebhookChanged
from domogate.domain.ids import Id
from domogate.domain.shards import shard_of
from domogate.domain.webhooks import Webhook
from domogate.ports import Audit, Clock, Fenced, Holdings, WebhookSender
from domogate.services.audit import GATEWAY, AuditAction, AuditResult
from domogate.services.events.notices import find_notice
from domogate.services.plants.read_model import ReadModel
from domogate.services.rights.identity_cache import IdentityCache
from domogate.services.webhooks.administration import webhook_ref
from domogate.services.webhooks.context import DeliveryContext, DeliveryStore
from domogate.services.webhooks.counters import DeliveryCounters
from domogate.services.webhooks.delivery_log import DeliveryLog
from domogate.services.webhooks.formats import WebhookFormats
from domogate.services.webhooks.rights import WebhookEnded, WebhookRights
from domogate.services.webhooks.timers import Timers
from domogate.services.webhooks.worker import WebhookWorker

_FAILING_AT_ONCE = 64
"""The number of failing receivers that are tried in parallel. The number is limited, because each attempt may take long."""
_RETRY = 5.0
"""In seconds. After an error of the gateway itself, for example a database error, the gateway tries again after this time."""
_FIRST_PRUNE, _PRUNE_EVERY = 60.0, 3_600.0
_CLOCK_JUMP = 30.0
"""In seconds. If the clock moves by more than this against the monotonic clock, the clock was set or the machine slept."""
_GRACE = 2.0
"""In seconds. When the gateway stops, running deliveries get this time to end."""
_HAND_OVER = 0.5
"""In seconds. Before another gateway of the cluster gets a shard, the running deliveries of the shard get this time to end."""

_log = get_logger(__name__)


class Dispatcher:
    """Delivers webhooks. Register `apply` as a listener of the store, after the listener of the read model."""

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
        holdings: Holdings | None = None,
        is_current: Callable[[], bool] = lambda: True,
        check_every: float = 5.0,
    ) -> None:
        """`given_up`: at this age, an undelivered event becomes a dead letter. `dead_kept`: how long dead letters are kept.

        `check_every`: the time between two checks whether the clock has jumped. Times are in seconds. `may_prune`: whether the
        clock may be trusted, so that old dead letters may be removed. `holdings`: the plants of this gateway in a cluster, None
        for all plants. `is_current`: whether this gateway knows the latest rights.
        """
        self._store = store
        self._read_model = read_model
        self._clock = clock
        self._audit = audit
        self._dead_kept = dead_kept
        self._check_every = check_every
        self._holdings = holdings
        self._may_prune = may_prune
        self.counters = DeliveryCounters()
        self.log = DeliveryLog(clock)
        self._context = DeliveryContext(
            store=store,
            sender=sender,
            clock=clock,
            rights=WebhookRights(identities, read_model, clock, holdings=holdings, is_current=is_current),
            formats=formats,
            counters=self.counters,
            log=self.log,
            given_up=given_up,
        )
        self._workers: dict[Id, WebhookWorker] = {}
        self._by_plant: dict[Id, dict[Id, WebhookWorker]] = {}
        self._running: dict[Id, asyncio.Task[None]] = {}
        self._run_again: set[Id] = set()
        """Webhooks that must run again, because they were woken while they were running."""
        self._timers = Timers()
        self._failing = asyncio.Semaphore(_FAILING_AT_ONCE)
        self._background: set[asyncio.Task[None]] = set()
        self._stopping = False

    @property
    def webhooks(self) -> int:
        """The number of webhooks that this gateway delivers."""
        return len(self._workers)

    @property
    def running(self) -> int:
        """The number of webhooks whose events are being delivered now."""
        return len(self._running)

    @property
    def idle(self) -> bool:
        """Whether no delivery is running or due, and no webhook is being read."""
        return not self._running and len(self._background) <= 1 and not self._timers.has_due(self._clock.now())

    async def start(self) -> None:
        if self._holdings is None:
            await self._load()
        self._begin(self._run_background(), "webhooks")

    async def stop(self) -> None:
        """Stop. Deliveries that do not end in time are cancelled. The next process repeats the cancelled deliveries."""
        self._stopping = True
        for worker in self._workers.values():
            worker.stop()
        await cancel(*self._background)
        running = list(self._running.values())
        if running:
            await asyncio.wait(running, timeout=_GRACE)
        await cancel(*running)

    def _begin(self, work: Coroutine[Any, Any, None], name: str) -> None:
        task = asyncio.create_task(work, name=name)
        self._background.add(task)
        task.add_done_callback(self._background.discard)

    # which webhooks there are

    async def _load(self, shards: Collection[int] | None = None) -> None:
        """Read the webhooks of these shards from the store. None means all webhooks that this gateway delivers."""

        def is_wanted(plant_id: Id) -> bool:
            return self._accepts(plant_id) and (shards is None or shard_of(plant_id) in shards)

        for webhook in await self._store.list_active_webhooks(is_wanted):
            self._add(webhook)

    async def _refresh(self, webhook_id: Id) -> None:
        found = await self._store.find_webhook(webhook_id)
        if found is None or found.ended_at is not None:
            self._remove(self._workers.get(webhook_id))
        else:
            self._add(found)

    async def _repeat(self, access: Callable[[], Awaitable[None]]) -> None:
        """Call `access`, which reads or ends webhooks in the store. Repeat it every `_RETRY` seconds until it succeeds."""
        while True:
            try:
                return await access()
            except Exception:
                _log.exception("webhooks could not be read or ended; trying again", seconds=_RETRY)
                await asyncio.sleep(_RETRY)

    def _add(self, webhook: Webhook) -> None:
        """Start the deliveries of a stored webhook. If the webhook has a worker already, the worker reads the webhook again."""
        if webhook.id not in self._workers and self._accepts(webhook.plant_id):
            worker = WebhookWorker(webhook, self._context)
            self._workers[webhook.id] = worker
            self._by_plant.setdefault(webhook.plant_id, {})[webhook.id] = worker
        self.wake(webhook.id)

    def _accepts(self, plant_id: Id) -> bool:
        return self._holdings is None or self._holdings.accepts(plant_id)

    def _remove(self, worker: WebhookWorker | None) -> None:
        """Deliver nothing more to this webhook. A running delivery is cancelled."""
        if worker is None or self._workers.get(worker.webhook.id) is not worker:
            return
        webhook_id = worker.webhook.id
        del self._workers[webhook_id]
        worker.stop()
        self.log.forget(webhook_id)
        self._timers.forget(webhook_id)
        self._run_again.discard(webhook_id)
        of_plant = self._by_plant[worker.webhook.plant_id]
        del of_plant[webhook_id]
        if not of_plant:
            del self._by_plant[worker.webhook.plant_id]
        running = self._running.get(webhook_id)
        if running is not None and running is not asyncio.current_task():
            running.cancel()

    # shards of a cluster

    def start_shards(self, shards: Collection[int]) -> None:
        """Deliver the webhooks of the plants of these shards, which this gateway holds from now on."""
        self._begin(self._repeat(lambda: self._load(shards)), "read webhooks of shards")

    async def hand_over(self, shards: Collection[int]) -> None:
        """Stop delivering the webhooks of these shards. Slow deliveries are cancelled; another gateway repeats them."""
        leaving = self._list_workers(shards)
        for worker in leaving:
            worker.stop()
        running = [self._running[worker.webhook.id] for worker in leaving if worker.webhook.id in self._running]
        if running:
            await asyncio.wait(running, timeout=_HAND_OVER)
        for worker in leaving:
            self._remove(worker)
        await cancel(*running)

    def drop_shards(self, shards: Collection[int]) -> None:
        """Stop delivering the webhooks of these shards at once: another gateway may deliver them already."""
        for worker in self._list_workers(shards):
            self._remove(worker)

    def _list_workers(self, shards: Collection[int]) -> list[WebhookWorker]:
        plants = [workers for plant_id, workers in self._by_plant.items() if shard_of(plant_id) in shards]
        return [worker for workers in plants for worker in workers.values()]

    # when webhooks run

    def apply(self, changes: Sequence[Change]) -> None:
        """Wake the webhooks that need these changes, and webhooks whose rights may have changed."""
        self._context.rights.apply(changes)
        for change in () if self._stopping else changes:
            event = change.event
            if type(event) is StateChanged or type(event) is PlantChanged:
                of_plant = self._by_plant.get(event.plant_id)
                if of_plant:
                    self._apply_to_plant(change, event.plant_id, of_plant)
            elif isinstance(event, ChangesLost):
                for webhook_id, worker in tuple(self._workers.items()):
                    worker.forget_changes()
                    self.wake(webhook_id)
                self._begin(self._repeat(self._load), "read webhooks")
            elif isinstance(event, WebhookChanged):
                if self._accepts(event.of_plant):
                    if (known := self._workers.get(event.webhook_id)) is not None:
                        known.reload = True  # A delivery that starts before the webhook is read must have the new secret.
                    self._begin(self._repeat(partial(self._refresh, event.webhook_id)), f"read webhook {event.webhook_id}")
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
        """Let the worker of the webhook run: the webhook was changed in the store, or there may be something to deliver."""
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
                if webhook_id not in self._run_again or worker.is_stopping:
                    break
            if next_at is not None:
                self._timers.set(next_at, webhook_id, self._clock.now())
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
            await self._end(worker, str(ended))
        except Fenced:
            self._remove(worker)
        except Exception:
            _log.exception("a webhook could not be delivered; it is tried again", webhook=webhook.id)
            return self._clock.now() + _RETRY
        return None

    async def _end(self, worker: WebhookWorker, reason: str) -> None:
        self._remove(worker)
        if reason:
            await self._repeat(partial(self._store_end, worker.webhook, reason))

    async def _store_end(self, webhook: Webhook, reason: str) -> None:
        if await self._store.end_webhook(webhook.id, reason, self._clock.now()):
            what, detail = webhook_ref(webhook), {"why": reason}
            self._audit.note(AuditAction.WEBHOOK_ENDED, who=GATEWAY, what=what, result=AuditResult.OK, detail=detail)

    # in the background

    def _forget_timers(self) -> None:
        """Remove all timers: the clock was set, so their times are wrong. Each worker runs now and computes its next time."""
        self._timers.clear()
        for webhook_id, worker in tuple(self._workers.items()):
            worker.paused_until = 0.0
            self.wake(webhook_id)

    async def _run_background(self) -> None:
        loop = asyncio.get_running_loop()
        prune_at = loop.time() + _FIRST_PRUNE  # The first pruning does not delay the start.
        offset = self._clock.now() - loop.time()
        while True:
            now = self._clock.now()
            if abs(now - loop.time() - offset) > _CLOCK_JUMP or self._timers.was_set_back(now, _CLOCK_JUMP):
                self._forget_timers()
                prune_at = 0.0
            offset = now - loop.time()
            self._wake_all(self._timers.take_due(now))
            try:
                if loop.time() >= prune_at and await self._may_prune():
                    prune_at = loop.time() + _PRUNE_EVERY
                    await self._store.prune_pending(now - self._dead_kept)
            except Exception:
                _log.exception("old dead letters could not be removed; trying again", seconds=self._check_every)
            await self._timers.wait(self._clock.now(), self._check_every)


def _depends_on(webhook: Webhook, event: GrantRevoked | UserChanged) -> bool:
    return webhook.grant_id == event.grant_id if isinstance(event, GrantRevoked) else webhook.user_id == event.user_id
