"""Orders are stored before they are sent and end once. Merging with other callers does not change the result."""

import asyncio
from collections.abc import Coroutine
from typing import Any

import msgspec
import pytest

from domogate.domain.commands import Order, OrderEnd, OrderRecord, OrderState, SetThermostat, SwitchPlug
from domogate.domain.events import StateChanged
from domogate.domain.states import LightState, PlugState, Report
from domogate.ports import OrderFilter
from domogate.stores import SqlStore, orders
from support.clocks import NOW
from support.stored_orders import DEADLINE, an_order, confirmed
from support.stores import (
    HOUSE,
    LAMP,
    PLUG,
    SMALL,
    HeldStore,
    OpenStore,
    an_id,
    record_changes,
    record_statements,
)


def a_new_order(order_id: str) -> Order:
    return msgspec.structs.replace(an_order(order_id), is_new=True)


class TestAdding:
    async def test_a_new_order_is_to_be_sent_and_can_be_found(self, store: SqlStore) -> None:
        order = an_order(command=SetThermostat(set_point=21.5))
        assert await store.add_orders([order], NOW, sent=True) == [None]
        assert await store.find_order("one") == OrderRecord(order, OrderState.SENT, NOW, NOW)

    async def test_those_of_a_scene_are_kept_together_as_queued(self, store: SqlStore) -> None:
        steps = [an_order(f"scene-{n}") for n in range(3)]
        before = store.commits
        assert await store.add_orders(steps, NOW, sent=False) == [None] * 3
        assert store.commits - before == 1
        assert await store.find_order("scene-2") == OrderRecord(steps[2], OrderState.QUEUED, NOW)

    async def test_the_second_under_an_id_gets_the_record_of_the_first(self, store: SqlStore) -> None:
        first = an_order()
        await store.add_orders([first], NOW, sent=True)
        other = an_order(command=SwitchPlug(on=False))
        expected = OrderRecord(first, OrderState.SENT, NOW, NOW)
        # The same order at the same time counts as a second one, too.
        assert await store.add_orders([first], NOW, sent=True) == [expected]
        assert await store.add_orders([other, an_order("two")], NOW + 1, sent=False) == [expected, None]
        assert await store.find_order("one") == expected

    async def test_an_id_twice_in_one_call_is_one_order(self, store: SqlStore) -> None:
        record = OrderRecord(an_order(), OrderState.SENT, NOW, NOW)
        assert await store.add_orders([an_order(), an_order()], NOW, sent=True) == [None, record]

    async def test_of_many_callers_at_once_exactly_one_sends(self, store: SqlStore) -> None:
        answers = await asyncio.gather(*(store.add_orders([an_order()], NOW + n, sent=True) for n in range(20)))
        assert [answer[0] for answer in answers].count(None) == 1

    async def test_none_are_nothing_to_write(self, store: SqlStore) -> None:
        before = store.commits
        assert await store.add_orders([], NOW, sent=True) == []
        assert store.commits == before

    @pytest.mark.parametrize(
        "order",
        [
            an_order("with \0 in it"),
            an_order("half a \udc80 letter"),
            an_order(deadline=float("inf")),
            an_order(command=SetThermostat(set_point=float("nan"))),
        ],
    )
    async def test_what_could_not_be_read_back_is_refused_alone(self, store: SqlStore, order: Order) -> None:
        results = await asyncio.gather(
            store.add_orders([an_order("good")], NOW, sent=True),
            store.add_orders([order], NOW, sent=True),
            return_exceptions=True,
        )
        assert results[0] == [None]
        assert isinstance(results[1], ValueError)
        assert await store.find_order(order.id.replace("\udc80", "")) is None


