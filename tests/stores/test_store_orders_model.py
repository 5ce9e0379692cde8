"""Random steps with orders give the same result as a model that does one after the other."""

import asyncio
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import msgspec
import pytest
from hypothesis import given, settings

from domogate.domain.commands import OrderEnd, OrderRecord, OrderState
from domogate.ports import OrderFilter
from domogate.stores import SqlStore, sqlite_url
from support.clocks import NOW, ManualClock
from support.examples import examples
from support.stored_orders import DEADLINE, an_order
from support.stores import HOUSE

ENDS = (OrderState.CONFIRMED, OrderState.FAILED, OrderState.EXPIRED, OrderState.UNKNOWN)
_names = st.sampled_from("abc")
_times = st.integers(0, 8).map(lambda n: NOW + n)
_steps = st.one_of(
    st.tuples(st.just("add"), st.lists(_names, min_size=1, max_size=3), _times, st.booleans()),
    st.tuples(st.just("mark"), _names, _times),
    st.tuples(st.just("end"), _names, _times, st.sampled_from(ENDS)),
    st.tuples(st.just("settle"), _times),
)


class Model:
    """The port as a simple model, one call after the other."""

    def __init__(self) -> None:
        self.records: dict[str, OrderRecord] = {}

    def add(self, names: list[str], at: float, sent: bool) -> list[OrderRecord | None]:
        return [self._add(name, at, sent) for name in names]

    def _add(self, name: str, at: float, sent: bool) -> OrderRecord | None:
        if name in self.records:
            return self.records[name]
        state = OrderState.SENT if sent else OrderState.QUEUED
        self.records[name] = OrderRecord(an_order(name), state, at, at if sent else None)
        return None

    def mark(self, name: str, at: float) -> bool:
        record = self.records.get(name)
        if record is None or record.state is not OrderState.QUEUED or at >= DEADLINE:
            return False
        self.records[name] = msgspec.structs.replace(record, state=OrderState.SENT, sent_at=at)
        return True

    def end(self, name: str, at: float, state: OrderState) -> None:
        record = self.records.get(name)
        if record is not None and record.ended_at is None:
            self.records[name] = msgspec.structs.replace(record, state=state, ended_at=at)

    def settle(self, at: float) -> int:
        late = [name for name, record in self.records.items() if record.ended_at is None and at >= DEADLINE]
        for name in late:
            sent = self.records[name].state is OrderState.SENT
            self.end(name, at, OrderState.UNKNOWN if sent else OrderState.EXPIRED)
        return len(late)


class TestAsIfOneAfterTheOther:
    @pytest.mark.slow
    def test_whatever_is_called_at_once(self, tmp_path: Path) -> None:
        # One store for all examples, because creating it is slow. Each example leaves no open orders.
        store = SqlStore(sqlite_url(tmp_path / "x.db"), clock=ManualClock(), gateway=False)

        @settings(max_examples=examples(40), deadline=None)
        @given(rounds=st.lists(st.lists(_steps, min_size=1, max_size=6), min_size=1, max_size=4))
        def check(rounds: list[list[Any]]) -> None:
            runner.run(self._check(rounds, store))

        with asyncio.Runner() as runner:
            runner.run(store.start())
            check()
            runner.run(store.stop())

    async def _check(self, rounds: list[list[Any]], store: SqlStore) -> None:
        model = Model()
        try:
            for at_once in rounds:
                expected = [getattr(model, step[0])(*step[1:]) for step in at_once]
                assert await asyncio.gather(*(self._call(store, *step) for step in at_once)) == expected
                listed = await store.list_orders(OrderFilter(), 10)
                assert {record.order.id: record for record in listed} == model.records
        finally:
            await store.end_overdue_orders(DEADLINE)
            await store.prune_orders(NOW + 100)

    @staticmethod
    async def _call(store: SqlStore, what: str, *arguments: Any) -> Any:
        if what == "add":
            names, at, sent = arguments
            return await store.add_orders([an_order(name) for name in names], at, sent=sent)
        if what == "mark":
            return await store.mark_sent(HOUSE.id, *arguments)
        if what == "end":
            name, at, state = arguments
            return await store.end_order(HOUSE.id, OrderEnd(name, state, at))
        return await store.end_overdue_orders(*arguments)
