"""The lease by which exactly one process delivers a webhook, and the writes that only this process may do."""

import asyncio
from collections.abc import Sequence
from typing import NoReturn

import msgspec

from domogate.domain.webhooks import PendingDelivery, Webhook
from domogate.ports import Clock, WebhookStore
from domogate.services.webhooks.backoff import retry_delay

RETRY = 5.0
"""Seconds after which the lease of another process is checked again."""


class LeaseLost(Exception):
    """Another process delivers this webhook now, or the webhook was deleted or has ended."""


class WebhookLease:
    """The webhook as this process knows it, and until when this process may deliver it."""

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
        """Another process had the lease: do not try before this time."""

    @property
    def was_claimed(self) -> bool:
        """It was claimed and not lost since. It may have expired."""
        return self._until > 0

    @property
    def is_held(self) -> bool:
        """More than half of the time is left, so it need not be claimed again yet."""
        left = self._until - self._clock.now()
        return self._duration / 2 < left <= self._duration

    async def claim(self) -> None:
        """Raises LeaseLost."""
        if self.is_held:
            return
        async with self._claiming:
            # Read again: a caller that held the lock before us may have claimed it.
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
        """All changes up to `position` are handled, and these are pending. `answered`: by the receiver. Raises LeaseLost."""
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
        """Send nothing until the time that is returned, which is later after each failure. Raises LeaseLost."""
        now = self._clock.now()
        self._failures = max(self._failures, self.webhook.failures) + 1
        next_at = now + retry_delay(self._failures, retry_after)
        began = now if since is None else since
        if not await self._store.hold_webhook(self.webhook.id, self._holder, began, next_at, problem):
            self._lose()
        failing_since = began if self.webhook.failing_since is None else self.webhook.failing_since
        self.webhook = msgspec.structs.replace(
            self.webhook,
            failing_since=failing_since,
            failures=self.webhook.failures + 1,
            next_at=next_at,
            problem=problem,
        )
        return next_at
