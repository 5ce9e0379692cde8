"""The audit log, as it is written: noted at once, appended in batches.

The chain knows people by pseudonyms only. What ties a pseudonym to a person is kept apart and is deleted with the person, so
they can be erased while every hash stays as it was.
"""

import asyncio
import re
from collections import deque
from collections.abc import Mapping
from enum import StrEnum

import msgspec
import structlog

from domogate.domain.audit import REMOVED as ENTRIES_REMOVED
from domogate.domain.audit import AuditEntry
from domogate.domain.ids import DASHED_UUID, Id
from domogate.ports import AuditStore, Clock
from domogate.services.audit.trail import AuditTrail, Broken, Verification, verify_export

__all__ = [
    "COMMAND_LINE",
    "GATEWAY",
    "GONE",
    "NOBODY",
    "AuditAction",
    "AuditLog",
    "AuditResult",
    "AuditTrail",
    "Broken",
    "Verification",
    "client_ref",
    "key_ref",
    "user_ref",
    "verify_export",
]

_log = structlog.get_logger(__name__)


class AuditAction(StrEnum):
    """Everything that is noted. With `AuditResult` these are the words to search the log for."""

    # people at the pages
    LOGIN = "login"
    SECOND_FACTOR = "second factor"
    SECOND_FACTOR_CHANGED = "second factor changed"
    LOGOUT = "logout"
    SESSION_ENDED = "session ended"
    LINK_ISSUED = "link issued"
    PASSWORD_SET = "password set"
    TERMS_ACCEPTED = "terms accepted"
    # letting applications in
    CONSENT = "consent"
    GRANT = "grant"
    REFRESH = "refresh"
    REFUSAL = "refusal"
    REVOCATION = "revocation"
    # rights
    USER_ADDED = "user added"
    USER_CHANGED = "user changed"
    USER_DELETED = "user deleted"
    CLIENT_SAVED = "client saved"
    CLIENT_DELETED = "client deleted"
    INVITED = "invited"
    ALLOWED = "allowed"
    WITHDRAWN = "withdrawn"
    LEFT = "left"
    PLANT_CHANGED = "plant changed"
    # keys and tickets
    KEY_ISSUED = "key issued"
    KEY_REVOKED = "key revoked"
    SIGNING_KEYS_ROTATED = "signing keys rotated"
    TICKET_ISSUED = "ticket issued"
    TICKET_REDEEMED = "ticket redeemed"
    PICTURE_TAKEN = "picture taken"
    # where applications want to be told
    WEBHOOK_ADDED = "webhook added"
    WEBHOOK_CHANGED = "webhook changed"
    WEBHOOK_REMOVED = "webhook removed"
    WEBHOOK_ENDED = "webhook ended"
    DEAD_LETTERS_REPLAYED = "dead letters replayed"
    # what was done with devices (E1, E5)
    COMMAND = "command"
    # the person responsible for emergency lighting
    LOGBOOK_WRITTEN = "logbook written"
    # the operator
    MANAGEMENT = "management"
    ESTATE_IMPORTED = "estate imported"
    BACKUP = "backup"
    # the log itself
    DROPPED = "entries dropped"
    REMOVED = ENTRIES_REMOVED


class AuditResult(StrEnum):
    OK = "ok"
    WRONG = "wrong"
    """What was shown was wrong: a password, a code, a client's secret."""
    SLOWED = "slowed"
    """Not even looked at: too many attempts before it."""
    REFUSED = "refused"
    FAILED = "failed"


COMMAND_LINE = "command line"
GATEWAY = "gateway"
NOBODY = "nobody"
"""Whoever it was did not prove who they are."""
GONE = "user:gone"
"""Stands for a user who was deleted before their pseudonym was known here."""


def user_ref(user_id: Id) -> str:
    """How a user is named in an entry; the log puts the pseudonym in the id's place."""
    return f"user:{user_id}"


def client_ref(client_id: str) -> str:
    return f"client:{client_id}"


def key_ref(subscription_id: Id) -> str:
    return f"key:{subscription_id}"


_USER = re.compile(r"user:([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})", re.IGNORECASE | re.ASCII)
_EMAIL = re.compile(r"[^\s@<>,;:\"']+@[^\s@<>,;:\"']+")
_MAX_TEXT = 500
_MAX_DETAILS = 20
_STOP_ATTEMPTS = 3


