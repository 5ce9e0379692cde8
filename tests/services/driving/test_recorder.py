import asyncio

import pytest

from domogate.domain.devices import DeviceKind
from domogate.domain.faults import DeviceTimeout, Fault, Internal
from domogate.domain.states import LightState, Report
from domogate.ports import Fenced, StoredState, StoreUnavailable
from domogate.services.driving import recorder as recorder_module
from domogate.services.driving.recorder import Recorder
from support.clocks import NOON
from support.device_store import FakeStore
from support.devices import make_id, make_module
from support.log_lines import capture_logs

PLANT, LAMP = make_id(1), make_id(2)


@pytest.fixture
def store() -> FakeStore:
    store = FakeStore()
    store.add_plant(make_module(DeviceKind.LIGHT, LAMP), plant_id=PLANT)
    return store


def report(level: int, *, reachable: bool = True) -> Report:
    return Report(PLANT, LAMP, NOON, state=LightState(on=True, level=level), reachable=reachable)


def level_of(report: Report) -> int | None:
    assert isinstance(report.state, LightState)
    return report.state.level


class TestRecorder:
    async def test_keeps_the_order_in_which_things_were_said(self, store: FakeStore) -> None:
        recorder = Recorder(store)
        await recorder.record([report(1)])
        await asyncio.gather(
            recorder.record_answer(report(2)), recorder.record([report(3), report(4)]), recorder.record_answer(report(5))
        )
        assert [level_of(each) for each in store.reports] == [1, 2, 3, 4, 5]

    async def test_cuts_a_long_report_into_batches(self, store: FakeStore, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(recorder_module, "_BATCH", 3)
        await Recorder(store).record([report(level) for level in range(7)])
        assert [len(record) for record in store.records] == [3, 3, 1]

    async def test_a_driver_goes_on_when_its_report_cannot_be_recorded(self, store: FakeStore) -> None:
        store.fails_on = lambda reports: any(level_of(each) == 13 for each in reports)
        recorder = Recorder(store)
        with capture_logs() as logs:
            await recorder.record([report(13)])
            await recorder.record([report(14)])
        assert [level_of(each) for each in store.reports] == [14]
        assert len(logs) == 1

    async def test_tells_only_those_whose_report_was_lost(self, store: FakeStore) -> None:
        store.fails_on = lambda reports: any(level_of(each) == 13 for each in reports)
        recorder = Recorder(store)
        with capture_logs() as logs:
            outcomes = await asyncio.gather(
                *(recorder.record_answer(report(level)) for level in (12, 13, 14)), return_exceptions=True
            )
        assert [type(outcome) for outcome in outcomes] == [type(None), Internal, type(None)]
        assert len(logs) == 1

    @pytest.mark.parametrize(
        ("error", "fault"),
        [
            (Fenced(7, None), DeviceTimeout("the device was asked, but another gateway drives its plant now")),
            (StoreUnavailable("gone"), Internal("the answer of the device could not be recorded", is_temporary=True)),
            (ValueError("bug"), Internal("the answer of the device could not be recorded")),
        ],
    )
    async def test_says_why_an_answer_was_not_recorded(
        self, store: FakeStore, monkeypatch: pytest.MonkeyPatch, error: Exception, fault: Fault
    ) -> None:
        async def fail(*_: object) -> None:
            raise error

        monkeypatch.setattr(store, "record", fail)
        with capture_logs(), pytest.raises(type(fault)) as raised:
            await Recorder(store).record_answer(report(1))
        assert vars(raised.value) == vars(fault)

    async def test_passes_over_nothing_at_all(self, store: FakeStore) -> None:
        recorder = Recorder(store)
        await recorder.record([])
        assert store.records == []


class TestNews:
    async def test_is_what_differs_from_what_was_recorded_last(self, store: FakeStore) -> None:
        recorder = Recorder(store)
        recorder.start_from([LAMP], {LAMP: StoredState(LightState(on=True, level=1), True, NOON)})
        assert not recorder.is_new(report(1))
        assert recorder.is_new(report(2))
        assert recorder.is_new(report(1, reachable=False))
        assert not recorder.is_new(Report(PLANT, LAMP, NOON))
        await recorder.record_answer(report(2))
        assert not recorder.is_new(report(2))
        await recorder.record_answer(Report(PLANT, LAMP, NOON, reachable=False))
        assert not recorder.is_new(report(2, reachable=False))

    async def test_is_not_overwritten_by_what_the_store_held_before(self, store: FakeStore) -> None:
        recorder = Recorder(store)
        recorder.start_from([LAMP], {})
        await recorder.record_answer(report(2))
        recorder.start_from([LAMP], {LAMP: StoredState(LightState(on=True, level=1), True, NOON)})
        assert not recorder.is_new(report(2))

    async def test_is_everything_of_a_module_that_was_forgotten(self, store: FakeStore) -> None:
        recorder = Recorder(store)
        recorder.start_from([LAMP], {})
        await recorder.record_answer(report(2))
        recorder.forget([LAMP])
        assert recorder.is_new(report(2))
