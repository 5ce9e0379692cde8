"""Every new fact of a report is logged once, and nothing else."""

from collections.abc import Sequence
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given
from msgspec.structs import replace

from domogate.domain.events import StateChanged
from domogate.domain.ids import Id
from domogate.domain.logbook import LogbookEntry, LogbookKind, entries_of
from domogate.domain.reachability import Absence, AbsenceReason
from domogate.domain.safety import EmergencyTest, EmergencyTestKind, Failure, FailureType
from domogate.domain.states import EmergencyState, LightState

SITE, UNIT = Id("site"), Id("unit")
WELL = EmergencyState(failures=(Failure(FailureType.BLOCK_OK),))
FUNCTION = EmergencyTest(EmergencyTestKind.FUNCTION, 100.0, 130.0, 30.0)
DURATION = EmergencyTest(EmergencyTestKind.DURATION, 100.0, 3700.0, 3600.0, FailureType.BLOCK_FAULTY_BATTERY)


def heard(state: EmergencyState | None, at: float = 5000.0, **more: Any) -> StateChanged:
    told: dict[str, Any] = {"reachable": True, **more}
    return StateChanged(plant_id=SITE, module_id=UNIT, state=state, at=at, **told)


def log(before: EmergencyState | None, event: StateChanged) -> list[LogbookEntry]:
    return entries_of(before, event, "Exit sign")


def failing(*types: FailureType) -> EmergencyState:
    return EmergencyState(failures=tuple(Failure(each) for each in types))


class TestTests:
    def test_one_that_ended_is_logged_with_the_time_of_its_end(self) -> None:
        (entry,) = log(WELL, heard(replace(WELL, function_test=FUNCTION)))
        assert entry == LogbookEntry(
            plant_id=SITE, at=130.0, kind=LogbookKind.TEST, module_id=UNIT, module="Exit sign", test=FUNCTION
        )

    def test_what_a_test_brought_to_light_is_logged_with_it_and_as_a_failure(self) -> None:
        found = log(WELL, heard(replace(failing(FailureType.BLOCK_FAULTY_BATTERY), duration_test=DURATION)))
        assert [(entry.kind, entry.failure) for entry in found] == [
            (LogbookKind.TEST, FailureType.BLOCK_FAULTY_BATTERY),
            (LogbookKind.FAILURE, FailureType.BLOCK_FAULTY_BATTERY),
        ]

    def test_one_that_is_under_way_is_not_logged_yet(self) -> None:
        assert log(WELL, heard(replace(WELL, testing=EmergencyTestKind.FUNCTION))) == []

    def test_one_that_is_known_is_not_logged_again(self) -> None:
        known = replace(WELL, function_test=FUNCTION, duration_test=DURATION)
        assert log(known, heard(replace(known, charge=50))) == []

    def test_the_two_kinds_are_told_apart_although_they_began_together(self) -> None:
        found = log(replace(WELL, function_test=FUNCTION), heard(replace(WELL, function_test=FUNCTION, duration_test=DURATION)))
        assert [entry.test for entry in found] == [DURATION]

    def test_a_unit_whose_clock_is_ahead_logs_nothing_in_the_future(self) -> None:
        (entry,) = log(WELL, heard(replace(WELL, function_test=FUNCTION), at=120.0))
        assert entry.at == 120.0


class TestFailures:
    def test_each_that_appeared_and_each_that_went(self) -> None:
        before = failing(FailureType.BLOCK_FAULTY_BATTERY, FailureType.BLOCK_DLD)
        found = log(before, heard(failing(FailureType.BLOCK_DLD, FailureType.BLOCK_FAULTY_EMERGENCY_LIGHT)))
        assert [(entry.kind, entry.failure, entry.at) for entry in found] == [
            (LogbookKind.FAILURE, FailureType.BLOCK_FAULTY_EMERGENCY_LIGHT, 5000.0),
            (LogbookKind.REPAIR, FailureType.BLOCK_FAULTY_BATTERY, 5000.0),
        ]

    @pytest.mark.parametrize("well", [FailureType.BLOCK_OK, FailureType.REMOTE_OK])
    def test_ok_is_no_failure(self, well: FailureType) -> None:
        assert log(None, heard(failing(well))) == []

    def test_another_flag_of_the_same_failure_is_no_news(self) -> None:
        flagged = EmergencyState(failures=(Failure(FailureType.BLOCK_DLD, "0x0808"), Failure(FailureType.BLOCK_DLD)))
        assert log(failing(FailureType.BLOCK_DLD), heard(flagged)) == []

    def test_a_unit_that_is_in_failure_when_it_is_first_heard_of(self) -> None:
        assert [entry.kind for entry in log(None, heard(failing(FailureType.BLOCK_DLD)))] == [LogbookKind.FAILURE]


