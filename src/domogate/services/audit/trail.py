"""The audit log, as it is read: listed, verified, exported.

Each record's hash covers the hash before it, so a record that was changed, removed or put in between breaks the chain there.
What no chain can show by itself is that its end was cut off: for that a hash kept elsewhere is compared.

Where old records were removed, the last record of a removal says up to which, and what the first that is left follows.
"""

from collections.abc import AsyncIterator, Iterable, Sequence

import msgspec

from domogate.domain.audit import GENESIS, AuditRecord, Removal, UnreadableRecord, chain, find_removal
from domogate.domain.ids import Id
from domogate.ports import AuditStore

_PAGE = 500

_encode_record = msgspec.json.Encoder(order="deterministic").encode
_decode_record = msgspec.json.Decoder(AuditRecord).decode


class Broken(msgspec.Struct, frozen=True):
    """The first record that is not what was written, or the place where one is missing."""

    number: int
    problem: str


class Verification(msgspec.Struct, frozen=True):
    """How far the chain holds. Keep `last_hash` elsewhere: with it a later check notices an end that was cut off."""

    records: int
    last_hash: str
    broken: Broken | None = None
    removed: int = 0
    """How many before the first were removed because they had been kept long enough."""


class AuditTrail:
    """Reads the audit log of a store."""

    def __init__(self, store: AuditStore) -> None:
        self._store = store

    async def list(
        self,
        *,
        after: int = 0,
        limit: int = 100,
        action: str | None = None,
        user_id: Id | None = None,
        since: float | None = None,
        until: float | None = None,
    ) -> Sequence[AuditRecord]:
        """The first `limit` records after number `after` of that action, by or about that user, in that time."""
        name = None if user_id is None else f"user:{await self._store.find_pseudonym(user_id)}"
        found: dict[int, AuditRecord] = {}
        async for record in self._read(after):
            entry = record.entry
            if (
                (action is None or entry.action == action)
                and (name is None or name in " ".join((entry.who, entry.what, *entry.detail.values())))
                and (since is None or entry.at >= since)
                and (until is None or entry.at < until)
            ):
                found[record.number] = record
            if len(found) >= limit:
                break
        return tuple(found.values())[:limit]

    async def find_newest(self) -> AuditRecord | None:
        """In few steps although the store lists forwards only."""
        newest: AuditRecord | None = None
        after, step = 0, 1
        while step:
            page = await self._store.list_audit(after + step - 1, 1)
            if page:
                newest = page[0]
                after, step = newest.number, step * 2
            else:
                step //= 2
        return newest

    async def verify(self, *, last_hash: str | None = None) -> Verification:
        """Recompute the chain up to the first record that breaks it.

        `last_hash` is one that was the last at an earlier check: if no record has it now, the end was cut off or made anew.
        """
        links = _Links(last_hash)
        after, size = 0, _PAGE
        while links.broken is None:
            try:
                page = await self._store.list_audit(after, size)
            except UnreadableRecord as unreadable:  # one of these; those before it are still to be checked
                if size == 1:
                    links.find_unreadable(unreadable.number)
                size = 1
                continue
            if not page:
                break
            for record in page:
                links.check(record)
            after, size = page[-1].number, _PAGE
        return links.finish()

    async def export(self, after: int = 0) -> AsyncIterator[bytes]:
        """JSON lines, one a record, each with number, entry and hash; `verify_export` checks them anywhere."""
        async for record in self._read(after):
            yield _encode_record(record) + b"\n"

    async def _read(self, after: int) -> AsyncIterator[AuditRecord]:
        while page := await self._store.list_audit(after, _PAGE):
            for record in page:
                yield record
            after = page[-1].number


def verify_export(lines: Iterable[bytes], *, last_hash: str | None = None) -> Verification:
    """As AuditTrail.verify, for a whole export."""
    links = _Links(last_hash)
    number = 0
    for line in lines:
        number += 1
        try:
            record = _decode_record(line)
        except ValueError:
            links.find_unreadable(number)
            continue
        links.check(record)
        number = record.number
    return links.finish()


class _Links:
    """Goes along a chain until it breaks."""

    def __init__(self, last_hash: str | None) -> None:
        self._sought = None if last_hash in (None, GENESIS) else last_hash
        self._first: AuditRecord | None = None
        self._last: AuditRecord | None = None
        self._removal: Removal | None = None
        self.broken: Broken | None = None

    def check(self, record: AuditRecord) -> None:
        if self.broken is not None:
            return
        last, self._last = self._last, record
        if last is None:
            self._first = record
            # What a later one follows is known only when a removal was found.
            holds = record.number > 1 or _follows(record, GENESIS)
        elif record.number != last.number + 1:
            self._last, self.broken = last, Broken(last.number + 1, _MISSING)
            return
        else:
            holds = _follows(record, last.hash)
        if not holds:
            self._last, self.broken = last, Broken(record.number, _CHANGED)
            return
        self._removal = find_removal(record.entry) or self._removal
        if record.hash == self._sought:
            self._sought = None

    def find_unreadable(self, number: int) -> None:
        if self.broken is None:
            self.broken = Broken(number, "The record cannot be read as one.")

    def finish(self) -> Verification:
        first, last = self._first, self._last
        removed = 0 if first is None else first.number - 1
        if self.broken is None:
            self.broken = self._check_beginning() or self._check_end()
        records = 0 if last is None else last.number - removed
        return Verification(records, GENESIS if last is None else last.hash, self.broken, removed)

    def _check_beginning(self) -> Broken | None:
        """The last removal says what the first record is, and what it follows."""
        first, removal = self._first, self._removal
        if first is None or (first.number == 1 and removal is None):
            return None
        if removal is None or removal.up_to < first.number - 1:
            return Broken(1 if removal is None else removal.up_to + 1, _MISSING)
        if removal.up_to > first.number - 1:
            return Broken(first.number, "The record was removed, as a later one says, and is there again.")
        if removal.hash == self._sought:
            self._sought = None
        return None if _follows(first, removal.hash) else Broken(first.number, _CHANGED)

    def _check_end(self) -> Broken | None:
        if self._sought is None:
            return None
        problem = "No record has the hash that was last before: the end was cut off or made anew"
        if self._removal is not None:
            problem += ", or that record is among those removed since"
        return Broken(1 if self._last is None else self._last.number + 1, f"{problem}.")


_MISSING = "The record is missing."
_CHANGED = "The record, or its place, is not what was written: its hash does not follow."


def _follows(record: AuditRecord, previous: str) -> bool:
    return chain(previous, record.number, record.entry) == record.hash
