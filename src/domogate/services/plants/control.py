"""Reads modules and sends commands to them, with a deadline."""

import asyncio
import itertools
import secrets
from collections import Counter
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any, TypeVar

from domogate.common.log import get_logger
from domogate.domain.commands import Command, Order, OrderRecord, OrderState, SceneStep, SwitchPlug, end_after
from domogate.domain.devices import DeviceKind
from domogate.domain.faults import (
    CommandNotSupported,
    DeviceOffline,
    DeviceRefused,
    DeviceTimeout,
    Fault,
    Internal,
    NoPlug,
    OrderKeyTaken,
    ValueOutOfRange,
)
from domogate.domain.ids import Id
from domogate.domain.plants import Ambient
from domogate.domain.states import Report, State
from domogate.ports import Clock, Fabric, OrderStore, Picture, StoreUnavailable
from domogate.services.plants.read_model import ModuleView

_log = get_logger(__name__)

T = TypeVar("T")

_PLUG = DeviceKind.PLUG
_LONGEST_KEY = 128
_LOOKUPS, _LOOKUP_PAUSE = 10, 0.05
"""If the end of an order is not on disk yet: the number of lookups for this end, and the seconds between two lookups."""
_LAST_LOOKUP = 0.15
"""In seconds. The lookups for the end of an order stop this long after the deadline, even if the database does not answer.

The lookups begin when the fabric returns. If this is after the deadline, the lookups stop at most this long after their begin.
The fabric returns at most 0.1 s late (`driving/calls.py`), so the caller gets an answer at most 0.25 s after the deadline.
"""

# When plugs fail in different ways, the answer has the worst fault (Decision 0024).
# If the fault is one of the first two, the plug may have executed the command.
_WORST_FIRST: tuple[type[Fault], ...] = (Internal, DeviceTimeout, DeviceRefused, CommandNotSupported, DeviceOffline)