class TestReachability:
    def test_silence_says_why_and_contact_follows(self) -> None:
        absence = Absence(AbsenceReason.CONNECTION_LOST, 4000.0, "bus 3, address 17")
        (silence,) = log(WELL, heard(WELL, reachable=False, turned=True, absence=absence))
        assert (silence.kind, silence.words) == (LogbookKind.SILENCE, "connection lost")
        (contact,) = log(WELL, heard(WELL, turned=True))
        assert (contact.kind, contact.words) == (LogbookKind.CONTACT, "")

    def test_still_away_for_another_reason_is_no_entry(self) -> None:
        assert log(WELL, heard(WELL, reachable=False, absence=Absence(AbsenceReason.SILENT, 1.0))) == []

    def test_a_unit_that_never_said_anything_can_fall_silent(self) -> None:
        assert [entry.kind for entry in log(None, heard(None, reachable=False, turned=True))] == [LogbookKind.SILENCE]

    def test_a_state_of_another_kind_changes_nothing(self) -> None:
        odd = StateChanged(plant_id=SITE, module_id=UNIT, state=LightState(on=True), reachable=True, at=1.0)
        assert log(failing(FailureType.BLOCK_DLD), odd) == []


class TestAlert:
    @pytest.mark.parametrize(
        ("before", "after", "kinds"),
        [
            (None, True, [LogbookKind.ALERT]),
            (False, True, [LogbookKind.ALERT]),
            (True, False, [LogbookKind.ALERT_ENDED]),
            (True, True, []),
            (None, False, []),
            (True, None, []),
        ],
    )
    def test_it_is_logged_when_it_turns(self, before: bool | None, after: bool | None, kinds: list[LogbookKind]) -> None:
        assert [entry.kind for entry in log(EmergencyState(alert=before), heard(EmergencyState(alert=after)))] == kinds


_TYPES = st.sampled_from(
    [FailureType.BLOCK_OK, FailureType.BLOCK_DLD, FailureType.BLOCK_FAULTY_BATTERY, FailureType.BLOCK_FAULTY_EMERGENCY_LIGHT]
)


@st.composite
def _tests(draw: st.DrawFn, kind: EmergencyTestKind) -> list[EmergencyTest]:
    """The tests of one kind that a unit runs, one after the other."""
    begins = draw(st.lists(st.integers(1, 1000), unique=True, max_size=5).map(sorted))
    return [EmergencyTest(kind, float(at), at + 0.5, 0.5, draw(st.none() | _TYPES)) for at in begins]


@st.composite
def _stories(draw: st.DrawFn) -> list[EmergencyState]:
    """The states of a unit, step by step. A finished test stays in the state until the next of its kind."""
    told: dict[str, list[EmergencyTest]] = {
        "function_test": draw(_tests(EmergencyTestKind.FUNCTION)),
        "duration_test": draw(_tests(EmergencyTestKind.DURATION)),
    }
    state = EmergencyState()
    story = []
    for _ in range(draw(st.integers(1, 14))):
        step = draw(st.sampled_from(["function_test", "duration_test", "failures", "repeat"]))
        if step == "failures":
            types = draw(st.lists(_TYPES, max_size=3))
            state = replace(state, failures=tuple(Failure(each) for each in types))
        elif step != "repeat" and told[step]:
            state = replace(state, **{step: told[step].pop(0)})
        story.append(state)
    return story


def tell(story: Sequence[EmergencyState]) -> list[LogbookEntry]:
    entries: list[LogbookEntry] = []
    before: EmergencyState | None = None
    for number, state in enumerate(story):
        entries += log(before, heard(state, at=2000.0 + number))
        before = state
    return entries


class TestAStory:
    """All properties use the same stories, because generating them takes the time."""

    @given(_stories())
    def test_is_told_entry_by_entry_and_once(self, story: list[EmergencyState]) -> None:
        entries = tell(story)
        self.one_entry_for_each_test(story, entries)
        self.failures_and_repairs_add_up(story, entries)
        self.told_twice_over_it_is_logged_once(story, entries)

    def one_entry_for_each_test(self, story: list[EmergencyState], entries: list[LogbookEntry]) -> None:
        happened = {test for state in story for test in (state.function_test, state.duration_test) if test is not None}
        logged = [entry.test for entry in entries if entry.kind is LogbookKind.TEST]
        assert len(logged) == len(happened)
        assert {test for test in logged if test is not None} == happened

    def failures_and_repairs_add_up(self, story: list[EmergencyState], entries: list[LogbookEntry]) -> None:
        """Their sum is the set of failures at the end."""
        failing_now: set[FailureType | None] = set()
        for entry in entries:
            if entry.kind is LogbookKind.FAILURE:
                assert entry.failure not in failing_now
                failing_now.add(entry.failure)
            elif entry.kind is LogbookKind.REPAIR:
                assert entry.failure in failing_now
                failing_now.remove(entry.failure)
        assert failing_now == {each.type for each in story[-1].failures} - {FailureType.BLOCK_OK}

    def told_twice_over_it_is_logged_once(self, story: list[EmergencyState], entries: list[LogbookEntry]) -> None:
        """Each state repeated, as drivers do after a restart."""
        twice = [state for state in story for _ in range(2)]
        plain = [(entry.kind, entry.test, entry.failure) for entry in entries]
        assert [(entry.kind, entry.test, entry.failure) for entry in tell(twice)] == plain
