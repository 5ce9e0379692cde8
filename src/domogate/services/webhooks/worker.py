"""Delivers the events of one webhook, from its position in the change feed.

Only pending deliveries and dead letters have their own rows in the store.
"""

import asyncio
from collections.abc import Awaitable, Collection, Sequence
from itertools import takewhile

from domogate.domain.events import Change
from domogate.domain.ids import Id
from domogate.domain.webhooks import PendingDelivery, Webhook
from domogate.ports import Delivered
from domogate.services.events.notices import find_notice
from domogate.services.webhooks.backoff import find_due_time, is_ahead, retry_delay
from domogate.services.webhooks.batch import Delivery, DeliveryBatch, DeliveryResult, Outcome, find_failures, is_receiver_up
from domogate.services.webhooks.context import DeliveryContext
from domogate.services.webhooks.feed_reader import PAGE, FeedReader
from domogate.services.webhooks.formats import Printed
from domogate.services.webhooks.progress import WebhookProgress
from domogate.services.webhooks.rights import NotCurrent, OnHold, WebhookEnded
from domogate.services.webhooks.short_retries import ShortRetries
from domogate.services.webhooks.signing import message_id, sign_delivery

BLOCKED = 1e12
"""The `next_at` of a pending delivery that waits for an earlier delivery of its module. This time never comes."""
_MANY = 100_000
_RETRY_CURRENT = 1.0
"""In seconds. A gateway that does not know the latest rights tries again after this time."""


