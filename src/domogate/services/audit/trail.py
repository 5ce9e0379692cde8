"""Reads the audit log: list, verify, export.

The hash of each record includes the hash of the record before it. So the chain breaks at a record that was changed, removed or
inserted. A chain alone cannot show that its last records were removed. To detect this, compare the chain with a hash that was
stored outside the database.

When the gateway removes old records, it adds a removal record. The removal record says which records were removed, and has the
hash of the last removed record.
"""

from collections.abc import AsyncIterator, Sequence

import msgspec

from domogate.domain.audit import GENESIS, AuditEntry, AuditRecord, Removal, UnreadableRecord, chain, find_removal
from domogate.domain.ids import Id
from domogate.ports import AuditStore
from domogate.services.audit.actions import AuditResult

_PAGE = 500
_PAGES_OF_A_SEARCH = 40
"""One search reads at most this number of pages, with `_PAGE` records each."""
_DISORDER = 86_400.0
"""In seconds. Records are not always in the order of their times, because somebody may have set the clock back.

A search relies on this: the time of a record is at most `_DISORDER` seconds before the time of each earlier record.
"""
NEWEST = 2**62
"""A number that is larger than the number of every record."""

_encode_record = msgspec.json.Encoder(order="deterministic").encode


class Broken(msgspec.Struct, frozen=True):
    """The first place where the audit log is wrong: the number of the changed, missing or unreadable record, and the reason."""

    number: int
    problem: str


class Verification(msgspec.Struct, frozen=True):
    """The result of a check of the hashes in the audit log.

    A later check can detect that the last records were removed. For this, `last_hash` must be stored outside the database.
    """

    records: int
    last_hash: str
    broken: Broken | None = None
    removed: int = 0
    """The number of records that were removed at the beginning because their retention time was over."""


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
        before: int | None = None,
    ) -> Sequence[AuditRecord]:
        """Return the first `limit` records that have a number above `after` and match action, user and time.

        A record matches a user if the user did the action, or if the action was about the user.

        If `before` is given, return the last `limit` matching records with numbers below `before`, the newest first.
        """
        newest_first = before is not None
        found: list[AuditRecord] = []
        cursor: int | None = after if before is None else before
        while cursor is not None and len(found) < limit and (cursor > after or not newest_first):
            page, cursor = await self.search(
                cursor,
                limit=limit - len(found),
                newest_first=newest_first,
                action=action,
                user_id=user_id,
                since=since,
                until=until,
            )
            found += (record for record in page if record.number > after)
        return tuple(found)

    async def search(
        self,
        cursor: int | None,
        *,
        limit: int,
        newest_first: bool = False,
        action: str | None = None,
        successful: bool | None = None,
        user_id: Id | None = None,
        since: float | None = None,
        until: float | None = None,
    ) -> tuple[Sequence[AuditRecord], int | None]:
        """Return matching records after the record with the number `cursor`, and the cursor for the next records.

        If `newest_first` is true, the records are read from the newest to the oldest: "after" then means a lower number.

        `action` may be several actions, separated by commas. If `successful` is True, return only records with the result `ok`.
        If it is False, return only records with another result. The cursor is None after the last record. One call reads a
        limited number of records. So it may return fewer than `limit` records although there are more.
        """
        criteria = await self._make_criteria(action, successful, user_id, since, until)
        if cursor is None:
            cursor = NEWEST if newest_first else 0
        found: list[AuditRecord] = []
        for _ in range(_PAGES_OF_A_SEARCH):
            read = self._store.list_newest_audit if newest_first else self._store.list_audit
            page = await read(cursor, _PAGE)
            if not page or criteria.is_past(page[0].entry, newest_first=newest_first):
                return found, None
            for record in page:
                if criteria.match(record.entry):
                    if len(found) == limit:
                        return found, found[-1].number
                    found.append(record)
            cursor = page[-1].number
        return found, cursor

    async def _make_criteria(
        self, action: str | None, successful: bool | None, user_id: Id | None, since: float | None, until: float | None
    ) -> "_Criteria":
        actions = None if action is None else frozenset(one.strip() for one in action.split(","))
        name = None if user_id is None else f"user:{await self._store.find_pseudonym(user_id)}"
        return _Criteria(actions, successful, name, since, until)

    async def find_newest(self) -> AuditRecord | None:
        return next(iter(await self._store.list_newest_audit(NEWEST, 1)), None)

    async def verify(self, *, last_hash: str | None = None) -> Verification:
        """Compute the hashes of the chain again, up to the first record that breaks it.

        `last_hash` comes from an earlier check. If no record has this hash now, there are two possible reasons. The last
        records were removed or rewritten. Or the record with this hash was removed at the end of its retention time.
        """
        while True:
            first = await self._find_first_number()
            found = await self._check_chain(_ChainCheck(last_hash))
            # If a gateway removed old records during the check, the chain only seems to be broken: check it again.
            if found.broken is None or await self._find_first_number() == first:
                return found

    async def _check_chain(self, chain_check: "_ChainCheck") -> Verification:
        after, size = 0, _PAGE
        while chain_check.broken is None:
            try:
                page = await self._store.list_audit(after, size)
            except UnreadableRecord as unreadable:  # the readable records before it are still checked
                if size == 1:
                    chain_check.note_unreadable(unreadable.number)
                size = 1
                continue
            if not page:
                break
            for record in page:
                chain_check.check(record)
            after, size = page[-1].number, _PAGE
        return chain_check.finish()

    async def _find_first_number(self) -> int:
        """Return the number of the oldest record, or 0 if there is no record."""
        try:
            page = await self._store.list_audit(0, 1)
        except UnreadableRecord as unreadable:
            return unreadable.number
        return page[0].number if page else 0

    async def export(self, after: int = 0) -> AsyncIterator[bytes]:
        """Yield one line of JSON for each record with a number above `after`. The line has all fields of the record."""
        async for record in self._read(after):
            yield _encode_record(record) + b"\n"

    async def _read(self, after: int) -> AsyncIterator[AuditRecord]:
        while page := await self._store.list_audit(after, _PAGE):
            for record in page:
                yield record
            after = page[-1].number


