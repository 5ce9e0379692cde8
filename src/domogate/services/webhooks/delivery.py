"""One webhook's deliveries: from its position in the feed, and of what was parked; nothing is copied while all goes well."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Collection, Sequence
from contextlib import suppress
from typing import Protocol

import msgspec

from domogate.domain.events import Change
from domogate.domain.ids import Id
from domogate.domain.webhooks import PendingDelivery, Webhook
from domogate.ports import Clock, Delivered, FeedStore, WebhookSender, WebhookStore
from domogate.services.events.notices import find_notice
from domogate.services.webhooks.backoff import pause
from domogate.services.webhooks.batch import DeliveryBatch, Letter, Result, Verdict
from domogate.services.webhooks.counters import DeliveryCounters
from domogate.services.webhooks.formats import Printed, WebhookFormats
from domogate.services.webhooks.lease import Lost, WebhookLease
from domogate.services.webhooks.rights import Ended, WebhookRights, Withheld
from domogate.services.webhooks.signing import message_id, sign_delivery

PAGE = 100
"""So many changes are read, delivered and passed in one go; no more are repeated after a crash."""
BEHIND = 1e12
"""When a parked change is tried that waits behind another of its module: once that one is out of the way."""
_MANY = 100_000
_MOST_HEARD = 1_000
"""Changes that are kept in mind while a receiver takes its time; beyond that the feed is read again."""

_DONE = frozenset({Verdict.PASSED, Verdict.TAKEN})
_AWAY = frozenset({Verdict.SILENT, Verdict.BUSY})
_THERE = frozenset({Verdict.TAKEN, Verdict.REFUSED})


class DeliveryStore(WebhookStore, FeedStore, Protocol):
    """Webhooks, and the changes to deliver."""


class DeliveryContext(msgspec.Struct, frozen=True):
    """What all courses work with."""

    store: DeliveryStore
    webhook_sender: WebhookSender
    clock: Clock
    rights: WebhookRights
    forms: WebhookFormats
    tally: DeliveryCounters
    holder: str
    """The name of this process among all that deliver from this store."""
    lease: float
    given_up: float
    """In seconds; an event of this age that is not taken is a dead letter."""


class Delivery:
    """Brings one webhook forward. `run` is never under way twice."""

    def __init__(self, webhook: Webhook, kit: DeliveryContext) -> None:
        self._kit = kit
        self._lease = WebhookLease(webhook, kit.store, kit.clock, holder=kit.holder, lease=kit.lease)
        self._ahead: set[int] = set()
        """Taken or parked already, though the position is not there yet: not to be sent again from the feed."""
        self._fresh: deque[Change] | None = None
        """All that came after what was last read of the feed, as it was heard; None: nobody has listened without a gap."""
        self._round: DeliveryBatch | None = None
        self._stopping = False
        self.look_anew = True
        """Somebody may have changed what is kept of the webhook."""
        self.quiet_until = 0.0
        """The receiver is left alone: a new event is no reason to look."""

    @property
    def webhook(self) -> Webhook:
        return self._lease.webhook

    def stop(self) -> None:
        """Begin nothing new."""
        self._stopping = True
        if self._round is not None:
            self._round.stop()

    def hear(self, change: Change) -> None:
        """A change of its plant was committed: it need not be read again."""
        if self._fresh is not None:
            self._fresh.append(change)
            if len(self._fresh) > _MOST_HEARD:
                self._fresh = None

    async def hold_on(self) -> None:
        """While a post takes its time: the claim must not run out meanwhile."""
        with suppress(Lost):  # the run itself finds out
            if self._lease.began:
                await self._lease.claim()

    async def run(self) -> float | None:
        """Deliver all there is. When to look again by itself; None: when something happens. Raises Ended."""
        self.quiet_until = 0.0
        clock, lease = self._kit.clock, self._lease
        if lease.others_until > clock.now():
            return lease.others_until
        if self.look_anew or not lease.held:
            self.look_anew = False
            await self._look()
        try:
            try:
                await self._kit.rights.get_access(self.webhook)
                if self.webhook.failing_since is not None and self.webhook.next_at > clock.now():
                    return self._rest_until(self.webhook.next_at)
                if not lease.held and self.webhook.next_at <= 0 and not await self._is_behind():
                    return None
                await lease.claim()
                return await self._deliver()
            except Withheld as withheld:
                self._fresh = None
                await lease.claim()
                return self._rest_until(await lease.hold(str(withheld)))
        except Lost:
            self._fresh = None
            self._ahead.clear()
            return lease.others_until
        except BaseException:
            self._fresh, self.look_anew = None, True
            raise

    async def _look(self) -> None:
        found = await self._kit.store.find_webhook(self.webhook.id)
        if found is None or found.ended_at is not None:
            raise Ended("")
        if found.position != self.webhook.position:
            self._ahead.clear()
        self._lease.webhook = found

    def _rest_until(self, at: float) -> float:
        self.quiet_until = at
        return at

    # from the feed

    async def _is_behind(self) -> bool:
        if self._fresh is not None:
            return any(change.cursor > self.webhook.position for change in self._fresh)
        return bool(await self._read_feed(1))

    async def _read_feed(self, limit: int) -> Sequence[Change]:
        return await self._kit.store.list_changes_of((self.webhook.plant_id,), self.webhook.position, limit)

    async def _read_page(self) -> Sequence[Change]:
        """What comes next: as it was heard, or from the feed until that is read to its end and nothing can be missed."""
        if self._fresh is None:
            heard = self._fresh = deque()
            page = await self._read_feed(PAGE)
            if len(page) == PAGE:
                self._fresh = None
            while heard and page and heard[0].cursor <= page[-1].cursor:
                heard.popleft()
            if page:
                return page
        page = []
        while self._fresh and len(page) < PAGE:
            change = self._fresh.popleft()
            if change.cursor > self.webhook.position:
                page.append(change)
        return page

    async def _deliver(self) -> float | None:
        if self.webhook.next_at > 0:
            held_until = await self._retry_parked()
            if held_until is not None:
                return held_until
        blocked, soonest = await self._list_blocked()
        while not self._stopping:
            page = await self._read_page()
            if not page:
                break
            held_until = await self._deliver_page(page, blocked)
            if self.webhook.position < page[-1].cursor:
                self._fresh = None  # the rest of the page is to be read again
            if held_until is not None:
                return held_until
        if blocked:
            blocked, soonest = await self._list_blocked()
        return soonest

    async def _list_blocked(self) -> tuple[set[Id | None], float | None]:
        """Modules of which a change is parked, and when the first of those is to be tried."""
        if self.webhook.next_at <= 0:
            return set(), None
        store, webhook_id = self._kit.store, self.webhook.id
        beyond = await store.list_pending(webhook_id, dead=False, after=self.webhook.position, limit=_MANY)
        self._ahead.update(item.change.cursor for item in beyond)
        heads = await store.list_pending(webhook_id, dead=False, limit=_MANY, due_at=BEHIND - 1)
        return {head.module_id for head in heads}, min((head.next_at for head in heads), default=None)

    async def _deliver_page(self, page: Sequence[Change], blocked: set[Id | None]) -> float | None:
        """Until when the receiver is left alone, if it is away."""
        letters = [Letter(change) for change in page if change.cursor not in self._ahead]
        tried = await self._make_round([letter for letter in letters if letter.module_id not in blocked])
        became = {result.letter.change.cursor: result for result in tried}
        results = [became.get(letter.change.cursor, Result(letter)) for letter in letters]
        away = _find_away(results)
        if away:
            return await self._leave_alone(results, away)
        await self._pass(page[-1].cursor, results, blocked)
        return None

    async def _make_round(self, letters: Sequence[Letter]) -> list[Result]:
        """Raises Ended when the receiver says so."""
        self._round = DeliveryBatch(self._send, goes_on=self._is_past)
        if self._stopping:
            self._round.stop()
        try:
            results = await self._round.deliver(letters)
        finally:
            self._round = None
        self._kit.tally.count(results)
        for result in results:
            if result.verdict is Verdict.GONE:
                raise Ended(result.problem)
        return results

    async def _pass(self, last: int, results: Sequence[Result], blocked: set[Id | None]) -> None:
        """Move on to the first change that was not tried; what was not taken is parked with it, and what is behind that."""
        pending = [
            self._park(result) for result in results if result.verdict not in _DONE and result.verdict is not Verdict.LEFT
        ]
        blocked.update(item.module_id for item in pending if item.dead_at is None)
        left = [result.letter for result in results if result.verdict is Verdict.LEFT]
        untried = (letter.change.cursor for letter in left if letter.module_id not in blocked)
        position = min(untried, default=last + 1) - 1
        behind = [letter for letter in left if letter.change.cursor <= position]
        pending += [self._park_behind(letter) for letter in behind if await self._print(letter) is not None]
        self._ahead.update(item.change.cursor for item in pending)
        await self._lease.move(position, pending)
        self._ahead = {cursor for cursor in self._ahead if cursor > position}

    async def _leave_alone(self, results: Sequence[Result], away: Sequence[Result]) -> float:
        """The receiver is not there. What is too old by now is given up; everything else waits where it is, in the feed."""
        problem, since = away[0].problem, self.webhook.failing_since
        past = [result.letter for result in results if self._is_past(result.letter)]
        if past:
            dead = [self._die(letter, problem) for letter in past if await self._print(letter) is not None]
            await self._lease.move(past[-1].change.cursor, dead, reached=False)
        return self._rest_until(await self._lease.hold(problem, _asked_for(away), since))

    # what was parked

    async def _retry_parked(self) -> float | None:
        """Those that are due, and then those that waited behind them."""
        store = self._kit.store
        due = await store.list_pending(self.webhook.id, dead=False, limit=_MANY, due_at=self._kit.clock.now())
        if not due:
            return None
        opened = {head.module_id for head in due}
        after = due[0].change.cursor - 1
        while opened and not self._stopping:
            items = await store.list_pending(self.webhook.id, dead=False, after=after, limit=PAGE)
            if not items:
                break
            after = items[-1].change.cursor
            letters = [Letter(item.change, item.attempts) for item in items if item.module_id in opened]
            results = await self._make_round(letters)
            away = _find_away(results)
            await self._settle_parked(results, opened, away)
            if away:
                since = self.webhook.failing_since
                return self._rest_until(await self._lease.hold(away[0].problem, _asked_for(away), since))
        await self._lease.move(self.webhook.position)
        return None

    async def _settle_parked(self, results: Sequence[Result], opened: set[Id | None], away: Collection[Result]) -> None:
        store = self._kit.store
        writes: list[Awaitable[object]] = []
        for result in results:
            letter = result.letter
            if result.verdict in _DONE:
                writes.append(store.remove_pending(self.webhook.id, letter.change.cursor))
            elif result.verdict is Verdict.LEFT:
                opened.discard(letter.module_id)
            elif not away or self._is_past(letter):
                item = self._park(result)
                writes.append(store.save_pending(item))
                if item.dead_at is None:
                    opened.discard(letter.module_id)
        await asyncio.gather(*writes)

    # letters

    def _is_past(self, letter: Letter) -> bool:
        """Not tried again by itself: a dead letter that is replayed and not taken is dead again at once."""
        return self._kit.clock.now() - letter.change.at >= self._kit.given_up

    def _park(self, result: Result) -> PendingDelivery:
        letter = result.letter
        if self._is_past(letter):
            return self._die(letter, result.problem)
        attempts = letter.attempts + 1
        next_at = self._kit.clock.now() + pause(attempts, result.retry_after)
        return self._parked(letter, attempts=attempts, next_at=next_at, problem=result.problem)

    def _park_behind(self, letter: Letter) -> PendingDelivery:
        return self._parked(letter, attempts=0, next_at=BEHIND, problem="It waits behind an earlier event of its module.")

    def _die(self, letter: Letter, problem: str) -> PendingDelivery:
        self._kit.tally.dead += 1
        now = self._kit.clock.now()
        return self._parked(letter, attempts=letter.attempts + 1, next_at=now, problem=problem, dead_at=now)

    def _parked(
        self, letter: Letter, *, attempts: int, next_at: float, problem: str, dead_at: float | None = None
    ) -> PendingDelivery:
        return PendingDelivery(
            webhook_id=self.webhook.id,
            change=letter.change,
            module_id=letter.module_id,
            attempts=attempts,
            next_at=next_at,
            problem=problem,
            dead_at=dead_at,
        )

    async def _print(self, letter: Letter) -> Printed | None:
        """By the rights of this moment; None: it may not or does not want to be told of it. Raises Ended, Withheld."""
        webhook = self.webhook
        access = await self._kit.rights.get_access(webhook)
        notice = find_notice(letter.change, access.plant)
        if notice is None or not access.may_see(notice.module_id):
            return None
        if webhook.kinds and set(webhook.kinds).isdisjoint(notice.kinds):
            return None
        return self._kit.forms.print_notice(webhook.form, notice, access.plant)

    async def _send(self, letter: Letter) -> Delivered | None:
        """Raises Undelivered, Ended, Withheld, Lost."""
        await self._lease.claim()
        printed = await self._print(letter)
        if printed is None:
            return None
        message = message_id(self.webhook.id, letter.change.cursor)
        signed = sign_delivery(self.webhook, message, self._kit.clock.now(), printed.body)
        answer = await self._kit.webhook_sender.post(self.webhook.url, printed.body, {**printed.headers, **signed})
        if 200 <= answer.status < 300:
            self._ahead.add(letter.change.cursor)
        return answer


def _find_away(results: Sequence[Result]) -> list[Result]:
    """Signs that the receiver is not there, unless it took or refused another event in the same round."""
    if any(result.verdict in _THERE for result in results):
        return []
    return [result for result in results if result.verdict in _AWAY]


def _asked_for(away: Sequence[Result]) -> float:
    return max(result.retry_after or 0.0 for result in away)
