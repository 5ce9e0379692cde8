"""The port for the stored audit log."""

from collections.abc import Collection, Sequence
from typing import Protocol

from domogate.domain.audit import AuditEntry, AuditRecord
from domogate.domain.ids import Id


class AuditStore(Protocol):
    """Stores the hash-chained audit log, and the pseudonyms of users in it."""

    async def append_audit(self, entries: Sequence[AuditEntry]) -> None:
        """Append the entries to the chain, in order."""
        ...

    async def list_audit(self, after: int, limit: int) -> Sequence[AuditRecord]:
        """Return the first `limit` records whose numbers are greater than `after`, ordered by number.

        Raise UnreadableRecord if one of them cannot be decoded.
        """
        ...

    async def list_newest_audit(self, before: int, limit: int) -> Sequence[AuditRecord]:
        """Return the newest `limit` records whose numbers are lower than `before`, the newest first.

        Raise UnreadableRecord if one of them cannot be decoded.
        """
        ...

    async def list_pseudonyms(self, among: Collection[str] | None = None) -> dict[str, Id]:
        """Return the id of the user for each pseudonym. If `among` is given, return only the users with these pseudonyms."""
        ...

    async def prune_audit(self, before: float) -> None:
        """Remove the records that are older than the time `before`.

        Add a record of the removal, so that the chain stays verifiable. Raise UnreadableRecord if a record cannot be decoded.
        """
        ...

    async def find_pseudonyms(self, user_ids: Collection[Id]) -> dict[Id, str]:
        """Return the pseudonyms of these users, by user id. A user without a pseudonym gets one. Unknown users are left out."""
        ...

    async def find_pseudonym(self, user_id: Id) -> str:
        """Return the user's pseudonym in the audit log. It is created at first use and deleted with the user.

        Raise ValueError if there is no such user.
        """
        ...
