"""Who is to be told something, and that they are: a task for each webhook that has something to do, none for the others."""

import asyncio
import heapq
from collections.abc import Iterable, Mapping, Sequence
from math import inf

import structlog

from domogate.domain.events import Change, GrantRevoked, PlantChanged, StateChanged, UserChanged
from domogate.domain.ids import Id, new_id
from domogate.domain.webhooks import Webhook
from domogate.ports import Audit, Clock, WebhookSender
from domogate.services.audit.log import GATEWAY, AuditAction, AuditResult, client_ref
from domogate.services.events.notices import find_notice
from domogate.services.plants.read_model import ReadModel
from domogate.services.rights.identity_cache import IdentityCache
from domogate.services.webhooks.counters import DeliveryCounters
from domogate.services.webhooks.delivery import Delivery, DeliveryContext, DeliveryStore
from domogate.services.webhooks.formats import WebhookFormats
from domogate.services.webhooks.lease import RETRY
from domogate.services.webhooks.rights import Ended, WebhookRights

_FAILING_AT_ONCE = 64
"""Receivers that did not answer the last time are tried so many at a time: they may take long, and others do not wait."""
_LEASE = 10.0
"""For so long a webhook waits for a process that died while it delivered; one that lives holds on to it."""
_PRUNING = 3_600.0
_GRACE = 2.0
"""For so long deliveries under way may end when the gateway stops."""

_log = structlog.get_logger(__name__)


