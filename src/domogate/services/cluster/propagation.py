"""Delays the answer to a write until all gateways know the change (Decision 0091).

After the answer, clients can read the change from any gateway. The gateway that wrote sends a message to all other gateways.
It asks whether they have applied its newest change. In this file, this message is called a question. The bound is the setting
`knowledge_bound`. If another gateway does not answer within the bound, later writes do not wait for that gateway. This is safe:
a gateway that still lacks the change after this time refuses requests of clients. When it answers questions again, writes wait
for it again.
"""

import asyncio
from collections.abc import Callable, Collection
from typing import Protocol

from domogate.common.log import get_logger
from domogate.common.tasks import cancel, wait_for_event
from domogate.domain.ids import Id

_log = get_logger(__name__)

_ASK_AGAIN = 0.25
"""In seconds. If an answer is missing after this time, the question is sent again, because messages may be lost."""
_FIRST_PAUSE, _LONGEST_PAUSE = 0.001, 0.02
"""In seconds. While another gateway waits for an answer, this gateway reads the change feed again and again.

These are the first and the longest pause between two of these reads.
"""
_MOST_QUESTIONS = 1_000


class ProgressStore(Protocol):
    """The part of the store that says which changes this gateway has committed, and which changes it has applied."""

    @property
    def written(self) -> int:
        """The cursor of the newest change that this gateway has committed."""
        ...

    @property
    def applied(self) -> int:
        """The cursor of the newest change that this gateway has applied."""
        ...

    def poll_now(self) -> None: ...


class ProgressMessenger(Protocol):
    """Carries questions to all gateways, and answers to the gateway that asked. Messages may be lost."""

    def ask(self, cursor: int) -> None:
        """Ask all other gateways to answer when they have applied the change with this cursor."""
        ...

    def answer(self, asker: str, member_id: Id, cursor: int) -> None: ...


class Propagation:
    """Knows which changes of this gateway have been applied by all other gateways.

    Tells the other gateways which of their changes this gateway has applied.
    """

    def __init__(
        self,
        store: ProgressStore,
        messenger: ProgressMessenger,
        list_others: Callable[[], Collection[Id]],
        find_own_id: Callable[[], Id | None],
        bound: float,
    ) -> None:
        """`list_others` returns the other members whose leases have not ended, without members that are cut off.

        `bound` is in seconds. After this time, a write stops waiting for gateways that have not answered. This is safe: a
        gateway that still lacks a change after this time refuses to answer requests.
        """
        self._store = store
        self._messenger = messenger
        self._list_others = list_others
        self._find_own_id = find_own_id
        self._bound = bound
        self._known = 0
        """All gateways that answer have applied the changes of this gateway up to this cursor."""
        self._asking: asyncio.Task[None] | None = None
        self._asked = 0
        self._answered: set[Id] = set()
        self._progress = asyncio.Event()
        self._silent: set[Id] = set()
        """Members that did not answer within the bound. Writes do not wait for them."""
        self._questions: dict[str, tuple[int, float]] = {}
        """The open questions of other gateways. For each asker: the cursor, and the time at which the question is dropped."""
        self._catching_up: asyncio.Task[None] | None = None

    async def stop(self) -> None:
        await cancel(self._asking, self._catching_up)

    # own changes

    async def wait(self, seconds: float | None = None) -> None:
        """Wait until the other gateways know all changes that this gateway has committed before this call.

        Do not wait for gateways that do not answer within the setting `knowledge_bound`. If `seconds` is given, return after
        this time at the latest.
        """
        wanted = self._store.written
        if self._known >= wanted:
            return
        try:
            async with asyncio.timeout(seconds):
                while self._known < wanted:
                    if self._asking is None:
                        self._asking = asyncio.create_task(self._ask(), name="ask the other gateways")
                    await asyncio.shield(self._asking)
        except TimeoutError:
            _log.debug("answered before all gateways know a change", cursor=wanted)

    async def _ask(self) -> None:
        """Ask the other gateways whether they have applied the newest change of this gateway.

        Ask again until all of them have answered, or until `bound` seconds have passed. All callers of `wait` share one running
        call of this method.
        """
        loop = asyncio.get_running_loop()
        self._asked = self._store.written
        self._answered.clear()
        end = loop.time() + self._bound
        told = set(self._list_others())
        try:
            self._messenger.ask(self._asked)
            while missing := set(self._list_others()) - self._answered - self._silent:
                if missing - told:
                    # A member has joined since the question. An answer of this member was ignored while the member was unknown.
                    told |= missing
                    self._messenger.ask(self._asked)
                if loop.time() >= end:
                    _log.warning("gateways do not answer; writes do not wait for them", members=sorted(missing))
                    self._silent = (self._silent | missing) & set(self._list_others())
                    break
                self._progress.clear()
                if not await wait_for_event(self._progress, _ASK_AGAIN):
                    self._messenger.ask(self._asked)
            self._known = self._asked
        finally:
            self._asking = None

    def on_members(self) -> None:
        """Call this after the members of the cluster have changed: writes stop waiting for a gateway that has left."""
        self._progress.set()

    def on_answer(self, member_id: Id, cursor: int) -> None:
        """Remember that another gateway has applied all changes up to this cursor. Ids of unknown members are ignored."""
        if cursor >= self._asked and member_id in self._list_others():
            self._silent.discard(member_id)
            self._answered.add(member_id)
            self._progress.set()

    # changes of others

    def on_question(self, asker: str, cursor: int) -> None:
        """Answer the gateway `asker` as soon as this gateway has applied the change with this cursor.

        If this gateway has already applied the change, answer now. If too many questions wait, drop this question.
        """
        if self._store.applied >= cursor:
            self._answer(asker)
            return
        if len(self._questions) >= _MOST_QUESTIONS:
            return
        self._questions[asker] = (cursor, asyncio.get_running_loop().time() + self._bound)
        if self._catching_up is None:
            self._catching_up = asyncio.create_task(self._catch_up(), name="catch up with other gateways")

    async def _catch_up(self) -> None:
        """Read the change feed, and answer each gateway as soon as the change that it asked for is applied here.

        A gateway that has waited for `bound` seconds gets no answer.
        """
        loop = asyncio.get_running_loop()
        pause = _FIRST_PAUSE
        try:
            while self._questions:
                self._store.poll_now()
                await asyncio.sleep(pause)
                pause = min(2 * pause, _LONGEST_PAUSE)
                for asker, (cursor, end) in tuple(self._questions.items()):
                    if self._store.applied >= cursor:
                        del self._questions[asker]
                        self._answer(asker)
                    elif loop.time() >= end:
                        del self._questions[asker]
        finally:
            self._catching_up = None

    def _answer(self, asker: str) -> None:
        own_id = self._find_own_id()
        if own_id is not None:
            self._messenger.answer(asker, own_id, self._store.applied)