class AuditLog(AuditTrail):
    """Notes what happened, without waiting; what was noted can be listed, verified and exported as an AuditTrail."""

    def __init__(
        self,
        store: AuditStore,
        clock: Clock,
        *,
        capacity: int = 10_000,
        batch: int = 250,
        gather: float = 0.2,
        retry: float = 5.0,
        known_users: int = 10_000,
    ) -> None:
        """`gather`: for how many seconds notes are collected into one write; a crash loses no more than those."""
        super().__init__(store)
        self._clock = clock
        self._capacity = capacity
        self._batch = batch
        self._gather = gather
        self._retry = retry
        self._known_users = known_users
        self._buffer: deque[AuditEntry] = deque()
        self._dropped = 0
        self._pseudonyms: dict[Id, str] = {}
        self._noted = asyncio.Event()
        self._flushing = asyncio.Lock()
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        self._task = asyncio.create_task(self._write_what_is_noted(), name="audit log")

    async def stop(self) -> None:
        """Everything noted before is on disk when this returns; what the store refused even now is logged as lost."""
        if self._task is not None:
            async with self._flushing:  # never in the middle of a write
                self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None
        for attempt in range(1, _STOP_ATTEMPTS + 1):
            try:
                await self.flush()
                return
            except Exception as error:
                _log.error("audit entries not written", entries=len(self._buffer), attempt=attempt, exc_info=error)
                await asyncio.sleep(min(self._retry, 1.0))
        _log.error("audit entries lost at the stop", entries=len(self._buffer) + self._dropped)

    def note(
        self,
        action: str,
        *,
        who: str,
        what: str,
        result: str,
        address: str = "",
        detail: Mapping[str, str] | None = None,
    ) -> None:
        """Take it up; it is appended within moments. What a full buffer cannot take is counted, and the count is noted."""
        if len(self._buffer) >= self._capacity:
            self._dropped += 1
            return
        self._note_dropped()
        details = {_tidy(name): _tidy(text) for name, text in list((detail or {}).items())[:_MAX_DETAILS]}
        # A user is who acts most often, and may be named by the bare id.
        actor = user_ref(Id(who)) if DASHED_UUID.parse_id(who) is not None else who
        self._buffer.append(
            AuditEntry(self._clock.now(), _tidy(action), _tidy(actor), _tidy(what), _tidy(result), _tidy(address), details)
        )
        self._noted.set()

    async def know(self, user_id: Id) -> str:
        """The user's pseudonym, remembered from now on: before deleting a user, so that the deletion can be noted after."""
        pseudonym = self._pseudonyms.get(user_id)
        if pseudonym is None:
            pseudonym = await self._store.find_pseudonym(user_id)
            if len(self._pseudonyms) >= self._known_users:
                del self._pseudonyms[next(iter(self._pseudonyms))]
            self._pseudonyms[user_id] = pseudonym
        return pseudonym

    async def flush(self) -> None:
        """Return once everything noted so far is on disk. Raises what the store raises; nothing is lost by that."""
        # A caller that is cancelled must not leave a batch that is written and still in the buffer.
        await asyncio.shield(asyncio.create_task(self._flush(), name="flush of the audit log"))

    async def _flush(self) -> None:
        async with self._flushing:
            while self._buffer or self._dropped:
                if not self._buffer:
                    self._note_dropped()
                taken = [self._buffer[place] for place in range(min(self._batch, len(self._buffer)))]
                await self._store.append_audit([await self._pseudonymise(entry) for entry in taken])
                for _ in taken:
                    self._buffer.popleft()

    def _note_dropped(self) -> None:
        """Where entries are missing, one says how many."""
        if self._dropped:
            dropped, self._dropped = self._dropped, 0
            detail = {"entries": str(dropped)}
            what, result = "the buffer of the audit log was full", AuditResult.FAILED
            self._buffer.append(AuditEntry(self._clock.now(), AuditAction.DROPPED, GATEWAY, what, result, "", detail))

    async def _write_what_is_noted(self) -> None:
        while True:
            await self._noted.wait()
            await asyncio.sleep(self._gather)
            self._noted.clear()
            try:
                await self.flush()
            except Exception as error:
                _log.error("audit entries not written, they are kept", entries=len(self._buffer), exc_info=error)
                self._noted.set()
                await asyncio.sleep(self._retry)

    async def _pseudonymise(self, entry: AuditEntry) -> AuditEntry:
        texts = (entry.who, entry.what, *entry.detail.values())
        names: dict[str, str] = {}
        for text in texts:
            for user_id in _USER.findall(text):
                names[user_id] = await self._name_of(Id(user_id.lower()))

        def clean(text: str) -> str:
            return _EMAIL.sub("(an e-mail)", _USER.sub(lambda found: names[found[1]], text))

        return msgspec.structs.replace(
            entry,
            who=clean(entry.who),
            what=clean(entry.what),
            detail={name: clean(text) for name, text in entry.detail.items()},
        )

    async def _name_of(self, user_id: Id) -> str:
        try:
            return user_ref(Id(await self.know(user_id)))
        except ValueError:  # there is no such user
            return GONE


def _tidy(text: str) -> str:
    """Bounded, and with nothing in it that a store or a terminal could stumble over."""
    if len(text) > _MAX_TEXT:
        text = f"{text[: _MAX_TEXT - 1]}…"
    return text if text.isprintable() else "".join(sign if sign.isprintable() else "\ufffd" for sign in text)