class Dispatcher:
    """Delivers webhooks. A listener of the store, after the read model."""

    def __init__(
        self,
        store: DeliveryStore,
        identities: IdentityCache,
        read_model: ReadModel,
        webhook_sender: WebhookSender,
        clock: Clock,
        forms: WebhookFormats,
        audit: Audit,
        *,
        given_up: float,
        dead_kept: float,
        poll: float = 5.0,
    ) -> None:
        """In seconds. `poll`: how often it is looked what other processes registered."""
        self._store = store
        self._read_model = read_model
        self._clock = clock
        self._audit = audit
        self._dead_kept = dead_kept
        self._poll = poll
        rights = WebhookRights(identities, read_model, clock)
        self.tally = DeliveryCounters()
        self._kit = DeliveryContext(store, webhook_sender, clock, rights, forms, self.tally, new_id(), _LEASE, given_up)
        self._courses: dict[Id, Delivery] = {}
        self._of_plant: dict[Id, dict[Id, Delivery]] = {}
        self._running: dict[Id, asyncio.Task[None]] = {}
        self._again: set[Id] = set()
        self._alarms: list[tuple[float, Id]] = []
        self._alarm_of: dict[Id, float] = {}
        self._nudged = asyncio.Event()
        self._failing = asyncio.Semaphore(_FAILING_AT_ONCE)
        self._watch: asyncio.Task[None] | None = None
        self._stopping = False

    @property
    def known(self) -> int:
        """How many webhooks are delivered to."""
        return len(self._courses)

    @property
    def busy(self) -> int:
        """How many have deliveries under way."""
        return len(self._running)

    async def start(self) -> None:
        await self._look_around()
        for webhook_id in list(self._courses):
            self.wake(webhook_id)
        self._watch = asyncio.create_task(self._watch_over(), name="webhooks")

    async def stop(self) -> None:
        """What is under way ends within moments or is broken off, to be repeated by whoever delivers next."""
        self._stopping = True
        for course in self._courses.values():
            course.stop()
        if self._watch is not None:
            self._watch.cancel()
            await asyncio.gather(self._watch, return_exceptions=True)
            self._watch = None
        running = list(self._running.values())
        if running:
            await asyncio.wait(running, timeout=_GRACE)
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        await self._store.release_webhooks(self._kit.holder)

    # what there is

    def know(self, webhook: Webhook) -> None:
        """It was registered just now, or found in the store; perhaps both at the same moment."""
        if webhook.id in self._courses:
            return
        course = Delivery(webhook, self._kit)
        self._courses[webhook.id] = course
        self._of_plant.setdefault(webhook.plant_id, {})[webhook.id] = course

    def forget(self, webhook_id: Id) -> None:
        """Nothing is delivered to it from this moment on."""
        course = self._courses.pop(webhook_id, None)
        if course is None:
            return
        course.stop()
        self._alarm_of.pop(webhook_id, None)
        self._again.discard(webhook_id)
        of_plant = self._of_plant[course.webhook.plant_id]
        del of_plant[webhook_id]
        if not of_plant:
            del self._of_plant[course.webhook.plant_id]
        running = self._running.get(webhook_id)
        if running is not None and running is not asyncio.current_task():
            running.cancel()

    def apply(self, changes: Sequence[Change]) -> None:
        """Wake those whom a change may concern, and those whose rights may have changed."""
        for change in changes:
            event = change.event
            if isinstance(event, StateChanged | PlantChanged):
                concerned = self._of_plant.get(event.plant_id)
                if concerned:
                    self._wake_wanting(change, event.plant_id, concerned)
            elif isinstance(event, GrantRevoked | UserChanged):
                self._wake_all(id for id, course in self._courses.items() if _is_of(course.webhook, event))

    def _wake_wanting(self, change: Change, plant_id: Id, concerned: Mapping[Id, Delivery]) -> None:
        plant = self._read_model.find_plant(plant_id)
        about_rights = plant is None or isinstance(change.event, PlantChanged)
        notice = None if plant is None else find_notice(change, plant)
        if notice is None and not about_rights:
            return
        now = self._clock.now()
        for webhook_id, course in concerned.items():
            kinds = course.webhook.kinds
            if about_rights or not kinds or (notice is not None and not set(kinds).isdisjoint(notice.kinds)):
                course.hear(change)
                if about_rights or course.quiet_until <= now:
                    self._wake(webhook_id)

    def _wake_all(self, webhook_ids: Iterable[Id]) -> None:
        for webhook_id in list(webhook_ids):
            self._wake(webhook_id)

    def wake(self, webhook_id: Id) -> None:
        """What is kept of it was changed, or there may be something to do for it."""
        course = self._courses.get(webhook_id)
        if course is not None:
            course.look_anew = True
            self._wake(webhook_id)

    def _wake(self, webhook_id: Id) -> None:
        if webhook_id in self._running:
            self._again.add(webhook_id)
        elif webhook_id in self._courses and not self._stopping:
            self._running[webhook_id] = asyncio.create_task(self._run(webhook_id), name=f"webhook {webhook_id}")

    # doing it

    async def _run(self, webhook_id: Id) -> None:
        try:
            while True:
                self._again.discard(webhook_id)
                course = self._courses.get(webhook_id)
                if course is None:
                    return
                look_again_at = await self._run_course(course)
                if webhook_id not in self._again or self._stopping:
                    break
            if look_again_at is not None:
                self._set_alarm(look_again_at, webhook_id)
        finally:
            del self._running[webhook_id]
            if webhook_id in self._again:
                self._wake(webhook_id)

    async def _run_course(self, course: Delivery) -> float | None:
        webhook = course.webhook
        try:
            if webhook.failing_since is None:
                return await course.run()
            async with self._failing:
                return await course.run()
        except Ended as ended:
            await self._end(webhook, str(ended))
            return None
        except Exception:
            _log.exception("deliveries to a webhook failed; trying again", webhook=webhook.id)
            return self._clock.now() + RETRY

    async def _end(self, webhook: Webhook, why: str) -> None:
        self.forget(webhook.id)
        if why and await self._store.end_webhook(webhook.id, why, self._clock.now()):
            what = f"webhook:{webhook.id} of {client_ref(webhook.client_id)} plant:{webhook.plant_id}"
            self._audit.note(AuditAction.WEBHOOK_ENDED, who=GATEWAY, what=what, result=AuditResult.OK, detail={"why": why})

    # from time to time

    def _set_alarm(self, at: float, webhook_id: Id) -> None:
        if self._alarm_of.get(webhook_id) != at:
            self._alarm_of[webhook_id] = at
            heapq.heappush(self._alarms, (at, webhook_id))
            self._nudged.set()

    def _ring(self) -> None:
        """Wake those whose time has come; an alarm that was set to another time since is passed over."""
        now = self._clock.now()
        while self._alarms and self._alarms[0][0] <= now:
            at, webhook_id = heapq.heappop(self._alarms)
            if self._alarm_of.get(webhook_id) == at:
                del self._alarm_of[webhook_id]
                self._wake(webhook_id)

    async def _watch_over(self) -> None:
        loop = asyncio.get_running_loop()
        look_at, prune_at = loop.time() + self._poll, 0.0
        while True:
            self._ring()
            now = self._clock.now()
            try:
                if loop.time() >= look_at:
                    look_at = loop.time() + self._poll
                    await self._look_around()
                if now >= prune_at:
                    prune_at = now + _PRUNING
                    await self._store.prune_pending(now - self._dead_kept)
            except Exception:
                _log.exception("the webhooks cannot be read; trying again", every=self._poll)
            await self._hold_on()
            pause = max(0.0, min(look_at - loop.time(), _LEASE / 4 if self._running else inf))
            if self._alarms:
                pause = min(pause, max(0.0, self._alarms[0][0] - self._clock.now()))
            self._nudged.clear()
            try:
                async with asyncio.timeout(pause):
                    await self._nudged.wait()
            except TimeoutError:
                pass

    async def _hold_on(self) -> None:
        """To what is being delivered. Should that fail, the next round tries again before the time is up."""
        held = await asyncio.gather(
            *(self._courses[id].hold_on() for id in self._running if id in self._courses), return_exceptions=True
        )
        for failure in held:
            if isinstance(failure, Exception):
                _log.error("a webhook that is delivered to could not be held on to; trying again", exc_info=failure)

    async def _look_around(self) -> None:
        """What other processes did: gateways that register and end, commands that remove and replay."""
        before = set(self._courses)
        now = self._clock.now()
        alive = {webhook.id: webhook for webhook in await self._store.list_webhooks() if webhook.ended_at is None}
        for webhook_id in before - alive.keys():
            self.forget(webhook_id)
        for webhook_id, webhook in alive.items():
            if webhook_id not in self._courses:
                self.know(webhook)
                self.wake(webhook_id)
            elif 0 < webhook.next_at <= now or webhook.secret != self._courses[webhook_id].webhook.secret:
                self.wake(webhook_id)


def _is_of(webhook: Webhook, event: GrantRevoked | UserChanged) -> bool:
    return webhook.grant_id == event.grant_id if isinstance(event, GrantRevoked) else webhook.user_id == event.user_id
