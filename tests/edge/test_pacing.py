import asyncio
from functools import partial

from domogate.edge.direct import AT_ONCE, RequestPacer


class TestPace:
    async def test_requests_start_in_order_and_only_some_in_each_round(self) -> None:
        pacer, started = RequestPacer(), list[int]()
        for number in range(2 * AT_ONCE + 1):
            pacer.start(partial(started.append, number))
        lengths = [len(started)]
        for _ in range(4):
            await asyncio.sleep(0)
            lengths.append(len(started))
        assert lengths == [AT_ONCE, 2 * AT_ONCE, 2 * AT_ONCE + 1, 2 * AT_ONCE + 1, 2 * AT_ONCE + 1]
        assert started == list(range(2 * AT_ONCE + 1))

    async def test_those_that_come_later_do_not_overtake(self) -> None:
        pacer, started = RequestPacer(), list[int]()
        for number in range(2 * AT_ONCE):
            pacer.start(partial(started.append, number))
        await asyncio.sleep(0)
        for number in range(2 * AT_ONCE, 3 * AT_ONCE):
            pacer.start(partial(started.append, number))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert started == list(range(3 * AT_ONCE))

    async def test_a_single_request_starts_at_once(self) -> None:
        pacer, started = RequestPacer(), list[int]()
        for number in range(5):
            pacer.start(partial(started.append, number))
            assert started[-1] == number
            await asyncio.sleep(0)
