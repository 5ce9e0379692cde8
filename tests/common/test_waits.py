"""Waiting times of requests."""

import asyncio

import pytest

from domogate.common.waits import Waits
from domogate.edge.slow_requests import SlowRequests


class TestWaits:
    async def test_a_short_wait_leaves_nothing(self) -> None:
        waits = Waits(lambda: "r1", shortest=1000.0)
        with waits.measure("store"):
            await asyncio.sleep(0)
        assert waits.take() == {}

    async def test_steps_at_the_same_time_count_once(self) -> None:
        waits = Waits(lambda: "r1", shortest=0.0)
        with waits.measure("outer"), waits.measure("store"), waits.measure("store"):
            await asyncio.sleep(0)
        found = waits.take()
        assert 0 < found["store"] <= found["outer"]
        assert waits.take() == {}

    @pytest.mark.parametrize("short", ["device", "store"])
    async def test_a_long_wait_is_remembered_if_a_short_step_ends_before_it(self, short: str) -> None:
        waits = Waits(lambda: "r1", shortest=0.02)
        with waits.measure("device"):
            with waits.measure(short):
                await asyncio.sleep(0)
            await asyncio.sleep(0.05)
        assert waits.take()["device"] >= 0.02

    async def test_short_steps_at_the_same_time_leave_nothing(self) -> None:
        waits = Waits(lambda: "r1", shortest=1000.0)
        with waits.measure("device"), waits.measure("device"), waits.measure("store"):
            await asyncio.sleep(0)
        assert not waits.of_requests

    async def test_the_waits_of_a_fast_request_are_not_added_to_the_next_request_with_its_id(self) -> None:
        waits = Waits(lambda: "r1", shortest=0.0)
        with waits.measure("store"):
            await asyncio.sleep(0)
        SlowRequests(1.0, {}, waits).forget()
        assert waits.take() == {}

    async def test_work_without_a_request_is_not_measured(self) -> None:
        waits = Waits(lambda: None, shortest=0.0)
        with waits.measure("store"):
            await asyncio.sleep(0)
        assert waits.take() == {}

    async def test_the_memory_is_bounded(self) -> None:
        requests = iter(range(5_000))
        current = "first"
        waits = Waits(lambda: current, shortest=0.0)
        with waits.measure("store"):
            pass
        for number in requests:
            current = str(number)
            with waits.measure("store"):
                pass
        current = "first"
        assert waits.take() == {}
        current = "4999"
        assert waits.take() != {}