class WebhookWorker:
    """Delivers the events of one webhook. Only one call of `run` may be active at a time."""

    def __init__(self, webhook: Webhook, context: DeliveryContext) -> None:
        self._context = context
        self._progress = WebhookProgress(webhook, context.store, context.clock)
        self._feed = FeedReader(context.store, webhook.plant_id)
        self._handled: set[int] = set()
        """Cursors (after the position) of the changes that are already delivered or pending. These changes are skipped."""
        self._short_retries = ShortRetries(context.clock)
        self._batch: DeliveryBatch | None = None
        self.is_stopping = False
        self.reload = True
        """True if the stored webhook may have changed and must be read again."""
        self.paused_until = 0.0
        """A new event does not start a run before this time."""

    @property
    def webhook(self) -> Webhook:
        return self._progress.webhook

    def stop(self) -> None:
        """Start no more posts. Running posts continue until they end."""
        self.is_stopping = True
        if self._batch is not None:
            self._batch.stop()

    def forget_changes(self) -> None:
        """Forget the changes in memory, because this process has missed some. The next run reads the changes from the store."""
        self._feed.reset()

    def add_change(self, change: Change) -> None:
        """Note a committed change of the webhook's plant, so that the next run need not read it from the store."""
        self._feed.add_change(change)

    async def run(self) -> float | None:
        """Deliver all events that wait for this webhook. Return the time of the next run, or None if the next event starts it.

        Raises WebhookEnded, Fenced.
        """
        self.paused_until = 0.0
        now = self._context.clock.now
        try:
            if self.reload:
                self.reload = False
                if await self._progress.reload():
                    self._handled.clear()
            await self._context.rights.get_access(self.webhook)
            if self.webhook.failing_since is not None and is_ahead(self.webhook.next_at, now()):
                return self._pause_until(self.webhook.next_at)
            if (paused_until := self._short_retries.paused_until) is not None:
                return self._pause_until(paused_until)
            return await self._deliver()
        except OnHold as reason:
            self._feed.reset()
            self.reload = True  # the write below may fail
            return self._pause_until(await self._progress.wait_for_user(str(reason)))
        except NotCurrent:
            self._feed.reset()
            return now() + _RETRY_CURRENT
        except BaseException:
            self._feed.reset()
            self.reload = True
            raise

    def _pause_until(self, at: float) -> float:
        self.paused_until = at
        return at

    # new events

    async def _deliver(self) -> float | None:
        if self.webhook.next_at > 0:
            paused_until = await self._retry_pending()
            if paused_until is not None:
                return paused_until
        blocked, next_at = await self._find_blocked()
        if not blocked and self.webhook.failing_since is None:
            await self._progress.forget_wait()
        while not self.is_stopping:
            page = await self._feed.read_page(self.webhook.position)
            if not page:
                break
            paused_until = await self._deliver_page(page, blocked)
            if self.webhook.position < page[-1].cursor:
                self._feed.reset()  # the rest of the page must be read again
            if paused_until is not None:
                return paused_until
        if blocked:
            blocked, next_at = await self._find_blocked()
        return next_at

    async def _find_blocked(self) -> tuple[set[Id | None], float | None]:
        """Return the modules that have a pending delivery, and the earliest time of a next attempt at these deliveries."""
        if self.webhook.next_at <= 0:
            return set(), None
        store, webhook_id = self._context.store, self.webhook.id
        beyond = await store.list_pending(webhook_id, dead=False, after=self.webhook.position, limit=_MANY)
        self._handled.update(item.change.cursor for item in beyond)
        first = await store.list_pending(webhook_id, dead=False, limit=_MANY, due_at=BLOCKED - 1)
        return {item.module_id for item in first}, min((item.next_at for item in first), default=None)

    async def _deliver_page(self, page: Sequence[Change], blocked: set[Id | None]) -> float | None:
        """Deliver a page of changes. If the worker must pause after it, return the time of the next attempt, otherwise None."""
        deliveries = self._find_deliveries(page)
        tried = await self._run_batch([delivery for delivery in deliveries if delivery.module_id not in blocked])
        by_cursor = {result.delivery.cursor: result for result in tried}
        failures = find_failures(tried)
        if failures and not self._short_retries.may_pass(failures):
            return await self._pause(deliveries, failures)
        for result in (soon := self._take_soon(tried)):  # These events stay in the feed, like events that were not tried.
            del by_cursor[result.delivery.cursor]
        results = [by_cursor.get(one.cursor, DeliveryResult(one)) for one in deliveries]
        await self._advance(page[-1].cursor, results, blocked, is_up=is_receiver_up(tried))
        return self._pause_shortly(soon)

    def _find_deliveries(self, page: Sequence[Change]) -> list[Delivery]:
        return [Delivery(change) for change in page if change.cursor not in self._handled]

    async def _run_batch(self, deliveries: Sequence[Delivery]) -> list[DeliveryResult]:
        """Send the deliveries and return their results. Raises WebhookEnded if the receiver wants no more deliveries."""
        self._batch = DeliveryBatch(self._send, is_too_old=self._is_too_old)
        if self.is_stopping:
            self._batch.stop()
        try:
            results = await self._batch.deliver(deliveries)
        finally:
            self._batch = None
        self._context.counters.count(results)
        self._short_retries.count(results)
        for result in results:
            if result.outcome is Outcome.GONE:
                raise WebhookEnded(result.problem)
        return results

    def _take_soon(self, results: Sequence[DeliveryResult]) -> list[DeliveryResult]:
        return self._short_retries.take(result for result in results if not self._is_too_old(result.delivery))

    def _pause_shortly(self, soon: Sequence[DeliveryResult]) -> float | None:
        return self._pause_until(self._short_retries.pause(soon)) if soon else None

    async def _advance(self, last: int, results: Sequence[DeliveryResult], blocked: set[Id | None], *, is_up: bool) -> None:
        """Store the changes that were tried without success, and later changes of the same modules, as pending deliveries.

        If a module must wait for a retry, it is added to the set `blocked`.

        Then move the webhook's position forward. The new position is directly before the first change that was neither tried
        nor stored as pending.
        """
        pending = [
            self._to_pending(result)
            for result in results
            if not result.outcome.is_done and result.outcome is not Outcome.NOT_TRIED
        ]
        blocked.update(item.module_id for item in pending if item.dead_at is None)
        not_tried = [result.delivery for result in results if result.outcome is Outcome.NOT_TRIED]
        next_cursors = (delivery.cursor for delivery in not_tried if delivery.module_id not in blocked)
        position = min(next_cursors, default=last + 1) - 1
        pending += [
            self._new_pending(delivery, attempts=0, next_at=BLOCKED, problem="")
            for delivery in not_tried
            if delivery.cursor <= position and await self._print(delivery) is not None
        ]
        self._handled.update(item.change.cursor for item in pending)
        if pending or position > self.webhook.position or (is_up and self.webhook.failing_since is not None):
            await self._progress.advance(position, pending, is_up=is_up)
        self._handled = {cursor for cursor in self._handled if cursor > position}

    async def _pause(self, deliveries: Sequence[Delivery], failures: Sequence[DeliveryResult]) -> float:
        """Handle a receiver that is down. Give up all events that are too old, and leave all other events in the feed.

        Return the time of the next attempt.
        """
        # Only the events before the first event that is not too old are given up. Otherwise the position would pass this event.
        # Later events can look older if the clock was set back.
        while not self.is_stopping and (too_old := list(takewhile(self._is_too_old, deliveries))):
            problem = failures[0].problem
            dead = [self._give_up(delivery, problem) for delivery in too_old if await self._print(delivery) is not None]
            await self._progress.advance(too_old[-1].cursor, dead, is_up=False)
            self._feed.reset()
            deliveries = self._find_deliveries(await self._feed.read_page(self.webhook.position))
        self._feed.reset()  # The rest of the last page must be read again.
        return await self._back_off(failures)

    async def _back_off(self, failures: Sequence[DeliveryResult]) -> float:
        retry_after = max(result.retry_after or 0.0 for result in failures)
        return self._pause_until(await self._progress.back_off(failures[0].problem, retry_after))

    # pending deliveries

    async def _retry_pending(self) -> float | None:
        """Retry the pending deliveries that are due. Then retry the later deliveries of the same modules, which waited.

        If the worker must pause after these deliveries, return the time of the next attempt. Otherwise return None.
        """
        store = self._context.store
        due_at = find_due_time(self.webhook.next_at, self._context.clock.now())
        due = await store.list_pending(self.webhook.id, dead=False, limit=_MANY, due_at=due_at)
        if not due:
            return None
        open_modules = {item.module_id for item in due}
        after = due[0].change.cursor - 1
        soon: list[DeliveryResult] = []
        is_up = False
        while open_modules and not self.is_stopping:
            items = await store.list_pending(self.webhook.id, dead=False, after=after, limit=PAGE)
            if not items:
                break
            after = items[-1].change.cursor
            chosen = [Delivery(item.change, item.attempts) for item in items if item.module_id in open_modules]
            results = await self._run_batch(chosen)
            is_up = is_up or is_receiver_up(results)
            failures = find_failures(results)
            if self._short_retries.may_pass(failures):
                failures = []
            soon += await self._store_results(results, open_modules, failures)
            if failures:
                return await self._back_off(failures)
        await self._progress.advance(self.webhook.position, is_up=is_up)
        return self._pause_shortly(soon)

    async def _store_results(
        self, results: Sequence[DeliveryResult], open_modules: set[Id | None], failures: Collection[DeliveryResult]
    ) -> list[DeliveryResult]:
        """Store the results.

        Return the results of events that are tried again after a short delay. These results are not stored.

        `failures` are the results that show that the receiver is down. If there are any, a failed event is stored only if it is
        too old; it becomes a dead letter. Events that were not tried stay as they are in the store. If an event of a
        module must wait, the module is removed from `open_modules`.
        """
        store = self._context.store
        writes: list[Awaitable[object]] = []
        soon = [] if failures else self._take_soon(results)
        open_modules.difference_update(result.delivery.module_id for result in soon)
        for result in (result for result in results if result not in soon):
            delivery = result.delivery
            if result.outcome.is_done:
                writes.append(store.remove_pending(self.webhook, delivery.cursor))
            elif result.outcome is Outcome.NOT_TRIED:
                open_modules.discard(delivery.module_id)
            elif not failures or self._is_too_old(delivery):
                item = self._to_pending(result)
                writes.append(store.save_pending(self.webhook, item))
                if item.dead_at is None:
                    open_modules.discard(delivery.module_id)
        await asyncio.gather(*writes)
        return soon

    def _is_too_old(self, delivery: Delivery) -> bool:
        """Whether the delivery becomes a dead letter at once if it fails.

        The result is True if the event is at least `given_up` seconds old. Replayed dead letters are old events too.
        """
        return self._context.clock.now() - delivery.change.at >= self._context.given_up

    def _to_pending(self, result: DeliveryResult) -> PendingDelivery:
        delivery = result.delivery
        self._short_retries.forget(delivery.cursor)
        if self._is_too_old(delivery):
            return self._give_up(delivery, result.problem)
        attempts = delivery.attempts + 1
        next_at = self._context.clock.now() + retry_delay(attempts, result.retry_after)
        return self._new_pending(delivery, attempts=attempts, next_at=next_at, problem=result.problem)

    def _give_up(self, delivery: Delivery, problem: str) -> PendingDelivery:
        self._context.counters.count_dead()
        now = self._context.clock.now()
        return self._new_pending(delivery, attempts=delivery.attempts + 1, next_at=now, problem=problem, dead_at=now)

    def _new_pending(
        self, delivery: Delivery, *, attempts: int, next_at: float, problem: str, dead_at: float | None = None
    ) -> PendingDelivery:
        change, module_id = delivery.change, delivery.module_id
        return PendingDelivery(self.webhook.id, change, module_id, attempts, next_at, problem, dead_at)

    # one event

    async def _print(self, delivery: Delivery) -> Printed | None:
        """Return the body and the headers of the post for this event.

        Return None if the event is not for this webhook. Also return None if the application may not see it.

        Raises WebhookEnded, OnHold, NotCurrent, Fenced.
        """
        webhook = self.webhook
        access = await self._context.rights.get_access(webhook)
        notice = find_notice(delivery.change, access.plant)
        if notice is None or not access.may_get(notice):
            return None
        if webhook.kinds and set(webhook.kinds).isdisjoint(notice.kinds):
            return None
        return self._context.formats.print_notice(webhook.form, notice, access.plant)

    async def _send(self, delivery: Delivery) -> Delivered | None:
        """Post one event, and return the answer of the receiver.

        Return None, without a post, if the event is not for this webhook. Do the same if the application may not see it.

        Raises Undelivered, WebhookEnded, OnHold, NotCurrent, Fenced.
        """
        printed = await self._print(delivery)
        if printed is None:
            return None
        message = message_id(self.webhook.id, delivery.cursor)
        signed = sign_delivery(self.webhook, message, self._context.clock.now(), printed.body)
        post = self._context.sender.post(self.webhook.url, printed.body, {**printed.headers, **signed})
        answer = await self._context.log.record(self.webhook.id, str(delivery.cursor), delivery.attempts + 1, post)
        if 200 <= answer.status < 300:
            self._handled.add(delivery.cursor)
        return answer
