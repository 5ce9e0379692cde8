"""Takes a sample of the gateway's counters each minute and keeps the last hour in memory.

The samples add no work to requests: a sample only reads the counters that the metrics already have.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from itertools import pairwise

import msgspec

from domogate.common.log import get_logger
from domogate.common.tasks import cancel
from domogate.domain.figures import StoreFigures
from domogate.ports import Clock, FigureStore
from domogate.services.monitoring.counters import Counters

MINUTE = 60.0
MINUTES = 60
"""The number of minutes that are kept."""
_FRESH = 5.0
"""In seconds.

Counts of the store that are not older than this are used again. Therefore, the work does not grow with the number of viewers.
"""

_log = get_logger(__name__)


class Sample(msgspec.Struct, frozen=True):
    """The counters of this process and the counts of the store (`figures`) at one time.

    `figures` is None in the first sample, and if the database did not answer.
    """

    at: float
    counters: Counters
    streams: int
    figures: StoreFigures | None


class Period(msgspec.Struct, frozen=True):
    """The time between two samples: how much the counters grew in it, and the second sample (`end`)."""

    since: float
    counters: Counters
    end: Sample


def _period(before: Sample, after: Sample) -> Period:
    return Period(before.at, after.counters.minus(before.counters), after)


class Activity(msgspec.Struct, frozen=True):
    """The data of the operators' overview: counts of the present minute and of the earlier minutes (oldest first), and sums."""

    now: Period
    minutes: tuple[Period, ...]
    total: Counters
    ended_orders: dict[str, int]


class Monitor:
    """Keeps one sample for each of the last 60 minutes."""

    def __init__(
        self, store: FigureStore, clock: Clock, *, read_counters: Callable[[], Counters], count_streams: Callable[[], int]
    ) -> None:
        self._store = store
        self._clock = clock
        self._read_counters = read_counters
        self._count_streams = count_streams
        self._samples: deque[Sample] = deque(maxlen=MINUTES + 1)
        self._counting = asyncio.Lock()
        self._figures: tuple[float, StoreFigures] | None = None
        """The last counts of the store. The first value is the time of the sample that was the newest before these counts.

        Of the ended orders, only those that ended after this time are counted.
        """
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        self._samples.append(self._make_sample(None))
        self._task = asyncio.create_task(self._sample_regularly(), name="samples for operators")

    async def stop(self) -> None:
        await cancel(self._task)

    async def take_sample(self) -> None:
        """Add a sample of the present time.

        The sample has the number of orders that ended since the previous sample. Normally, the previous sample is one minute
        old. If the database does not answer, the sample has no counts of the store.
        """
        figures = None
        try:
            figures = await self._store.count_figures(self._samples[-1].at)
        except Exception as error:
            _log.warning("the data of the store could not be counted", error=str(error))
        self._samples.append(self._make_sample(figures))

    async def read(self) -> Activity:
        """Return the activity of the last hour. Raises the errors of the store."""
        now = self._make_sample(await self._count())
        samples = tuple(self._samples)
        ended: dict[str, int] = {}
        for sample in (*samples[1:], now):
            for state, count in ({} if sample.figures is None else sample.figures.ended_orders).items():
                ended[state] = ended.get(state, 0) + count
        return Activity(
            _period(samples[-1], now),
            tuple(_period(before, after) for before, after in pairwise(samples)),
            now.counters.minus(samples[0].counters),
            ended,
        )

    async def read_figures(self, max_age: float) -> StoreFigures:
        """Return counts of the store that are not older than this number of seconds. Raises the errors of the store."""
        known = [sample.figures for sample in self._samples] + ([] if self._figures is None else [self._figures[1]])
        now = self._clock.now()
        fresh = [figures for figures in known if figures is not None and 0 <= now - figures.at <= max_age]
        return max(fresh, key=lambda figures: figures.at) if fresh else await self._count()

    async def _count(self) -> StoreFigures:
        async with self._counting:
            since, now = self._samples[-1].at, self._clock.now()
            if self._figures is None or self._figures[0] != since or not 0 <= now - self._figures[1].at < _FRESH:
                self._figures = since, await self._store.count_figures(since)
            return self._figures[1]

    def _make_sample(self, figures: StoreFigures | None) -> Sample:
        return Sample(self._clock.now(), self._read_counters(), self._count_streams(), figures)

    async def _sample_regularly(self) -> None:
        while True:
            await asyncio.sleep(MINUTE)
            await self.take_sample()