class TestSending:
    async def test_a_queued_one_is_sent_by_exactly_one(self, store: SqlStore) -> None:
        await store.add_orders([an_order()], NOW, sent=False)
        marks = await asyncio.gather(*(store.mark_sent(HOUSE.id, "one", NOW + 1 + n) for n in range(10)))
        assert marks == [True] + [False] * 9
        assert await store.find_order("one") == OrderRecord(an_order(), OrderState.SENT, NOW, NOW + 1)

    async def test_of_two_processes_exactly_one_sends(self, open_store: OpenStore, database_url: str) -> None:
        one, other = await open_store(database_url), await open_store(database_url)
        await one.add_orders([an_order(f"{n}") for n in range(20)], NOW, sent=False)
        marks = await asyncio.gather(*(each.mark_sent(HOUSE.id, f"{n}", NOW + 1) for n in range(20) for each in (one, other)))
        assert [marks[n : n + 2].count(True) for n in range(0, 40, 2)] == [1] * 20

    @pytest.mark.parametrize(("at", "sent"), [(DEADLINE - 0.001, True), (DEADLINE, False), (DEADLINE + 1, False)])
    async def test_never_once_the_deadline_has_passed(self, store: SqlStore, at: float, sent: bool) -> None:
        await store.add_orders([an_order()], NOW, sent=False)
        assert await store.mark_sent(HOUSE.id, "one", at) is sent

    async def test_neither_one_sent_nor_ended_nor_unknown(self, store: SqlStore) -> None:
        await store.add_orders([an_order("sent")], NOW, sent=True)
        await store.add_orders([an_order("ended")], NOW, sent=False)
        await store.end_order(HOUSE.id, OrderEnd("ended", OrderState.EXPIRED, NOW))
        for name in ("sent", "ended", "never heard of", "with \0"):
            assert not await store.mark_sent(HOUSE.id, name, NOW)


class TestEnding:
    async def test_the_end_and_what_was_reported_are_one_commit(self, filled_store: SqlStore) -> None:
        recorded = record_changes(filled_store)
        await filled_store.add_orders([an_order()], NOW, sent=True)
        before = filled_store.commits
        await filled_store.end_order(HOUSE.id, confirmed("one"), Report(HOUSE.id, LAMP.id, NOW + 1, LightState(on=True)))
        assert filled_store.commits - before == 1
        assert [type(change.event) for change in recorded.changes] == [StateChanged]
        assert await filled_store.find_order("one") == OrderRecord(an_order(), OrderState.CONFIRMED, NOW, NOW, NOW + 1)

    async def test_it_is_written_once_and_the_device_is_believed_all_the_same(self, filled_store: SqlStore) -> None:
        await filled_store.add_orders([an_order()], NOW, sent=True)
        await filled_store.end_order(HOUSE.id, OrderEnd("one", OrderState.FAILED, NOW + 1, "it is jammed"))
        await filled_store.end_order(
            HOUSE.id, confirmed("one", NOW + 2), Report(HOUSE.id, LAMP.id, NOW + 2, LightState(on=True))
        )
        ended = OrderRecord(an_order(), OrderState.FAILED, NOW, NOW, NOW + 1, "it is jammed")
        assert await filled_store.find_order("one") == ended
        plant = await filled_store.find_plant(HOUSE.id)
        assert plant is not None
        assert plant.states[LAMP.id].state == LightState(on=True)

    async def test_of_one_that_nobody_knows_is_nothing(self, store: SqlStore) -> None:
        await store.end_order(HOUSE.id, confirmed("never heard of"))
        assert await store.find_order("never heard of") is None

    async def test_any_words_of_a_device_can_be_kept(self, store: SqlStore) -> None:
        await store.add_orders([an_order()], NOW, sent=True)
        await store.end_order(HOUSE.id, OrderEnd("one", OrderState.FAILED, NOW, "no \0 such \udcff address"))
        record = await store.find_order("one")
        assert record is not None
        assert record.problem == "no \N{REPLACEMENT CHARACTER} such ? address"

    @pytest.mark.parametrize("state", [OrderState.QUEUED, OrderState.SENT])
    async def test_a_state_that_is_not_final_is_refused(self, store: SqlStore, state: OrderState) -> None:
        with pytest.raises(ValueError, match="not a final state of an order"):
            await store.end_order(HOUSE.id, OrderEnd("one", state, NOW))


