"""Writes the audit log. Entries are collected in memory and appended to the store in batches.

The log names people by pseudonyms. The link from a pseudonym to a person is stored separately and deleted with the person.
So the data of a person can be erased, and every hash of the chain stays valid.
"""

import asyncio
import re
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Protocol

from domogate.common.log import get_logger
from domogate.domain.audit import AuditEntry
from domogate.domain.commands import OrderRecord, OrderState, end_after
from domogate.domain.events import Change, ChangesLost, UserChanged
from domogate.domain.faults import DeviceOffline, DeviceRefused, DeviceTimeout, Fault, Internal, NotYourPlant, ScopeMissing
from domogate.domain.ids import DASHED_UUID, Id
from domogate.domain.people import Principal
from domogate.ports import Audit, AuditStore, Clock
from domogate.services.audit.actions import GATEWAY, GONE, AuditAction, AuditResult
from domogate.services.audit.refusal_counts import RefusalCounts
from domogate.services.audit.trail import AuditTrail

_log = get_logger(__name__)


_USER = re.compile(r"user:([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})", re.IGNORECASE | re.ASCII)
_EMAIL = re.compile(r"[^\s@<>,;:\"']+@[^\s@<>,;:\"']+")
_MAX_TEXT = 500
_MAX_DETAILS = 20
_STOP_ATTEMPTS = 3


def user_ref(user_id: Id) -> str:
    """Return the text that names a user in an entry.

    When the log writes the entry, it replaces the id in this text by the user's pseudonym.
    """
    return f"user:{user_id}"


def client_ref(client_id: str) -> str:
    return f"client:{client_id}"


def key_ref(subscription_id: Id) -> str:
    return f"key:{subscription_id}"


_AUDITED_REFUSALS = (NotYourPlant, ScopeMissing)
"""`note_refusal` records only these refusals. Their callers have a valid token, so strangers cannot cause such entries."""


def note_refusal(audit: Audit, principal: Principal, operation: str, refusal: Exception, address: str) -> None:
    """Record the refusal if the user has no right on the plant, or the token lacks a scope. Other refusals are not recorded."""
    if isinstance(refusal, _AUDITED_REFUSALS):
        what = f"{operation} {type(refusal).__name__} by {client_ref(principal.client_id)}".strip()
        audit.note(AuditAction.REFUSAL, who=principal.user_id, what=what, result=AuditResult.REFUSED, address=address)


class AuditedCall(Protocol):
    """A call that is written to the audit log: the caller, and the IP address that the call came from."""

    @property
    def principal(self) -> Principal: ...
    @property
    def address(self) -> str: ...


def note_done(audit: Audit, call: AuditedCall, action: AuditAction, what: str) -> None:
    """Record that the caller did this action, with the result OK. `what` is the object of the action, such as a plant."""
    audit.note(action, who=user_ref(call.principal.user_id), what=what, result=AuditResult.OK, address=call.address)


_AUDITED_FAILURES = (DeviceOffline, DeviceTimeout, DeviceRefused, Internal)
"""`note_command` records only these faults. Any other fault, such as NoPlug, means that there was no command."""


def note_command(audit: Audit, user_id: Id, what: str, outcome: OrderRecord | Fault, address: str) -> None:
    """Record a command to a device, with the result OK if the device confirmed it, otherwise with the result FAILED.

    `outcome` is the order of the command, or the fault that ended the command. If the fault means that there was no command,
    nothing is recorded.
    """
    if isinstance(outcome, OrderRecord):
        state, detail = outcome.state, {"order": outcome.order.id}
    elif isinstance(outcome, _AUDITED_FAILURES):
        # If the gateway failed, the device may have executed the command.
        state, detail = OrderState.UNKNOWN if isinstance(outcome, Internal) else end_after(outcome), {}
    else:
        return
    result = AuditResult.OK if state is OrderState.CONFIRMED else AuditResult.FAILED
    who, detail["state"] = user_ref(user_id), state
    audit.note(AuditAction.COMMAND, who=who, what=what, result=result, address=address, detail=detail)


