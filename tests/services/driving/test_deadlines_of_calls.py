"""All calls of a plant share one timer. Each call still ends at its own deadline."""

import asyncio

import pytest

from domogate.domain.faults import DeviceTimeout
from domogate.domain.ids import new_id
from domogate.services.driving.calls import DriverCall, DriverCalls, Outcome
from support.clocks import ManualClock

FAR = 3600.0


def calls_of_a_plant(clock: ManualClock) -> DriverCalls:
    return DriverCalls(new_id(), clock, lambda: None)


async def never_answer(call: DriverCall) -> None:
    call.give_to_driver()
    await asyncio.get_running_loop().create_future()


async def has_timed_out(outcome: Outcome[None]) -> bool:
    with pytest.raises(DeviceTimeout):
        await outcome.wait()
    return True


class TestTheSharedTimer:
    async def test_a_later_call_with_an_earlier_deadline_ends_first(self) -> None:
        clock = ManualClock()
        calls = calls_of_a_plant(clock)
        late = calls.run(clock.now() + FAR, never_answer)
        soon = calls.run(clock.now() + 0.01, never_answer)
        assert await has_timed_out(soon)
        assert not late.done()
        await calls.stop()

    async def test_the_timer_is_set_again_for_the_next_deadline(self) -> None:
        clock = ManualClock()
        calls = calls_of_a_plant(clock)
        first = calls.run(clock.now() + 0.01, never_answer)
        second = calls.run(clock.now() + 0.05, never_answer)
        assert await has_timed_out(first)
        assert await has_timed_out(second)

    async def test_a_call_after_the_end_of_all_others_has_a_deadline_too(self) -> None:
        clock = ManualClock()
        calls = calls_of_a_plant(clock)
        assert await has_timed_out(calls.run(clock.now() + 0.01, never_answer))
        assert await has_timed_out(calls.run(clock.now() + 0.01, never_answer))

    async def test_a_call_whose_deadline_has_passed_ends(self) -> None:
        clock = ManualClock()
        assert await has_timed_out(calls_of_a_plant(clock).run(clock.now() - 1, never_answer))