class TestSettling:
    async def test_what_nobody_will_end_is_expired_or_unknown_once_its_deadline_is_past(self, store: SqlStore) -> None:
        await store.add_orders([an_order("queued"), an_order("later", deadline=NOW + 60)], NOW, sent=False)
        await store.add_orders([an_order("sent"), an_order("ended"), an_order("late", deadline=NOW + 60)], NOW, sent=True)
        await store.end_order(HOUSE.id, confirmed("ended"))
        assert await store.end_overdue_orders(DEADLINE - 0.001) == 0
        assert await store.end_overdue_orders(DEADLINE) == 2
        assert await store.end_overdue_orders(DEADLINE) == 0
        found = {record.order.id: (record.state, record.ended_at) for record in await store.list_orders(OrderFilter(), 9)}
        assert found == {
            "queued": (OrderState.EXPIRED, DEADLINE),
            "sent": (OrderState.UNKNOWN, DEADLINE),
            "ended": (OrderState.CONFIRMED, NOW + 1),
            "later": (OrderState.QUEUED, None),
            "late": (OrderState.SENT, None),
        }

    async def test_what_was_settled_is_not_sent_nor_ended_again(self, store: SqlStore) -> None:
        await store.add_orders([an_order("queued")], NOW, sent=False)
        await store.add_orders([an_order("sent")], NOW, sent=True)
        await store.end_overdue_orders(DEADLINE)
        assert not await store.mark_sent(HOUSE.id, "queued", NOW)
        await store.end_order(HOUSE.id, confirmed("sent"))
        assert [record.state for record in await store.list_orders(OrderFilter(), 9)] == [
            OrderState.UNKNOWN,
            OrderState.EXPIRED,
        ]


