"""The last events of a home: who did what, and what changed. They come from the orders and from the change feed."""

from collections.abc import Iterator, Sequence
from typing import Protocol

import msgspec

from domogate.domain.commands import OrderRecord, OrderState
from domogate.domain.events import Change, PlantChanged, StateChanged
from domogate.domain.ids import Id
from domogate.domain.notices import NoticeKind
from domogate.domain.states import EmergencyState, State, ThermostatState, without_readings
from domogate.ports import FeedStore, OrderFilter, OrderStore
from domogate.services.events.notices import find_notice
from domogate.services.homes.commands import MOST_CHANGES, Outcome, outcome_of, was_reachable
from domogate.services.homes.homes import Home
from domogate.services.homes.joining import find_joined_at
from domogate.services.rights.access import Access, Role

_ORDERS = 200
"""The largest number of orders that are read for one list of events."""
_AFTER_ORDER = 5.0
"""In seconds. A change of a module during a confirmed order, or within this time after it, counts as an effect of the order."""


class RecentEvent(msgspec.Struct, frozen=True):
    """One event of a home.

    If the event is a command, `kind` is None and `order` is the order of the command. Then `outcome` is the same as in the
    answer to the command. `members` are the users whose membership changed.
    """

    at: float
    kind: NoticeKind | None
    module_id: Id | None = None
    order: OrderRecord | None = None
    outcome: Outcome | None = None
    state: State | None = None
    reachable: bool | None = None
    members: tuple[Id, ...] = ()


class RecentStore(OrderStore, FeedStore, Protocol):
    """The parts of the store with orders and the change feed."""


class RecentEvents:
    """Reads the last events that a person may see."""

    def __init__(self, store: RecentStore) -> None:
        self._store = store

    async def list(self, home: Home, limit: int) -> Sequence[RecentEvent]:
        """Return the newest `limit` events, the newest first."""
        orders = await self._list_orders(home)
        changes = await self._store.list_newest_of(home.plant.id, MOST_CHANGES)
        turns = [change for change in changes if isinstance(change.event, StateChanged) and change.event.turned]
        events = []
        for record in orders:
            view = home.view.modules[record.order.module_id]
            outcome = outcome_of(record, reachable=was_reachable(view, record, turns))
            events.append(RecentEvent(record.queued_at, None, record.order.module_id, record, outcome))
        events += [event for event in [*_find_events(changes, home.access)][::-1] if not _is_effect(event, orders)]
        return sorted(events, key=lambda event: event.at, reverse=True)[:limit]

    async def _list_orders(self, home: Home) -> Sequence[OrderRecord]:
        since = await find_joined_at(self._store, home.access)
        # The orders to other rooms must not displace the orders that a guest may see.
        of_guest = None if home.role is not Role.GUEST else frozenset(home.view.modules)
        found = await self._store.list_orders(OrderFilter(home.plant.id, module_ids=of_guest), _ORDERS)
        return [record for record in found if record.queued_at >= since and record.order.module_id in home.view.modules]


def _find_events(changes: Sequence[Change], access: Access) -> Iterator[RecentEvent]:
    """Yield the changes that a person would notice, in order.

    A new state is compared with the previous state of the module (`_shown`). The new state is an event only if it differs, or
    if the module became reachable or unreachable. A state in the middle of a movement is left out.
    """
    before: dict[Id, object] = {}
    for change in changes:
        notice = find_notice(change, access.plant)
        event = change.event
        if isinstance(event, StateChanged):
            shown = _shown(event.state)
            is_new = event.module_id in before and before[event.module_id] != shown
            before[event.module_id] = shown
            if notice is None or not access.may_get(notice) or not (is_new or event.turned):
                continue
            if event.state is None or not event.state.is_moving or event.turned:
                yield RecentEvent(change.at, notice.kinds[0], event.module_id, state=event.state, reachable=event.reachable)
        elif isinstance(event, PlantChanged) and notice is not None and access.may_get(notice):
            members = event.members if access.guest_id is None else (access.guest_id,)
            yield RecentEvent(change.at, notice.kinds[0], members=members if NoticeKind.PEOPLE in notice.kinds else ())


def _shown(state: State | None) -> object:
    """Return the values of a state that are compared. If they change, there is a new entry in the list of recent events.

    Measured values, and other values that often change, are left out.
    """
    if isinstance(state, EmergencyState):
        return state.failures, state.alert
    if isinstance(state, ThermostatState):
        state = msgspec.structs.replace(state, load_active=False, utc_offset_minutes=0)
    return without_readings(state)


def _is_effect(event: RecentEvent, orders: Sequence[OrderRecord]) -> bool:
    return event.kind is NoticeKind.STATE and any(
        record.order.module_id == event.module_id
        and record.state is OrderState.CONFIRMED
        and record.queued_at <= event.at <= (record.ended_at or record.queued_at) + _AFTER_ORDER
        for record in orders
    )
