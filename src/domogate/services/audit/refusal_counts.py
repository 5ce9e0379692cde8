"""Counts repeated refusals, so that they cannot fill the audit log.

Anybody can cause refusals without cost. Refusals are of the same kind if they differ only in their times, or in IP addresses of
one network. In each minute, the first refusal of a kind gets an entry at once. All its repetitions in this minute share one
more entry, which has their number.

An actor can cause many kinds of refusals. In each minute, at most `KINDS_NOTED` kinds of an actor's refusals of one action get
such entries. The refusals of all further kinds share one entry. All callers who did not authenticate count as one actor.
"""

import asyncio
from collections import Counter
from collections.abc import Callable
from itertools import chain

import msgspec

from domogate.common.networks import network_of
from domogate.domain.audit import AuditEntry
from domogate.ports import Clock

KINDS_NOTED = 20
MINUTE = 60.0
_CAPACITY = 5_000
"""The largest number of kinds that are counted at the same time. When it is reached, the next `add` first writes the counts."""


class _Kind:
    """The refusals of one kind, or all refusals that share one entry because their actor caused too many kinds."""

    __slots__ = ("entry", "repeats")

    def __init__(self, entry: AuditEntry) -> None:
        self.entry = entry
        self.repeats = 0


class RefusalCounts:
    """Counts the refusals of the current minute. `append` adds an entry to the audit log."""

    def __init__(self, append: Callable[[AuditEntry], None], clock: Clock) -> None:
        self._append = append
        self._clock = clock
        self._begun = 0.0
        self._kinds: dict[tuple[str, ...], _Kind] = {}
        self._noted: Counter[tuple[str, str]] = Counter()
        self._timer: asyncio.TimerHandle | None = None

    def add(self, entry: AuditEntry) -> None:
        """Append the refusal to the log if it is the first of its kind in this minute. Otherwise only count it.

        If `KINDS_NOTED` kinds of this actor and action have entries in this minute, further kinds are only counted. `sum_up`
        writes the counts.
        """
        if len(self._kinds) >= _CAPACITY or not self._begun <= entry.at < self._begun + MINUTE:
            self.sum_up()
            self._begun = entry.at
        actor, network = (entry.action, entry.who), network_of(entry.address)
        key = _key_of(entry, network)
        kind = self._kinds.get(key)
        if kind is None and self._noted[actor] < KINDS_NOTED:
            self._noted[actor] += 1
            self._kinds[key] = _Kind(msgspec.structs.replace(entry, address=network))
            self._append(entry)
            return
        if kind is None:
            others = AuditEntry(entry.at, entry.action, entry.who, "refusals of other kinds", entry.result)
            kind = self._kinds.setdefault(actor, _Kind(others))
        self._repeat(kind)

    def count(self, entry: AuditEntry) -> bool:
        """Count the refusal if an entry of this minute is of the same kind, and return True. Otherwise return False.

        The caller need not clean the texts of `entry` first (`_clean` in log.py shortens them and replaces characters). The
        texts in `_kinds` are clean. So if a text of `entry` is not clean, the result is False. If the result is False, clean
        the texts of `entry` and call `add`.
        """
        if not self._begun <= entry.at < self._begun + MINUTE:
            return False
        kind = self._kinds.get(_key_of(entry, network_of(entry.address)))
        if kind is not None:
            self._repeat(kind)
        return kind is not None

    def _repeat(self, kind: _Kind) -> None:
        kind.repeats += 1
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(MINUTE, self.sum_up)

    def sum_up(self) -> None:
        """For each kind of refusal that was repeated, add one entry with the number of repetitions to the log.

        Then begin to count again. This method is called at the latest a minute after the first repetition.
        """
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        now = self._clock.now()
        for kind in self._kinds.values():
            if kind.repeats:
                detail = {**kind.entry.detail, "repeats": str(kind.repeats)}
                self._append(msgspec.structs.replace(kind.entry, at=now, detail=detail))
        self._kinds.clear()
        self._noted.clear()
        self._begun = 0.0


def _key_of(entry: AuditEntry, network: str) -> tuple[str, ...]:
    key = (entry.action, entry.who, entry.what, entry.result, network)
    return (*key, *chain.from_iterable(sorted(entry.detail.items()))) if entry.detail else key
