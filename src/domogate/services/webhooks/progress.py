"""The stored progress of one webhook. Only one process writes it: in a cluster, the process that holds the plant's shard."""

from collections.abc import Sequence

import msgspec

from domogate.domain.webhooks import PendingDelivery, Webhook
from domogate.ports import Clock, WebhookStore
from domogate.services.webhooks.backoff import retry_delay
from domogate.services.webhooks.rights import WebhookEnded


class WebhookProgress:
    """A webhook, with its position and its failures.

    All methods raise WebhookEnded if the webhook was ended or removed. Methods that write raise Fenced if this gateway of a
    cluster does not hold the plant any more.
    """

    def __init__(self, webhook: Webhook, store: WebhookStore, clock: Clock) -> None:
        self.webhook = webhook
        self._store = store
        self._clock = clock
        self._failures = 0

    async def reload(self) -> bool:
        """Read the webhook from the store. Return whether the stored position differs from the position in memory."""
        found = await self._store.find_webhook(self.webhook.id)
        if found is None or found.ended_at is not None:
            raise WebhookEnded("")
        before, self.webhook = self.webhook, found
        return found.position != before.position

    async def advance(self, position: int, pending: Sequence[PendingDelivery] = (), *, is_up: bool) -> None:
        """Store that all changes up to `position` are handled, and store the `pending` deliveries.

        `is_up` is true if the receiver answered: it accepted or refused an event. Then earlier failures are forgotten, and the
        delay after the next failure is short. If `is_up` is false, a receiver that was unavailable still counts as unavailable.
        """
        if self.webhook.failing_since is not None and not is_up:
            await self._hold(msgspec.structs.replace(self.webhook, position=position), pending)
            return
        if not await self._store.move_webhook(self.webhook, position, pending):
            raise WebhookEnded("")
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

    async def back_off(self, problem: str, retry_after: float | None) -> float:
        """Store that the receiver is unavailable.

        Return the time before which nothing may be sent. The delay until this time grows with each failure.
        """
        began = self._clock.now() if self.webhook.failing_since is None else self.webhook.failing_since
        failures = self.webhook.failures + 1
        failing = msgspec.structs.replace(self.webhook, failing_since=began, failures=failures, problem=problem)
        return await self._wait(failing, retry_after)

    async def wait_for_user(self, problem: str) -> float:
        """Store `problem`: what the user has to do before events can be sent, for example renew the password.

        Nothing was sent, so the receiver does not count as failing.

        Return the time of the next try.
        """
        return await self._wait(msgspec.structs.replace(self.webhook, problem=problem))

    async def forget_wait(self) -> None:
        """If the webhook waited for the user (`wait_for_user`), store that it waits for nothing any more.

        Call this only if nothing is pending and the receiver does not count as unavailable.
        """
        if self.webhook.next_at > 0 and self.webhook.problem:
            await self.advance(self.webhook.position, is_up=False)
        self.webhook = msgspec.structs.replace(self.webhook, next_at=0.0)

    async def _wait(self, webhook: Webhook, retry_after: float | None = None) -> float:
        self._failures = max(self._failures, self.webhook.failures) + 1
        next_at = self._clock.now() + retry_delay(self._failures, retry_after)
        await self._hold(msgspec.structs.replace(webhook, next_at=next_at))
        return next_at

    async def _hold(self, webhook: Webhook, pending: Sequence[PendingDelivery] = ()) -> None:
        if not await self._store.hold_webhook(webhook, pending):
            raise WebhookEnded("")
        self.webhook = webhook
