"""The checker of a cluster: it reads what was recorded during faults, and says which rule is broken.

Clients, devices, streams, receivers of webhooks and the database recorded it. The checker does not use the code of the
gateway. All times are seconds of the monotonic clock of the machine, which all processes share.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

CONFIRMED = "confirmed"
CLOCKS_DIFFER = 1.0
"""The seconds by which the clocks of two gateways may differ."""


@dataclass(frozen=True)
class OrderRequest:
    """One request of a client. The client repeats an order with the same id if it got no answer.

    Only one client sends orders to a module, one after the other. The value of each order differs from that of the one before.
    """

    order: str
    module: str
    value: int
    gateway: int
    sent: float
    answered: float | None
    outcome: str
    """The outcome that the gateway answered, or why there is none."""


@dataclass(frozen=True)
class DeviceOrder:
    """An order that reached a device. `epoch`: the epoch with which the gateway held the plant; None if it had no lease."""

    order: str
    module: str
    gateway: int
    epoch: int | None
    at: float


@dataclass(frozen=True)
class StoredChange:
    """A stored state of a module. The database noted which gateway wrote it, and who held the plant at that time."""

    cursor: int
    module: str
    value: int | None
    writer: str
    holder: str
    epoch: int
    at: float
    """The time of the change, on the clock of its gateway."""


@dataclass(frozen=True)
class Listener:
    """The events that a stream or the receiver of a webhook got, in the order of arrival: cursor and module."""

    name: str
    modules: frozenset[str]
    since: int
    events: Sequence[tuple[int, str]]


@dataclass(frozen=True)
class RightUse:
    """A read with a right that may have been withdrawn."""

    right: str
    gateway: int
    sent: float
    is_allowed: bool


@dataclass(frozen=True)
class History:
    requests: Sequence[OrderRequest] = ()
    device_orders: Sequence[DeviceOrder] = ()
    stored_orders: Mapping[str, str] = field(default_factory=dict)
    """The state of each stored order."""
    changes: Sequence[StoredChange] = ()
    streams: Sequence[Listener] = ()
    webhooks: Sequence[Listener] = ()
    withdrawn: Mapping[str, float] = field(default_factory=dict)
    """When the withdrawal of each right was committed, at the latest."""
    uses: Sequence[RightUse] = ()
    bound: float = 2.0
    """The seconds after which a withdrawn right must be refused everywhere."""


def check_history(history: History) -> list[str]:
    """Return one line for each broken rule that was found: the rule, and where."""
    return [f"{rule}: {where}" for rule, find in RULES.items() for where in find(history)]


def _find_lost_orders(history: History) -> Iterator[str]:
    at_devices = {sent.order for sent in history.device_orders}
    values_of: dict[str, list[int | None]] = defaultdict(list)
    for change in _in_order(history.changes):
        values_of[change.module].append(change.value)
    confirmed: dict[str, OrderRequest] = {}
    for request in sorted(history.requests, key=lambda request: request.sent):
        if request.outcome == CONFIRMED:
            confirmed.setdefault(request.order, request)
    remaining = {module: iter(values) for module, values in values_of.items()}
    for order, request in confirmed.items():
        if history.stored_orders.get(order) != CONFIRMED:
            yield f"{order} was confirmed, but the database has {history.stored_orders.get(order)}"
        elif order not in at_devices:
            yield f"{order} was confirmed, but the device never got it"
        elif request.value not in remaining.get(request.module, iter(())):  # consumes the changes up to this one
            yield f"{order} was confirmed, but its change is not stored, or not in order"


def _find_repeated_orders(history: History) -> Iterator[str]:
    for order, times in Counter(sent.order for sent in history.device_orders).items():
        if times > 1:
            yield f"{order} reached the device {times} times"


def _find_fenced_writes(history: History) -> Iterator[str]:
    for change in history.changes:
        if change.writer != change.holder:
            yield f"change {change.cursor} was written by {change.writer}, but {change.holder} held the plant"
    yield from _find_old_epochs("changes", ((change.module, change.epoch) for change in _in_order(history.changes)))


def _find_second_holders(history: History) -> Iterator[str]:
    for sent in history.device_orders:
        if sent.epoch is None:
            yield f"gateway {sent.gateway} sent {sent.order} without a lease"
    in_order = sorted(history.device_orders, key=lambda sent: sent.at)
    yield from _find_old_epochs("orders", ((sent.module, sent.epoch) for sent in in_order if sent.epoch is not None))


def _find_old_epochs(what: str, epochs: Iterable[tuple[str, int]]) -> Iterator[str]:
    newest: dict[str, int] = {}
    for module, epoch in epochs:
        if epoch < newest.get(module, epoch):
            yield f"{what} of {module}: epoch {epoch} came after epoch {newest[module]}"
        newest[module] = max(epoch, newest.get(module, epoch))


def _find_jumps(history: History) -> Iterator[str]:
    newest: dict[str, float] = {}
    for change in _in_order(history.changes):
        if change.at < newest.get(change.module, change.at) - CLOCKS_DIFFER:
            yield f"change {change.cursor} is dated {newest[change.module] - change.at:.1f} s before the one before it"
        newest[change.module] = change.at


def _find_late_uses(history: History) -> Iterator[str]:
    for use in history.uses:
        withdrawn = history.withdrawn.get(use.right)
        if use.is_allowed and withdrawn is not None and use.sent > withdrawn + history.bound:
            yield f"gateway {use.gateway} allowed {use.right} {use.sent - withdrawn:.2f} s after the withdrawal"


def _find_stream_errors(history: History) -> Iterator[str]:
    for stream in history.streams:
        for module, cursors in _by_module(stream).items():
            for earlier, later in pairwise(cursors):
                if later == earlier:
                    yield f"{stream.name}: event {later} of {module} came twice"
                elif later < earlier:
                    yield f"{stream.name}: event {later} of {module} came after {earlier}"
        yield from _find_missing(stream, history)


def _find_undelivered(history: History) -> Iterator[str]:
    """A delivery may be repeated. The first delivery of each event is in order."""
    for webhook in history.webhooks:
        for module, cursors in _by_module(webhook).items():
            for earlier, later in pairwise(dict.fromkeys(cursors)):
                if later < earlier:
                    yield f"{webhook.name}: event {later} of {module} came after {earlier}"
        yield from _find_missing(webhook, history)


def _find_missing(listener: Listener, history: History) -> Iterator[str]:
    got = set(listener.events)
    due = {(c.cursor, c.module) for c in history.changes if c.module in listener.modules and c.cursor > listener.since}
    for cursor, module in sorted(due - got):
        yield f"{listener.name}: event {cursor} of {module} is missing"
    for cursor, module in sorted(got - due):
        yield f"{listener.name}: event {cursor} of {module} is not stored"


def _by_module(listener: Listener) -> dict[str, list[int]]:
    found: dict[str, list[int]] = defaultdict(list)
    for cursor, module in listener.events:
        found[module].append(cursor)
    return found


def _in_order(changes: Iterable[StoredChange]) -> list[StoredChange]:
    return sorted(changes, key=lambda change: change.cursor)


RULES: Mapping[str, Callable[[History], Iterator[str]]] = {
    "an acknowledged order is lost": _find_lost_orders,
    "an order was sent twice": _find_repeated_orders,
    "a fenced gateway wrote": _find_fenced_writes,
    "two gateways drove one plant": _find_second_holders,
    "the time of a plant went back": _find_jumps,
    "a withdrawn right was used": _find_late_uses,
    "a stream is not in order": _find_stream_errors,
    "a webhook was not delivered": _find_undelivered,
}
