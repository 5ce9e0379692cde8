"""The lease of a webhook. Only the process that holds it delivers the webhook and writes its progress."""

import asyncio
from collections.abc import Sequence
from typing import NoReturn

import msgspec

from domogate.domain.webhooks import PendingDelivery, Webhook
from domogate.ports import Clock, WebhookStore
from domogate.services.webhooks.backoff import retry_delay

RETRY = 5.0
"""In seconds. If another process has the lease, this process tries again after this time."""


class LeaseLost(Exception):
    """Another process delivers this webhook now, or the webhook was deleted or has ended. This process stops delivering it."""


class WebhookLease:
    """A webhook, and the time until which this process may deliver it."""

    def __init__(self, webhook: Webhook, store: WebhookStore, clock: Clock, *, holder: str, duration: float) -> None:
        self.webhook = webhook
        self._store = store
        self._clock = clock
        self._holder = holder
        self._duration = duration
        self._until = 0.0
        self._failures = 0
        self._claiming = asyncio.Lock()
        self.retry_at = 0.0
        """Another process had the lease. Do not try again before this time."""

    @property
    def was_claimed(self) -> bool:
        """Whether the lease was claimed and not lost since then. It may have expired."""
        return self._until > 0

    @property
    def is_held(self) -> bool:
        """Whether more than half of the time is left, so that the lease need not be renewed yet."""
        left = self._until - self._clock.now()
        return self._duration / 2 < left <= self._duration

    async def claim(self) -> None:
        """Claim or renew the lease, if needed. Raises LeaseLost."""
        if self.is_held:
            return
        async with self._claiming:
            # Checked again, because the caller that had the lock before may have claimed the lease.
            now = self._clock.now()
            if self._duration / 2 < self._until - now <= self._duration:
                return
            claimed = await self._store.claim_webhook(self.webhook.id, self._holder, now, now + self._duration)
            if claimed is None:
                self._lose()
            self.webhook, self._until = claimed, now + self._duration

    def _lose(self) -> NoReturn:
        self._until, self.retry_at = 0.0, self._clock.now() + RETRY
        raise LeaseLost

    async def advance(self, position: int, pending: Sequence[PendingDelivery] = (), *, answered: bool = True) -> None:
        """Store that all changes up to `position` are handled and which are pending. Raises LeaseLost.

        If `answered` is true, the receiver works again, so the next failure has a short delay. If it is false, the delays still
        grow.
        """
        if not await self._store.move_webhook(self.webhook.id, self._holder, position, pending):
            self._lose()
        if answered:
            self._failures = 0
        waiting = self.webhook.next_at > 0 or any(item.dead_at is None for item in pending)
        self.webhook = msgspec.structs.replace(
            self.webhook,
            position=position,
            failing_since=None,
            failures=0,
            problem="",
            next_at=self._clock.now() if waiting else 0.0,
        )

    async def back_off(self, problem: str, retry_after: float | None = None, since: float | None = None) -> float:
        """Store the failure. Return the time before which nothing may be sent; it grows with each failure. Raises LeaseLost."""
        now = self._clock.now()
        self._failures = max(self._failures, self.webhook.failures) + 1
        next_at = now + retry_delay(self._failures, retry_after)
        began = now if since is None else since
        if not await self._store.hold_webhook(self.webhook.id, self._holder, began, next_at, problem):
            self._lose()
        failing_since = began if self.webhook.failing_since is None else self.webhook.failing_since
        self.webhook = msgspec.structs.replace(
            self.webhook, failing_since=failing_since, failures=self.webhook.failures + 1, next_at=next_at, problem=problem
        )
        return next_at
