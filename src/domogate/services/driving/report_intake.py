"""What drivers say, on its way to the store: within bounds, as injected faults let it be heard, with what follows from it."""

from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial

import structlog

from domogate.domain.faults import Fault
from domogate.domain.ids import Id
from domogate.domain.states import Report
from domogate.ports import Clock, ReportSink
from domogate.services.driving.alerts import Alerts
from domogate.services.driving.attachment import AwakePlant
from domogate.services.driving.limits import find_breach
from domogate.services.driving.recording import Lane, Recording

_log = structlog.get_logger(__name__)


class Hearing:
    """Takes reports, each driver's in a lane of its own, and answers to questions."""

    def __init__(
        self,
        recording: Recording,
        alerts: Alerts,
        drivers: Iterable[str],
        clock: Clock,
        *,
        find_plant: Callable[[Id], AwakePlant | None],
    ) -> None:
        self._recording = recording
        self._alerts = alerts
        self._clock = clock
        self._find_plant = find_plant
        self._lanes = {name: Lane(recording) for name in drivers}

    def sink_of(self, name: str) -> ReportSink:
        """Where the driver of that name reports to."""
        return partial(self._take_reports, self._lanes[name])

    def count_waiting(self, name: str) -> int:
        """Reports of that driver that are not recorded yet."""
        return self._lanes[name].waiting

    def _take_reports(self, lane: Lane, reports: Sequence[Report]) -> Awaitable[None]:
        return lane.push(self._alerts.complete(tuple(self._audible(_within_limits(reports)))))

    async def say(self, reports: Sequence[Report]) -> None:
        """As if a driver had said it."""
        await self._recording.push(self._alerts.complete(tuple(self._audible(reports))))

    async def take_answer(self, answer: Report, *, always: bool) -> Report:
        """Have it recorded if it is news, or anyway."""
        report, *of_alerts = self._alerts.complete((answer,))
        if of_alerts:
            await self._recording.push(of_alerts)
        if always or self._recording.is_news(report):
            # An answer that could not be recorded is still an answer; the recording has said so in the log.
            with suppress(Fault):
                await self._recording.record(report)
        return report

    def _audible(self, reports: Sequence[Report] | Iterator[Report]) -> Iterator[Report]:
        """As injected faults let them be heard."""
        for report in reports:
            plant = self._find_plant(Id(report.plant_id))
            if plant is None or not plant.overlay:
                yield report
            elif (heard := plant.overlay.cover(report, self._clock.now())) is not None:
                yield heard


def _within_limits(reports: Sequence[Report]) -> Iterator[Report]:
    for report in reports:
        breach = find_breach(report)
        if breach is None:
            yield report
        else:
            _log.warning("report passed over", module_id=report.module_id, breach=breach)