class _Criteria(msgspec.Struct, frozen=True):
    actions: frozenset[str] | None
    successful: bool | None
    name: str | None
    since: float | None
    until: float | None

    def match(self, entry: AuditEntry) -> bool:
        return (
            (self.actions is None or entry.action in self.actions)
            and (self.successful is None or (entry.result == AuditResult.OK) is self.successful)
            and (self.name is None or self.name in " ".join((entry.who, entry.what, *entry.detail.values())))
            and (self.since is None or entry.at >= self.since)
            and (self.until is None or entry.at < self.until)
        )

    def is_past(self, entry: AuditEntry, *, newest_first: bool) -> bool:
        """Whether this record and all records after it in the order of reading are outside the period.

        The times of records are nearly in order. So the record must be more than `_DISORDER` seconds outside the period.
        """
        if newest_first:
            return self.since is not None and entry.at < self.since - _DISORDER
        return self.until is not None and entry.at > self.until + _DISORDER


class _ChainCheck:
    """Checks the records of the audit log one after the other, up to the first record that breaks the chain."""

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
            # If the first records were removed, the hash before the first remaining record is known only from a removal record.
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

    def note_unreadable(self, number: int) -> None:
        if self.broken is None:
            self.broken = Broken(number, "The record cannot be read.")

    def finish(self) -> Verification:
        first, last = self._first, self._last
        removed = 0 if first is None else first.number - 1
        if self.broken is None:
            self.broken = self._check_beginning() or self._check_end()
        records = 0 if last is None else last.number - removed
        return Verification(records, GENESIS if last is None else last.hash, self.broken, removed)

    def _check_beginning(self) -> Broken | None:
        """Check the first record that is left after a removal.

        The newest removal record has the number and the hash of the last record that was removed. The first record that is
        left must follow this removed record. Return None if it does. Otherwise return the place where the chain is broken.
        """
        first, removal = self._first, self._removal
        if first is None or (first.number == 1 and removal is None):
            return None
        if removal is None or removal.up_to < first.number - 1:
            return Broken(1 if removal is None else removal.up_to + 1, _MISSING)
        if removal.up_to > first.number - 1:
            return Broken(first.number, "A later record says that this one was removed, but it is there.")
        if removal.hash == self._sought:
            self._sought = None
        return None if _follows(first, removal.hash) else Broken(first.number, _CHANGED)

    def _check_end(self) -> Broken | None:
        if self._sought is None:
            return None
        problem = "No record has the last hash of the earlier check: the end was cut off or rewritten"
        if self._removal is not None:
            problem += ", or that record was removed since then"
        return Broken(1 if self._last is None else self._last.number + 1, f"{problem}.")


_MISSING = "The record is missing."
_CHANGED = "The record was changed or moved: its hash does not match."


def _follows(record: AuditRecord, previous: str) -> bool:
    return chain(previous, record.number, record.entry) == record.hash