class AuditLog(AuditTrail):
    """Records actions without waiting for the store. It also has the methods of AuditTrail, such as list, verify, export."""

    def __init__(
        self,
        store: AuditStore,
        clock: Clock,
        *,
        capacity: int = 10_000,
        batch: int = 250,
        gather: float = 0.2,
        retry: float = 5.0,
        cached_users: int = 10_000,
    ) -> None:
        """`gather`: entries are collected for this number of seconds and then written together.

        A crash loses the entries that are not written yet. It also loses the counts of repeated refusals (see `RefusalCounts`)
        that are not written yet.
        """
        super().__init__(store)
        self._clock = clock
        self._capacity = capacity
        self._batch = batch
        self._gather = gather
        self._retry = retry
        self._cached_users = cached_users
        self._buffer: deque[AuditEntry] = deque()
        self._dropped = 0
        self._pseudonyms: dict[Id, str] = {}
        self._former_pseudonyms: dict[Id, str] = {}
        """The pseudonyms of changed users, for entries from before the change.

        Such a user may be deleted now, or deleted and added again with a new pseudonym.
        """
        self._user_changes = 0
        self._refusals = RefusalCounts(self._append, clock)
        self._noted = asyncio.Event()
        self._flushing = asyncio.Lock()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._task = asyncio.create_task(self._write_regularly(), name="audit log")

    async def stop(self) -> None:
        """Write all entries that are still in memory. If the store cannot write them, one log line says how many."""
        if self._task is not None:
            async with self._flushing:  # waits for a running write
                self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None
        self._refusals.sum_up()
        for attempt in range(1, _STOP_ATTEMPTS + 1):
            try:
                while self._buffer or self._dropped:
                    await self.flush()
                return
            except Exception as error:
                _log.error("audit entries not written", entries=len(self._buffer), attempt=attempt, exc_info=error)
                await asyncio.sleep(min(self._retry, 1.0))
        _log.error("audit entries lost when the gateway stopped", entries=len(self._buffer) + self._dropped)

    def note(
        self, action: str, *, who: str, what: str, result: str, address: str = "", detail: Mapping[str, str] | None = None
    ) -> None:
        """Add an entry, which is written soon. `who` is the actor, for example a user id. `what` is the object of the action.

        An entry whose result is not `ok` counts as a refusal. Repeated refusals get one common entry, which has a count.
        """
        now = self._clock.now()
        if result != AuditResult.OK:
            # Strangers can cause many refusals, so a repetition is counted before its texts are cleaned.
            refusal = AuditEntry(now, action, who, what, result, address, dict(detail or {}))
            if self._refusals.count(refusal):
                return
        details = {_clean(name): _clean(text) for name, text in list(detail.items())[:_MAX_DETAILS]} if detail else {}
        # In `who`, a user may be given as the id alone, without the prefix `user:`.
        actor = who if ":" in who or DASHED_UUID.parse_id(who) is None else user_ref(Id(who))
        texts = (action, actor, what, result, address)
        # Most texts need no change. One check of all of them takes less time than a check of each text.
        if len(together := "".join(texts)) > _MAX_TEXT or not together.isprintable():
            action, actor, what, result, address = map(_clean, texts)
        entry = AuditEntry(now, action, actor, what, result, address, details)
        if result == AuditResult.OK:
            self._append(entry)
        else:
            self._refusals.add(entry)

    def _append(self, entry: AuditEntry) -> None:
        """Add the entry to the buffer. If the buffer is full, drop the entry and count it."""
        if len(self._buffer) >= self._capacity:
            self._dropped += 1
            return
        if self._dropped:
            self._note_dropped()
        self._buffer.append(entry)
        self._noted.set()

    async def find_pseudonym(self, user_id: Id) -> str:
        """Return the user's pseudonym and cache it. Raises ValueError if there is no such user.

        Call this before you delete a user. The deletion is recorded after the user was deleted. At that time only the cache has
        the pseudonym.
        """
        found = await self._find_pseudonyms((user_id,))
        if user_id not in found:
            raise ValueError(f"there is no user {user_id}")
        return found[user_id]

    async def _find_pseudonyms(self, user_ids: Collection[Id]) -> dict[Id, str]:
        known = {user_id: self._pseudonyms[user_id] for user_id in user_ids if user_id in self._pseudonyms}
        missing = [user_id for user_id in user_ids if user_id not in known]
        if not missing:
            return known
        changes = self._user_changes
        found = await self._store.find_pseudonyms(missing)
        if changes == self._user_changes:
            self._pseudonyms |= found
            _drop_oldest(self._pseudonyms, self._cached_users)
        else:  # A user may be deleted now: the entries of this user still need the pseudonym.
            self._former_pseudonyms |= found
            _drop_oldest(self._former_pseudonyms, self._cached_users)
        former = self._former_pseudonyms
        return known | {user_id: former[user_id] for user_id in missing if user_id in former} | found

    def apply(self, changes: Sequence[Change]) -> None:
        """Remove the pseudonyms of changed users from the cache. This method must be a listener of the store."""
        for change in changes:
            if isinstance(change.event, UserChanged):
                self._user_changes += 1
                if (pseudonym := self._pseudonyms.pop(change.event.user_id, None)) is not None:
                    self._former_pseudonyms[change.event.user_id] = pseudonym
            elif isinstance(change.event, ChangesLost):
                self._user_changes += 1
                self._former_pseudonyms |= self._pseudonyms
                self._pseudonyms.clear()
        _drop_oldest(self._former_pseudonyms, self._cached_users)

    async def flush(self) -> None:
        """Wait until all earlier entries are on disk.

        Raises the errors of the store. After an error the entries are still in memory.
        """
        # The task continues if the caller is cancelled. Otherwise a written batch could stay in memory and be written twice.
        await asyncio.shield(asyncio.create_task(self._flush(), name="flush of the audit log"))

    async def _flush(self) -> None:
        async with self._flushing:
            self._note_dropped()
            # Entries that come during this flush are left for the next flush. Otherwise each commit would write a few of them.
            left = len(self._buffer)
            while left:
                taken = list(islice(self._buffer, min(self._batch, left)))
                left -= len(taken)
                # Most texts name no person. Many entries have the same texts, for example the same actor: each is changed once.
                texts = dict.fromkeys([entry.who for entry in taken])
                texts |= dict.fromkeys([entry.what for entry in taken])
                texts |= dict.fromkeys([text for entry in taken if entry.detail for text in entry.detail.values()])
                naming = [text for text in texts if "user:" in text.lower() or "@" in text]
                pseudonyms = await self._find_pseudonyms(dict.fromkeys(_list_users(naming)))
                changed = {text: _pseudonymise(text, pseudonyms) for text in naming}
                await self._store.append_audit([_replace_texts(entry, changed) for entry in taken])
                for _ in taken:
                    self._buffer.popleft()
            if self._dropped:
                self._noted.set()

    def _note_dropped(self) -> None:
        """If entries were dropped, add one entry that says how many."""
        if self._dropped:
            dropped, self._dropped = self._dropped, 0
            detail = {"entries": str(dropped)}
            what, result = "the buffer of the audit log was full", AuditResult.FAILED
            self._buffer.append(AuditEntry(self._clock.now(), AuditAction.DROPPED, GATEWAY, what, result, "", detail))

    async def _write_regularly(self) -> None:
        while True:
            await self._noted.wait()
            await asyncio.sleep(self._gather)
            self._noted.clear()
            try:
                await self.flush()
            except Exception as error:
                _log.error("audit entries not written; the gateway tries again", entries=len(self._buffer), exc_info=error)
                self._noted.set()
                await asyncio.sleep(self._retry)


