"""Being the one process that delivers a webhook, and what only that one may write of it."""

import asyncio
from collections.abc import Sequence
from typing import NoReturn

import msgspec

from domogate.domain.webhooks import PendingDelivery, Webhook
from domogate.ports import Clock, WebhookStore
from domogate.services.webhooks.backoff import pause

RETRY = 5.0
"""After so many seconds it is looked whether the process that delivers is still there."""


class Lost(Exception):
    """Another process delivers by now, or there is nothing to deliver to any more."""


class WebhookLease:
    """A webhook as it is known here, held for a time and held on to while there is something to do."""

    def __init__(self, webhook: Webhook, store: WebhookStore, clock: Clock, *, holder: str, lease: float) -> None:
        self.webhook = webhook
        self._store = store
        self._clock = clock
        self._holder = holder
        self._lease = lease
        self._until = 0.0
        self._failures = 0
        self._claiming = asyncio.Lock()
        self.others_until = 0.0
        """Another process had it the last time we asked: not worth asking again before."""

    @property
    def began(self) -> bool:
        """Whether it was claimed, and not lost since."""
        return self._until > 0

    @property
    def held(self) -> bool:
        """For more than half of the time yet: it is claimed again before it could be lost."""
        left = self._until - self._clock.now()
        return self._lease / 2 < left <= self._lease

    async def claim(self) -> None:
        """Raises Lost."""
        if self.held:
            return
        async with self._claiming:
            now = self._clock.now()
            if self._lease / 2 < self._until - now <= self._lease:  # by whoever was in here before us
                return
            claimed = await self._store.claim_webhook(self.webhook.id, self._holder, now, now + self._lease)
            if claimed is None:
                self._lose()
            self.webhook, self._until = claimed, now + self._lease

    def _lose(self) -> NoReturn:
        self._until, self.others_until = 0.0, self._clock.now() + RETRY
        raise Lost

    async def move(self, position: int, pending: Sequence[PendingDelivery] = (), *, reached: bool = True) -> None:
        """It has come this far, and these were not taken. `reached`: the receiver answered. Raises Lost."""
        if not await self._store.move_webhook(self.webhook.id, self._holder, position, pending):
            self._lose()
        if reached:
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

    async def hold(self, problem: str, asked_for: float | None = None, since: float | None = None) -> float:
        """Leave the receiver alone until then, longer each time. Raises Lost."""
        now = self._clock.now()
        self._failures = max(self._failures, self.webhook.failures) + 1
        next_at = now + pause(self._failures, asked_for)
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
