import asyncio

import pytest
from structlog.testing import capture_logs

from domogate.domain.devices import DeviceKind
from domogate.domain.faults import Internal
from domogate.domain.states import LightState, Report
from domogate.ports import StoredState
from domogate.services.driving import recording as recording_module
from domogate.services.driving.recording import Recording
from support.devices import NOON, FakeStore, make_id, make_module

PLANT, LAMP = make_id(1), make_id(2)


@pytest.fixture
def store() -> FakeStore:
    store = FakeStore()
    store.add_plant(make_module(DeviceKind.LIGHT, LAMP), plant_id=PLANT)
    return store


def say(level: int, *, reachable: bool = True) -> Report:
    return Report(PLANT, LAMP, NOON, state=LightState(on=True, level=level), reachable=reachable)


class TestRecording:
    async def test_keeps_the_order_in_which_things_were_said(self, store):
        recording = Recording(store)
        await recording.push([say(1)])
        await asyncio.gather(recording.record(say(2)), recording.push([say(3), say(4)]), recording.record(say(5)))
        assert [report.state.level for report in store.reports] == [1, 2, 3, 4, 5]

    async def test_cuts_a_long_report_into_batches(self, store, monkeypatch):
        monkeypatch.setattr(recording_module, "_BATCH", 3)
        await Recording(store).push([say(level) for level in range(7)])
        assert [len(record) for record in store.records] == [3, 3, 1]

    async def test_a_driver_goes_on_when_its_report_cannot_be_recorded(self, store):
        store.fails_on = lambda reports: any(report.state.level == 13 for report in reports)
        recording = Recording(store)
        with capture_logs() as logs:
            await recording.push([say(13)])
            await recording.push([say(14)])
        assert [report.state.level for report in store.reports] == [14]
        assert len(logs) == 1

    async def test_tells_only_those_whose_report_was_lost(self, store):
        store.fails_on = lambda reports: any(report.state.level == 13 for report in reports)
        recording = Recording(store)
        with capture_logs() as logs:
            outcomes = await asyncio.gather(*(recording.record(say(level)) for level in (12, 13, 14)), return_exceptions=True)
        assert [type(outcome) for outcome in outcomes] == [type(None), Internal, type(None)]
        assert len(logs) == 1

    async def test_passes_over_nothing_at_all(self, store):
        recording = Recording(store)
        await recording.push([])
        assert store.records == []


class TestNews:
    async def test_is_what_differs_from_what_was_recorded_last(self, store):
        recording = Recording(store)
        recording.know([LAMP], {LAMP: StoredState(LightState(on=True, level=1), True, NOON)})
        assert not recording.is_news(say(1))
        assert recording.is_news(say(2))
        assert recording.is_news(say(1, reachable=False))
        assert not recording.is_news(Report(PLANT, LAMP, NOON))
        await recording.record(say(2))
        assert not recording.is_news(say(2))
        await recording.record(Report(PLANT, LAMP, NOON, reachable=False))
        assert not recording.is_news(say(2, reachable=False))

    async def test_is_not_overwritten_by_what_the_store_held_before(self, store):
        recording = Recording(store)
        recording.know([LAMP], {})
        await recording.record(say(2))
        recording.know([LAMP], {LAMP: StoredState(LightState(on=True, level=1), True, NOON)})
        assert not recording.is_news(say(2))

    async def test_is_everything_of_a_module_that_was_forgotten(self, store):
        recording = Recording(store)
        recording.know([LAMP], {})
        await recording.record(say(2))
        recording.forget([LAMP])
        assert recording.is_news(say(2))