def _list_users(texts: Iterable[str]) -> Iterator[Id]:
    for text in texts:
        for user_id in _USER.findall(text):
            yield Id(user_id.lower())


def _pseudonymise(text: str, pseudonyms: Mapping[Id, str]) -> str:
    def name(found: re.Match[str]) -> str:
        pseudonym = pseudonyms.get(Id(found[1].lower()))
        return GONE if pseudonym is None else user_ref(Id(pseudonym))

    text = _USER.sub(name, text)
    # The search for e-mails takes long in a long text, so it is left out if it cannot find any.
    return _EMAIL.sub("(an e-mail)", text) if "@" in text else text


def _replace_texts(entry: AuditEntry, changed: Mapping[str, str]) -> AuditEntry:
    who, what, detail = changed.get(entry.who, entry.who), changed.get(entry.what, entry.what), entry.detail
    if detail:
        detail = {key: changed.get(text, text) for key, text in detail.items()}
    return AuditEntry(entry.at, entry.action, who, what, entry.result, entry.address, detail)


def _drop_oldest(pseudonyms: dict[Id, str], most: int) -> None:
    while len(pseudonyms) > most:
        del pseudonyms[next(iter(pseudonyms))]


def _clean(text: str) -> str:
    """Limit the length and replace characters that a store or a terminal cannot handle."""
    if len(text) > _MAX_TEXT:
        text = f"{text[: _MAX_TEXT - 1]}…"
    return text if text.isprintable() else "".join(sign if sign.isprintable() else "\ufffd" for sign in text)