class TestListing:
    @pytest.fixture
    async def listed(self, store: SqlStore) -> SqlStore:
        for n in range(6):
            module = (LAMP, PLUG)[n % 2]
            order = Order(f"{n}", (HOUSE.id, an_id(404))[n // 4], module.id, SwitchPlug(on=True), DEADLINE)
            await store.add_orders([order], NOW + n, sent=True)
        await store.end_order(HOUSE.id, confirmed("1"))
        return store

    @pytest.mark.parametrize(
        ("plant", "module", "state", "before", "limit", "expected"),
        [
            (None, None, None, None, 10, "543210"),
            (None, None, None, None, 2, "54"),
            (None, None, None, NOW + 3, 10, "210"),
            (HOUSE.id, None, None, None, 10, "3210"),
            (HOUSE.id, PLUG.id, None, None, 10, "31"),
            (None, LAMP.id, None, None, 10, "420"),
            (HOUSE.id, PLUG.id, OrderState.SENT, None, 10, "3"),
            (None, None, OrderState.CONFIRMED, None, 10, "1"),
            (an_id(1), None, None, None, 10, ""),
        ],
    )
    async def test_the_newest_first_of_those_that_match_all(
        self, listed: SqlStore, plant: Any, module: Any, state: Any, before: Any, limit: int, expected: str
    ) -> None:
        found = await listed.list_orders(OrderFilter(plant, module, state), limit, before)
        assert "".join(record.order.id for record in found) == expected

    async def test_pages_lose_none_of_those_queued_at_the_same_time(self, store: SqlStore) -> None:
        await store.add_orders([an_order(f"b{n}") for n in range(5)], NOW + 1, sent=False)
        await store.add_orders([an_order("a")], NOW, sent=False)
        first = await store.list_orders(OrderFilter(HOUSE.id), 2)
        assert [record.order.id for record in first] == ["b4", "b3", "b2", "b1", "b0"]
        second = await store.list_orders(OrderFilter(HOUSE.id), 2, first[-1].queued_at)
        assert [record.order.id for record in second] == ["a"]


class TestPruning:
    async def test_old_ones_that_ended_or_are_long_past_their_deadline_go_and_open_ones_stay(
        self, store: SqlStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(orders, "PRUNE_CHUNK", 2)
        await store.add_orders([an_order(f"{n}") for n in range(5)], NOW, sent=True)
        await store.add_orders([an_order("open", deadline=NOW + 60)], NOW, sent=True)
        await store.add_orders([an_order("new")], NOW + 100, sent=True)
        for n in range(1, 5):
            await store.end_order(HOUSE.id, confirmed(f"{n}"))
        await store.end_order(HOUSE.id, confirmed("new", NOW + 101))
        await store.prune_orders(NOW + 50)
        assert {record.order.id for record in await store.list_orders(OrderFilter(), 9)} == {"open", "new"}


class TestMerging:
    async def test_many_commands_at_once_cost_two_commits_and_a_few_statements_for_each_table(
        self, open_store: OpenStore, database_url: str
    ) -> None:
        filled_store = await open_store(database_url, HeldStore, gateway=False)
        assert isinstance(filled_store, HeldStore)
        await filled_store.import_estate(SMALL, prune=False)
        await filled_store.record([Report(HOUSE.id, PLUG.id, NOW, PlugState(on=False))])
        commits = filled_store.commits
        with record_statements() as begun:
            await self._at_once(filled_store, [filled_store.add_orders([an_order(f"{n}")], NOW, sent=True) for n in range(32)])
        reports = [Report(HOUSE.id, PLUG.id, NOW + n, PlugState(on=n % 2 == 0)) for n in range(32)]
        with record_statements() as ended:
            await self._at_once(
                filled_store, [filled_store.end_order(HOUSE.id, confirmed(f"{n}"), reports[n]) for n in range(32)]
            )
        # The writer has taken the first of them before the others came.
        assert filled_store.commits - commits == 4
        # On SQLite, the other 31 orders are three groups of 8 rows, and 7 more rows.
        inserts = [statement for statement in begun if statement.startswith("INSERT INTO orders")]
        assert len(inserts) == (5 if database_url.startswith("sqlite") else 2)
        assert len([statement for statement in ended if statement.startswith("UPDATE orders")]) == 2
        assert not [statement for statement in (*begun, *ended) if statement.startswith("SAVEPOINT")]

    @staticmethod
    async def _at_once(store: HeldStore, calls: list[Coroutine[Any, Any, Any]]) -> None:
        first = await store.hold(calls[0])
        others = [asyncio.create_task(call) for call in calls[1:]]
        await asyncio.sleep(0)  # they are queued
        store.released.set()
        await asyncio.gather(first, *others)

    @pytest.mark.parametrize("with_other_work", [False, True])
    async def test_an_order_that_wrongly_says_that_it_is_new_gets_the_known_record(
        self, filled_store: SqlStore, with_other_work: bool
    ) -> None:
        await filled_store.add_orders([an_order("one")], NOW, sent=True)
        known = OrderRecord(an_order("one"), OrderState.SENT, NOW, NOW)
        adding = [filled_store.add_orders([a_new_order(name)], NOW + 1, sent=True) for name in ("zero", "two", "one", "three")]
        others = [filled_store.end_overdue_orders(0.0)] if with_other_work else []
        answers = await asyncio.gather(*adding, *others)
        assert answers[:4] == [[None], [None], [known], [None]]
        for name in ("zero", "two", "three"):
            assert await filled_store.find_order(name) == OrderRecord(an_order(name), OrderState.SENT, NOW + 1, NOW + 1)

    async def test_the_store_is_not_searched_for_new_orders(self, filled_store: SqlStore) -> None:
        with record_statements() as statements:
            await filled_store.add_orders([a_new_order("one")], NOW, sent=True)
        assert not [statement for statement in statements if statement.startswith("SELECT orders")]

    async def test_general_work_between_them_keeps_its_place(self, filled_store: SqlStore) -> None:
        results = await asyncio.gather(
            filled_store.add_orders([an_order()], NOW, sent=False),
            filled_store.end_overdue_orders(DEADLINE),
            filled_store.mark_sent(HOUSE.id, "one", NOW),
            filled_store.add_orders([an_order()], NOW, sent=False),
        )
        assert list(results) == [[None], 1, False, [OrderRecord(an_order(), OrderState.EXPIRED, NOW, None, DEADLINE)]]

    async def test_a_report_that_cannot_be_kept_fails_its_own_order_only(self, filled_store: SqlStore) -> None:
        await filled_store.add_orders([an_order("one"), an_order("two")], NOW, sent=True)
        bad = Report(HOUSE.id, LAMP.id, float("nan"), LightState(on=True))
        results = await asyncio.gather(
            filled_store.end_order(HOUSE.id, confirmed("one"), bad),
            filled_store.end_order(HOUSE.id, confirmed("two")),
            return_exceptions=True,
        )
        assert [type(result) for result in results] == [ValueError, type(None)]
        states = {record.order.id: record.state for record in await filled_store.list_orders(OrderFilter(), 9)}
        assert states == {"one": OrderState.SENT, "two": OrderState.CONFIRMED}