class Control:
    """Reads states of modules, and sends commands.

    If the state in memory is too old, a read asks the driver first (Decision 0008).
    """

    def __init__(
        self,
        fabric: Fabric,
        store: OrderStore,
        clock: Clock,
        *,
        deadline: float,
        max_age: float,
        max_ages: Mapping[DeviceKind, float],
    ) -> None:
        self._fabric = fabric
        self._store = store
        self._clock = clock
        self._deadline = deadline
        self._max_ages = {kind: max_ages.get(kind, max_age) for kind in DeviceKind}
        self._reads: dict[Id, asyncio.Task[Report]] = {}
        self._pictures: dict[Id, asyncio.Task[Picture]] = {}
        # The id of an order is its idempotency key. The prefix makes it unique among all processes.
        self._process = secrets.token_hex(8)
        self._numbers = itertools.count(1)

    def find_fresh(self, view: ModuleView) -> State | None:
        """Return the state if the module can be reached, does not move, and its driver confirmed the state recently.

        If the result is None, call `read_state`. A confirmation whose time is far in the future does not count as recent: the
        clock was set back after this confirmation.
        """
        state = view.state
        if not view.reachable or abs(self._clock.now() - view.confirmed_at) > self._max_ages[view.module.kind]:
            return None
        return None if state is not None and state.is_moving else state

    async def read_state(self, view: ModuleView) -> State:
        """Return the state. If it is not fresh, ask the module first. Raises the same faults as `check_reachable`.

        Also raises DeviceTimeout if the module can be reached, but has not reported its whole state yet.
        """
        await self.check_reachable(view)
        if view.state is None:
            raise DeviceTimeout(f"the {view.module.kind} can be reached, but has not reported its whole state yet")
        return view.state

    async def check_reachable(self, view: ModuleView) -> None:
        """Return without an error if the module can be reached.

        If the state of the module is not fresh, ask the module first. Raises DeviceOffline, DeviceTimeout, DeviceRefused,
        Internal.
        """
        if self.find_fresh(view) is None:
            await self.refresh(view)
        if not view.reachable:
            raise DeviceOffline(f"the {view.module.kind} is offline; its state cannot be read now")

    async def refresh(self, view: ModuleView) -> None:
        """Ask the module for its state now. Concurrent callers share one question.

        Raises DeviceOffline, DeviceTimeout, DeviceRefused, Internal.
        """
        report = await self._ask_once(self._reads, self._fabric.read, view)
        # A report that was committed during the question is newer than this answer.
        if report.at >= view.reported_at:
            if report.state is not None:
                view.state = report.state
            view.reachable = report.reachable
            view.absence = report.absence
        view.confirmed_at = self._clock.now()

    async def take_picture(self, view: ModuleView) -> Picture:
        """Take a picture. Concurrent callers share one picture.

        Raises DeviceOffline, DeviceTimeout, DeviceRefused, Internal.
        """
        return await self._ask_once(self._pictures, self._fabric.take_picture, view)

    async def _ask_once(
        self, under_way: dict[Id, asyncio.Task[T]], ask: Callable[[Id, Id, float], Coroutine[Any, Any, T]], view: ModuleView
    ) -> T:
        module_id = view.module.id
        task = under_way.get(module_id)
        if task is None:
            deadline = self._clock.now() + self._deadline
            task = under_way[module_id] = asyncio.create_task(ask(view.plant_id, module_id, deadline), name=f"ask {module_id}")
            task.add_done_callback(lambda done: _end(under_way, module_id, done))
        return await asyncio.shield(task)

    # orders

    async def execute(
        self,
        plant_id: Id,
        module_id: Id,
        command: Command,
        *,
        key: str | None = None,
        by: Id | None = None,
        once: bool = False,
    ) -> Report:
        """Send a command. `key` is the id of the order, and `by` is the person who sends the command.

        Raises DeviceOffline, DeviceTimeout, DeviceRefused, Internal. Raises OrderKeyTaken if `key` was used for another command
        or module. Also raises OrderKeyTaken if `key` was used before and `once` is true.
        """
        return await self._fabric.execute(self._make_order(plant_id, module_id, command, key=key, by=by, once=once))

    async def order(
        self, plant_id: Id, module_id: Id, command: Command, *, key: str | None = None, by: Id | None = None
    ) -> OrderRecord:
        """Send a command, and return the record of the order. A failure of the device is in the record and is not raised.

        `key` is an idempotency key. A repeated key returns the same record and sends nothing. Raises OrderKeyTaken if the key
        was used for another command or module. Raises ValueOutOfRange if the key is not valid. Raises Internal if the store
        fails or the plant has too many driver calls.
        """
        if key is not None and not (0 < len(key) <= _LONGEST_KEY and key.isprintable()):
            raise ValueOutOfRange(f"an idempotency key is 1 to {_LONGEST_KEY} printable characters")
        order = self._make_order(plant_id, module_id, command, key=key, by=by)
        known = None if key is None else await self._store.find_order(order.id)
        if known is not None:
            if not order.repeats(known.order):
                raise OrderKeyTaken("this idempotency key was used for another command")
            if known.state.is_end:
                return known
        state, problem, begun_at = OrderState.CONFIRMED, "", self._clock.now()
        try:
            await self._fabric.execute(order)
        except (DeviceOffline, DeviceTimeout, DeviceRefused) as fault:
            state, problem = end_after(fault), fault.message
        now, sent_at = self._clock.now(), None
        try:
            async with asyncio.timeout(max(0.0, order.deadline - now) + _LAST_LOOKUP):
                stored = await self._find_ended(order)
            if stored is not None:
                return stored
            # The order was not written, because no gateway drives the plant or the deadline had passed.
        except (TimeoutError, StoreUnavailable) as error:
            _log.warning(
                "record of an order not read", order_id=order.id, plant_id=plant_id, reason=str(error) or "no answer in time"
            )
            sent_at = begun_at  # The order may have been sent, so the record must not say that it was not.
        return OrderRecord(order, state, queued_at=begun_at, sent_at=sent_at, ended_at=now, problem=problem)

    async def _find_ended(self, order: Order) -> OrderRecord | None:
        """Wait until the record of the order has a final state, and return the record.

        The lookups end after `_LOOKUPS` lookups, or `_LAST_LOOKUP` seconds after the deadline. If the record has no final
        state by then, return it as it is. Return None if the store has no record of the order.
        """
        for _ in range(_LOOKUPS):
            record = await self._store.find_order(order.id)
            if record is None or record.state.is_end or self._clock.now() >= order.deadline + _LAST_LOOKUP:
                break
            await asyncio.sleep(_LOOKUP_PAUSE)
        return record

    async def queue(self, plant_id: Id, steps: Sequence[SceneStep], *, by: Id | None = None) -> Sequence[Order]:
        """Write all steps of a scene as queued orders in one commit, and return them. Raises Internal if the store fails.

        The steps for one module are sent one after the other. So later steps have later deadlines.
        """
        now = self._clock.now()
        steps_before: Counter[Id] = Counter()
        orders = []
        for step in steps:
            steps_before[step.module_id] += 1
            deadline = now + steps_before[step.module_id] * self._deadline
            orders.append(self._make_order(plant_id, step.module_id, step.command, deadline=deadline, by=by))
        try:
            await self._store.add_orders(orders, now, sent=False)
        except Exception as error:
            _log.error("orders not written", plant_id=plant_id, orders=len(orders), exc_info=error)
            is_temporary = isinstance(error, StoreUnavailable)
            raise Internal("the orders could not be written, and were not sent", is_temporary=is_temporary) from error
        return orders

    async def send(self, order: Order) -> Report:
        """Send an order that `queue` returned. Raises DeviceOffline, DeviceTimeout, DeviceRefused, Internal."""
        return await self._fabric.execute(order)

    def _make_order(
        self,
        plant_id: Id,
        module_id: Id,
        command: Command,
        *,
        key: str | None = None,
        deadline: float | None = None,
        by: Id | None,
        once: bool = False,
    ) -> Order:
        return Order(
            id=key or f"{self._process}-{next(self._numbers)}",
            plant_id=plant_id,
            module_id=module_id,
            command=command,
            deadline=self._clock.now() + self._deadline if deadline is None else deadline,
            user_id=by,
            once=once,
            is_new=key is None and deadline is None,  # An order with its own deadline is queued before it is sent.
        )

    async def switch_plugs(self, plant_id: Id, ambient: Ambient, *, on: bool, by: Id | None = None) -> None:
        """Switch all plugs of the ambient. Wait until each plug has confirmed (E1).

        Raises NoPlug if the ambient has no plug. If plugs fail, raises the worst of their faults (`_WORST_FIRST`).
        """
        plugs = [module for module in ambient.modules if module.kind is _PLUG]
        if not plugs:
            raise NoPlug("no plug found: the ambient exists, but has no module of kind plug")
        command = SwitchPlug(on=on)
        if len(plugs) == 1:  # the usual case, without an extra task
            try:
                await self._fabric.execute(self._make_order(plant_id, plugs[0].id, command, by=by))
            except Fault as fault:
                raise _worst([(plugs[0].name, fault)], of=1) from fault
            return
        outcomes = await asyncio.gather(
            *(self.execute(plant_id, plug.id, command, by=by) for plug in plugs), return_exceptions=True
        )
        failed = [
            (plug.name, outcome) for plug, outcome in zip(plugs, outcomes, strict=True) if isinstance(outcome, BaseException)
        ]
        if failed:
            raise _worst(failed, of=len(plugs))


def _end(under_way: dict[Id, asyncio.Task[T]], module_id: Id, task: asyncio.Task[T]) -> None:
    del under_way[module_id]
    if not task.cancelled():
        task.exception()  # retrieved, so that asyncio does not log it if all callers are gone


def _worst(failed: list[tuple[str, BaseException]], *, of: int) -> BaseException:
    for _, outcome in failed:
        if not isinstance(outcome, Fault):
            return outcome
    names = ", ".join(f"'{name}'" for name, _ in failed)
    for kind in _WORST_FIRST:
        for _, outcome in failed:
            if type(outcome) is kind:
                return kind(f"{len(failed)} of {of} plugs did not confirm: {names}; {outcome.message}")
    return failed[0][1]
