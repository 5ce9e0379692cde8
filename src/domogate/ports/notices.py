"""What is kept so that applications are told of everything, once tickets were used, and for the safety logbook."""

from collections.abc import Collection, Sequence
from typing import Protocol

import msgspec

from domogate.domain.events import Change
from domogate.domain.ids import Id
from domogate.domain.logbook import LogbookEntry, LogbookKind
from domogate.domain.webhooks import PendingDelivery, Webhook


class FeedStore(Protocol):
    """The changes, for those who were away."""

    async def list_changes_of(self, plant_ids: Collection[Id], after: int, limit: int) -> Sequence[Change]:
        """Only those of these plants, in cursor order."""
        ...

    async def feed_span(self) -> tuple[int, int]:
        """The cursors of the oldest change that is kept and of the newest; (0, 0): there never was one."""
        ...


class WebhookStore(Protocol):
    """Webhooks, how far each has come, and what its receiver did not take."""

    async def add_webhook(self, webhook: Webhook, *, most: int | None = None) -> bool:
        """False when this client has one for this user, plant and URL already, ended ones apart: those are replaced.

        Of the thermostat form there is one for each client, user and plant. Raises TooManyWebhooks when so many of theirs, for
        this user and plant, have not ended.
        """
        ...

    async def find_webhook(self, webhook_id: Id) -> Webhook | None: ...
    async def list_webhooks(
        self, *, client_id: str | None = None, user_id: Id | None = None, plant_id: Id | None = None
    ) -> Sequence[Webhook]:
        """Those that match all that is given, the oldest first; ended ones too."""
        ...

    async def set_webhook_secret(self, webhook_id: Id, secret: str) -> bool: ...
    async def end_webhook(self, webhook_id: Id, why: str, at: float) -> bool:
        """Nothing is delivered any more; what was parked and is not dead is forgotten. False: it had ended, or is not there."""
        ...

    async def delete_webhook(self, webhook_id: Id) -> bool: ...

    async def claim_webhook(self, webhook_id: Id, holder: str, now: float, until: float) -> Webhook | None:
        """Be the one process that delivers it, until then; again to go on. None: another is, it has ended, or is gone."""
        ...

    async def release_webhooks(self, holder: str) -> None: ...
    async def move_webhook(self, webhook_id: Id, holder: str, position: int, parked: Sequence[PendingDelivery] = ()) -> bool:
        """It has come this far, and these were not taken; it is failing no more. False: another holds it by now."""
        ...

    async def hold_webhook(self, webhook_id: Id, holder: str, at: float, next_at: float, problem: str) -> bool:
        """Its receiver cannot be reached: nothing is tried before `next_at`. False: another holds it by now."""
        ...

    async def list_pending(
        self, webhook_id: Id, *, dead: bool, after: int = 0, limit: int, due_at: float | None = None
    ) -> Sequence[PendingDelivery]:
        """By cursor; with `due_at` only those to be tried by then."""
        ...

    async def save_pending(self, parked: PendingDelivery) -> None:
        """Add, or replace what is kept under its webhook and cursor."""
        ...

    async def remove_pending(self, webhook_id: Id, cursor: int) -> bool:
        """It was delivered, or is not wanted any more."""
        ...

    async def replay_dead(self, webhook_id: Id, cursors: Collection[int] | None, at: float) -> int:
        """Try these dead letters again (None: all of them), from now on; how many."""
        ...

    async def prune_pending(self, dead_before: float) -> None: ...


class TicketStore(Protocol):
    """Which tickets were used."""

    async def use_ticket(self, ticket_id: str, expires_at: float) -> bool:
        """True for exactly one caller, over all processes, whatever happens afterwards."""
        ...

    async def prune_tickets(self, before: float) -> None:
        """Forget those that had expired by then: no longer accepted, they need not be remembered."""
        ...


class StoredEntry(msgspec.Struct, frozen=True):
    """An entry of a logbook and its number, which grows."""

    number: int
    entry: LogbookEntry


class LogbookStore(Protocol):
    """The logbooks. What units report is logged by the store itself, in the commit that keeps the report."""

    async def add_logbook_entry(self, entry: LogbookEntry) -> int:
        """Its number. ValueError when there is no such plant, or no such module in it."""
        ...

    async def list_logbook(
        self,
        plant_id: Id,
        *,
        since: float = 0.0,
        until: float | None = None,
        kinds: Collection[LogbookKind] = (),
        after: int = 0,
        limit: int,
    ) -> Sequence[StoredEntry]:
        """In the order of their numbers."""
        ...
