"""An audit log with a store in memory."""

import asyncio
from collections.abc import Collection, Sequence
from typing import Any

from domogate.domain.audit import GENESIS, AuditEntry, AuditRecord, chain
from domogate.domain.ids import Id
from domogate.services.audit import AuditAction, AuditLog, AuditResult
from support.stores import an_id


class MemoryAuditStore:
    """The audit store in memory. The next `failures` appends fail."""

    def __init__(self, *users: Id) -> None:
        self.records: list[AuditRecord] = []
        self.pseudonyms = {user: f"{number:032x}" for number, user in enumerate(users, 1)}
        self.appends: list[int] = []
        self.failures = 0
        self.held: asyncio.Event | None = None
        self.questions = 0

    async def append_audit(self, entries: Sequence[AuditEntry]) -> None:
        await asyncio.sleep(0)
        if self.held is not None:
            await self.held.wait()
        if self.failures:
            self.failures -= 1
            raise OSError("the disk is full")
        self.appends.append(len(entries))
        for entry in entries:
            previous = self.records[-1].hash if self.records else GENESIS
            number = len(self.records) + 1
            self.records.append(AuditRecord(number, entry, chain(previous, number, entry)))

    async def list_audit(self, after: int, limit: int) -> Sequence[AuditRecord]:
        self.questions += 1
        return [record for record in self.records if record.number > after][:limit]

    async def list_newest_audit(self, before: int, limit: int) -> Sequence[AuditRecord]:
        self.questions += 1
        return [record for record in reversed(self.records) if record.number < before][:limit]

    async def list_pseudonyms(self, among: Collection[str] | None = None) -> dict[str, Id]:
        return {name: user_id for user_id, name in self.pseudonyms.items() if among is None or name in among}

    async def prune_audit(self, before: float) -> None:
        self.records = [record for record in self.records if record.entry.at >= before]

    async def find_pseudonyms(self, user_ids: Collection[Id]) -> dict[Id, str]:
        self.questions += 1
        return {user_id: self.pseudonyms[user_id] for user_id in user_ids if user_id in self.pseudonyms}

    async def find_pseudonym(self, user_id: Id) -> str:
        self.questions += 1
        if user_id not in self.pseudonyms:
            raise ValueError("there is no such user")
        return self.pseudonyms[user_id]

    @property
    def whats(self) -> list[str]:
        return [record.entry.what for record in self.records]


USER = an_id(7)
PSEUDONYM = f"user:{1:032x}"


def note(log: AuditLog, what: str = "x", who: str = USER, **other: Any) -> None:
    log.note(AuditAction.LOGIN, who=who, what=what, result=AuditResult.OK, **other)
