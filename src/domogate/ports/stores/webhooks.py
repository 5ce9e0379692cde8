"""The port for stored webhooks and their pending deliveries."""

from collections.abc import Callable, Collection, Sequence
from typing import Protocol

from domogate.domain.ids import Id
from domogate.domain.webhooks import PendingDelivery, Webhook


class WebhookStore(Protocol):
    """Stores webhooks.

    With each webhook, it stores the position in the change feed, and the deliveries that the receiver did not accept.
    """

    async def add_webhook(self, webhook: Webhook, *, most: int | None = None) -> bool:
        """Add a webhook. It replaces similar ended webhooks.

        A webhook is similar if it has the same client, user, plant and URL. If the new webhook has the thermostat format, a
        webhook is also similar if it has the same client, user and plant, and this format.

        If there is a similar active webhook, add nothing and return False. Otherwise, raise TooManyWebhooks if the client has
        `most` or more active webhooks for this user and plant.
        """
        ...

    async def find_webhook(self, webhook_id: Id) -> Webhook | None: ...
    async def list_webhooks(
        self,
        *,
        client_id: str | None = None,
        user_id: Id | None = None,
        plant_id: Id | None = None,
        with_dead: bool = False,
    ) -> Sequence[Webhook]:
        """Return the webhooks that match all given arguments, oldest first, including ended webhooks.

        If `with_dead` is true, return only webhooks that have dead letters.
        """
        ...

    async def list_active_webhooks(self, is_wanted: Callable[[Id], bool]) -> Sequence[Webhook]:
        """Return the active webhooks of the plants for which `is_wanted` returns True.

        Other webhooks are not read from the database. `is_wanted` is called on another thread.
        """
        ...

    async def set_webhook_secret(self, webhook_id: Id, secret: str) -> bool: ...
    async def end_webhook(self, webhook_id: Id, why: str, at: float) -> bool:
        """Stop delivery, delete pending deliveries and keep dead letters.

        Return False if the webhook is unknown or has already ended.
        """
        ...

    async def delete_webhook(self, webhook_id: Id) -> bool: ...

    # The progress of deliveries. The methods below that get a Webhook raise Fenced if another gateway of the cluster holds the
    # plant.

    async def move_webhook(self, webhook: Webhook, position: int, pending: Sequence[PendingDelivery] = ()) -> bool:
        """Set the position of the webhook in the change feed, store the deliveries `pending`, and forget earlier failures.

        Return False if the webhook has ended or was deleted.
        """
        ...

    async def hold_webhook(self, webhook: Webhook, pending: Sequence[PendingDelivery] = ()) -> bool:
        """Store until when and why the webhook waits (`next_at`, `failing_since`, `failures`, `problem`), and its `position`.

        `pending` are events up to `position` whose delivery waits or was given up. They are stored in the same commit.

        Return False if the webhook has ended or was deleted.
        """
        ...

    async def list_pending(
        self, webhook_id: Id, *, dead: bool, after: int = 0, limit: int, due_at: float | None = None
    ) -> Sequence[PendingDelivery]:
        """Return pending deliveries after the cursor `after`, in cursor order. If `dead` is true, return dead letters instead.

        If `due_at` is given, return only deliveries whose next attempt is at or before this time.
        """
        ...

    async def save_pending(self, webhook: Webhook, pending: PendingDelivery) -> None:
        """Add the delivery, or replace the delivery with the same webhook and cursor."""
        ...

    async def remove_pending(self, webhook: Webhook, cursor: int) -> bool:
        """Remove a delivery that succeeded or is not wanted any more. Return False if the delivery does not exist."""
        ...

    async def replay_dead(self, webhook_id: Id, cursors: Collection[int] | None, at: float) -> int:
        """Make these dead letters (None means all) pending again from the time `at` on. Return their number."""
        ...

    async def prune_pending(self, dead_before: float) -> None: ...
