"""The checker of the cluster finds each broken rule, and accepts every history of a correct cluster."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.cluster_history import (
    CONFIRMED,
    RULES,
    DeviceOrder,
    History,
    Listener,
    OrderRequest,
    RightUse,
    StoredChange,
    check_history,
)

MODULES = ("lamp", "shutter")


@dataclass
class ModelCluster:
    """A correct cluster with two modules of one plant. Each step adds to the history."""

    holder: int = 1
    epoch: int = 1
    now: float = 0.0
    requests: list[OrderRequest] = field(default_factory=list)
    device_orders: list[DeviceOrder] = field(default_factory=list)
    stored: dict[str, str] = field(default_factory=dict)
    changes: list[StoredChange] = field(default_factory=list)
    uses: list[RightUse] = field(default_factory=list)
    withdrawn: dict[str, float] = field(default_factory=dict)

    def order(self, module: str, gateway: int, outcome: str) -> None:
        """An order ends as `outcome` says: confirmed, or after it was stored, sent or executed, or not at all."""
        number = len(self.requests)
        name, begun = f"order {number}", self._tick()
        if outcome != "refused":
            self.stored[name] = "sent"
        if outcome in (CONFIRMED, "executed", "sent"):
            self.device_orders.append(DeviceOrder(name, module, self.holder, self.epoch, self._tick()))
        if outcome in (CONFIRMED, "executed"):
            writer = f"gateway {self.holder}"
            cursor = 10 * (len(self.changes) + 1)
            self.changes.append(StoredChange(cursor, module, number, writer, writer, self.epoch, self.now))
        if outcome == CONFIRMED:
            self.stored[name] = CONFIRMED
        self.requests.append(OrderRequest(name, module, number, gateway, begun, self._tick(), outcome))

    def repeat(self) -> None:
        """The client did not get the last answer, and asks another gateway with the same id."""
        if self.requests:
            last = self.requests[-1]
            gateway = last.gateway % 3 + 1
            self.requests.append(replace(last, gateway=gateway, sent=self._tick(), answered=self._tick()))

    def move(self, gateway: int) -> None:
        self.holder, self.epoch = gateway, self.epoch + 1

    def withdraw(self) -> None:
        self.withdrawn.setdefault("guest", self.now)

    def use_right(self, gateway: int) -> None:
        """After the withdrawal, the right is still allowed for two seconds."""
        sent = self._tick()
        self.uses.append(RightUse("guest", gateway, sent, sent <= self.withdrawn.get("guest", sent) + 2.0))

    def _tick(self) -> float:
        self.now += 1.0
        return self.now

    def listen(self, name: str) -> Listener:
        return Listener(name, frozenset(MODULES), 0, [(change.cursor, change.module) for change in self.changes])

    def history(self) -> History:
        return History(
            self.requests,
            self.device_orders,
            self.stored,
            self.changes,
            [self.listen("stream 1"), self.listen("stream 2")],
            [self.listen("webhook")],
            self.withdrawn,
            self.uses,
        )


def good_history() -> History:
    cluster = ModelCluster()
    for gateway, module in ((1, "lamp"), (2, "shutter"), (3, "lamp")):
        cluster.order(module, gateway, CONFIRMED)
    cluster.use_right(1)
    cluster.order("lamp", 2, "sent")
    cluster.move(2)
    cluster.order("lamp", 1, CONFIRMED)
    cluster.repeat()
    cluster.withdraw()
    cluster.use_right(3)
    cluster.order("shutter", 3, CONFIRMED)
    cluster.use_right(3)
    return cluster.history()


Events = list[tuple[int, str]]
T = TypeVar("T")


def edit_one(items: Sequence[T], number: int, edit: Callable[[T], T]) -> list[T]:
    edited = list(items)
    edited[number] = edit(edited[number])
    return edited


def break_change(number: int, edit: Callable[[StoredChange], StoredChange]) -> Callable[[History], History]:
    return lambda good: replace(good, changes=edit_one(good.changes, number, edit))


def break_device(number: int, edit: Callable[[DeviceOrder], DeviceOrder]) -> Callable[[History], History]:
    return lambda good: replace(good, device_orders=edit_one(good.device_orders, number, edit))


def edit_events(listener: Listener, edit: Callable[[Events], Events]) -> Listener:
    return replace(listener, events=edit(list(listener.events)))


def break_stream(edit: Callable[[Events], Events]) -> Callable[[History], History]:
    return lambda good: replace(good, streams=[good.streams[0], edit_events(good.streams[1], edit)])


def break_webhook(edit: Callable[[Events], Events]) -> Callable[[History], History]:
    return lambda good: replace(good, webhooks=[edit_events(good.webhooks[0], edit)])


def lose_change(good: History) -> History:
    """The change is lost before anybody saw it."""
    lost = good.changes[0].cursor

    def lose(listeners: Sequence[Listener]) -> list[Listener]:
        return [edit_events(one, lambda events: [event for event in events if event[0] != lost]) for one in listeners]

    return replace(good, changes=good.changes[1:], streams=lose(good.streams), webhooks=lose(good.webhooks))


BROKEN: dict[str, tuple[str, Callable[[History], History]]] = {
    "the stored order is gone": (
        "an acknowledged order is lost",
        lambda good: replace(good, stored_orders={**good.stored_orders, "order 0": "unknown"}),
    ),
    "the device did not get the order": (
        "an acknowledged order is lost",
        lambda good: replace(good, device_orders=good.device_orders[1:]),
    ),
    "the change of the order is gone": ("an acknowledged order is lost", lose_change),
    "an order is sent again": (
        "an order was sent twice",
        lambda good: replace(good, device_orders=[*good.device_orders, good.device_orders[-1]]),
    ),
    "a gateway writes that does not hold the plant": (
        "a fenced gateway wrote",
        break_change(4, lambda change: replace(change, writer="gateway 1")),
    ),
    "a change has an old epoch": ("a fenced gateway wrote", break_change(3, lambda change: replace(change, epoch=0))),
    "an order is sent with an old epoch": (
        "two gateways drove one plant",
        break_device(4, lambda sent: replace(sent, epoch=0)),
    ),
    "an order is sent without a lease": (
        "two gateways drove one plant",
        break_device(0, lambda sent: replace(sent, epoch=None)),
    ),
    "a change is dated before an earlier one": (
        "the time of a plant went back",
        break_change(3, lambda change: replace(change, at=change.at - 30)),
    ),
    "a right is used too late": (
        "a withdrawn right was used",
        lambda good: replace(good, uses=[*good.uses, RightUse("guest", 2, good.withdrawn["guest"] + 2.1, True)]),
    ),
    "an event of a stream is missing": ("a stream is not in order", break_stream(lambda events: events[1:])),
    "the last event of a stream is missing": ("a stream is not in order", break_stream(lambda events: events[:-1])),
    "an event of a stream comes twice": ("a stream is not in order", break_stream(lambda events: [*events, events[-1]])),
    "two events of a stream are exchanged": (
        "a stream is not in order",
        break_stream(lambda events: [events[2], events[1], events[0], *events[3:]]),
    ),
    "an event of a stream was never stored": ("a stream is not in order", break_stream(lambda events: [*events, (99, "lamp")])),
    "an event of a webhook is missing": ("a webhook was not delivered", break_webhook(lambda events: events[:-1])),
    "two events of a webhook are exchanged": (
        "a webhook was not delivered",
        break_webhook(lambda events: [events[2], events[1], events[0], *events[3:]]),
    ),
}

gateways = st.integers(1, 3)
steps = st.one_of(
    st.tuples(
        st.just(ModelCluster.order),
        st.sampled_from(MODULES),
        gateways,
        st.sampled_from([CONFIRMED, CONFIRMED, "executed", "sent", "stored", "refused"]),
    ),
    st.tuples(st.just(ModelCluster.repeat)),
    st.tuples(st.just(ModelCluster.move), gateways),
    st.tuples(st.just(ModelCluster.use_right), gateways),
    st.tuples(st.just(ModelCluster.withdraw)),
)


class TestTheChecker:
    def test_accepts_a_good_history(self) -> None:
        assert check_history(good_history()) == []

    @pytest.mark.parametrize("name", BROKEN)
    def test_names_the_broken_rule_and_no_other(self, name: str) -> None:
        rule, break_it = BROKEN[name]
        found = check_history(break_it(good_history()))
        assert {line.partition(":")[0] for line in found} == {rule}

    def test_has_a_broken_history_for_each_rule(self) -> None:
        assert {rule for rule, _ in BROKEN.values()} == set(RULES)

    def test_accepts_a_repeated_delivery(self) -> None:
        assert check_history(break_webhook(lambda events: [*events, events[0]])(good_history())) == []

    @given(st.lists(steps, max_size=40))
    def test_accepts_every_history_of_a_correct_cluster(self, taken: list[tuple[Callable[..., None], ...]]) -> None:
        cluster = ModelCluster()
        for step, *arguments in taken:
            step(cluster, *arguments)
        assert check_history(cluster.history()) == []
