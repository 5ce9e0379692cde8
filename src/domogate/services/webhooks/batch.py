"""One round of deliveries to one receiver: several modules at once, each module's in order."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from enum import Enum, auto

import msgspec

from domogate.domain.events import Change, StateChanged
from domogate.domain.ids import Id
from domogate.ports import Delivered, Undelivered

AT_ONCE = 4
"""So many posts are under way to one receiver; nobody else waits for them."""

_GONE = 410
_BUSY = frozenset({429, 502, 503, 504})
"""Answers that speak of the receiver, not of the event: it has too much to do, or a proxy in front of it finds nobody."""


class Verdict(Enum):
    """What became of a letter."""

    LEFT = auto()
    """Not tried."""
    PASSED = auto()
    """None of the receiver's business: nothing was sent."""
    TAKEN = auto()
    REFUSED = auto()
    """Answered, and not taken."""
    BUSY = auto()
    SILENT = auto()
    """No answer."""
    GONE = auto()
    """The receiver wants nothing any more."""


class Letter(msgspec.Struct, frozen=True):
    """A change on its way to a receiver; `attempts` is how often it was tried before."""

    change: Change
    attempts: int = 0

    @property
    def module_id(self) -> Id | None:
        event = self.change.event
        return event.module_id if isinstance(event, StateChanged) else None


class Result(msgspec.Struct, frozen=True):
    """A letter and what became of it."""

    letter: Letter
    verdict: Verdict = Verdict.LEFT
    problem: str = ""
    retry_after: float | None = None


Send = Callable[[Letter], Awaitable[Delivered | None]]
"""Posts it; None when it must not be sent at all. Raises Undelivered."""


class DeliveryBatch:
    """Delivers letters until all are tried or the receiver shows that there is no point in going on."""

    def __init__(self, send: Send, *, goes_on: Callable[[Letter], bool]) -> None:
        """`goes_on`: whether a letter that is refused now is given up, so that those behind it are tried all the same."""
        self._send = send
        self._goes_on = goes_on
        self._free = asyncio.Semaphore(AT_ONCE)
        self._begun = 0
        self._in_doubt = False
        self._stopped = False

    def stop(self) -> None:
        """Nothing new is begun; what is under way comes to its end."""
        self._stopped = True

    @property
    def _is_over(self) -> bool:
        """One bad sign may be the event's own fault: some more are tried before it is held against the receiver."""
        return self._stopped or (self._in_doubt and self._begun >= AT_ONCE)

    async def deliver(self, letters: Sequence[Letter]) -> list[Result]:
        """In the order of the letters. What `send` raises otherwise is raised here, once what is under way has ended."""
        lanes: dict[Id | None, list[Letter]] = {}
        for letter in letters:
            lanes.setdefault(letter.module_id, []).append(letter)
        if len(lanes) == 1:
            return self._complete(letters, await self._follow(letters))
        outcomes = await asyncio.gather(*map(self._follow, lanes.values()), return_exceptions=True)
        results: list[Result] = []
        for outcome in outcomes:
            if isinstance(outcome, BaseException):
                raise outcome
            results += outcome
        return self._complete(letters, results)

    @staticmethod
    def _complete(letters: Sequence[Letter], results: Sequence[Result]) -> list[Result]:
        became = {result.letter.change.cursor: result for result in results}
        return [became.get(letter.change.cursor) or Result(letter) for letter in letters]

    async def _follow(self, lane: Sequence[Letter]) -> list[Result]:
        results = []
        for letter in lane:
            async with self._free:
                if self._is_over:
                    break
                result = await self._try(letter)
            results.append(result)
            if result.verdict not in (Verdict.PASSED, Verdict.TAKEN) and not self._given_up(result):
                break
        return results

    def _given_up(self, result: Result) -> bool:
        return result.verdict is Verdict.REFUSED and self._goes_on(result.letter)

    async def _try(self, letter: Letter) -> Result:
        self._begun += 1
        try:
            answer = await self._send(letter)
        except Undelivered as away:
            self._in_doubt = True
            return Result(letter, Verdict.SILENT, str(away))
        except BaseException:
            self.stop()
            raise
        if answer is None:
            self._begun -= 1
            return Result(letter, Verdict.PASSED)
        status = answer.status
        if 200 <= status < 300:
            return Result(letter, Verdict.TAKEN)
        if status == _GONE:
            self.stop()
            return Result(letter, Verdict.GONE, "The receiver answered 410: it wants no deliveries any more.")
        if status in _BUSY:
            self._in_doubt = True
            return Result(letter, Verdict.BUSY, f"The receiver answered {status}.", answer.retry_after)
        redirected = " A redirect is not followed: register the address it leads to." if 300 <= status < 400 else ""
        return Result(letter, Verdict.REFUSED, f"The receiver answered {status}.{redirected}")
