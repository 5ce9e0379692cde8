"""The data of a site for its responsible person: everything that E18 returns, plus names, places and tests."""

from collections import Counter
from collections.abc import Iterable, Mapping

import msgspec

from domogate.domain.ids import Id
from domogate.domain.plants import Plant, Topology
from domogate.domain.safety import EmergencyTestKind
from domogate.domain.states import EmergencyState
from domogate.services.plants.read_model import ModuleView, PlantView
from domogate.services.safety.schedule import PlannedTest, TestStanding, last_test, plan_test
from domogate.services.safety.status import ControllerReport, SafetyStatus, UnitReport, list_controllers

FULL = 100


class SafetyUnit(msgspec.Struct, frozen=True):
    """A unit: the data that E18 returns about it, its place and its tests."""

    report: UnitReport
    name: str
    place: str
    function: PlannedTest
    duration: PlannedTest
    charge: int | None
    charging_since: float | None
    simulated: bool = False

    @property
    def is_charging(self) -> bool:
        return self.charge is not None and self.charge < FULL


class SafetyController(msgspec.Struct, frozen=True):
    report: ControllerReport
    place: str
    units: tuple[SafetyUnit, ...]
    simulated: bool = False


class StatusCounts(msgspec.Struct, frozen=True):
    """The number of devices in each of the three statuses that E18 returns."""

    total: int
    working: int
    in_failure: int
    no_communication: int


class TestCounts(msgspec.Struct, frozen=True):
    """Counts for one kind of test.

    `passed` and `failed` count units by the result of their last test. `never` counts units without a test.
    """

    __test__ = False  # tells pytest that this class has no tests

    passed: int
    failed: int
    never: int
    due_soon: int
    overdue: int
    under_way: int


class SafetySummary(msgspec.Struct, frozen=True):
    controllers: StatusCounts
    in_alert: int
    units: StatusCounts
    charging: int
    function: TestCounts
    duration: TestCounts
    simulated: int = 0
    """The number of controllers and units that do not exist: their failures and tests are invented."""

    @property
    def complies(self) -> bool:
        """Whether all devices are real and work, each unit has passed its last tests, and no test is missing or overdue."""
        if self.simulated:
            return False
        well = self.units.working == self.units.total and self.controllers.working == self.controllers.total
        return well and all(not (tests.failed or tests.never or tests.overdue) for tests in (self.function, self.duration))


class SafetySite(msgspec.Struct, frozen=True):
    plant: Plant
    seen_at: float
    summary: SafetySummary
    controllers: tuple[SafetyController, ...]

    @property
    def units(self) -> list[SafetyUnit]:
        return [unit for controller in self.controllers for unit in controller.units]


TestKey = tuple[Id | None, EmergencyTestKind, float]
"""A test of a unit: the unit, the kind of the test, and the time at which it began."""


def read_site(
    plant: PlantView, commissioned: Mapping[Id | None, float], logged: Mapping[TestKey, float], now: float
) -> SafetySite:
    """Return the site with its controllers, units and tests.

    `commissioned` has the time at which each unit, or the whole site (key None), was put into service. `logged` is
    about the tests that end in the future (`list_future_tests`): it has the time of the logbook entry of each of them.
    """
    places = places_of(plant.topology)

    def plan(kind: EmergencyTestKind, unit_id: Id, state: EmergencyState) -> PlannedTest:
        last = last_test(kind, state)
        since = commissioned.get(unit_id, commissioned.get(None))
        return plan_test(kind, state, since, now, None if last is None else logged.get((unit_id, kind, last.began_at)))

    def see_unit(report: UnitReport) -> SafetyUnit:
        view: ModuleView = plant.modules[report.id]
        state = view.state if isinstance(view.state, EmergencyState) else EmergencyState()
        return SafetyUnit(
            report=report,
            name=view.module.name,
            place=places.get(report.id, ""),
            function=plan(EmergencyTestKind.FUNCTION, report.id, state),
            duration=plan(EmergencyTestKind.DURATION, report.id, state),
            charge=state.charge,
            charging_since=state.charging_since,
            simulated=view.module.is_simulated,
        )

    controllers = tuple(
        SafetyController(
            report,
            places.get(report.id, ""),
            tuple(see_unit(unit) for unit in report.units),
            plant.modules[report.id].module.is_simulated,
        )
        for report in list_controllers(plant)
    )
    return SafetySite(plant.plant, now, summarise(controllers), controllers)


def list_future_tests(plant: PlantView, now: float) -> set[TestKey]:
    """Return the tests that end in the future: the clock of a unit with such a test is wrong."""
    states = [(view.module.id, view.state) for view in plant.modules.values() if isinstance(view.state, EmergencyState)]
    tests = [(unit_id, test) for unit_id, state in states for test in (state.function_test, state.duration_test)]
    return {(unit_id, test.kind, test.began_at) for unit_id, test in tests if test is not None and test.ended_at > now}


def places_of(topology: Topology) -> dict[Id, str]:
    """Return the floor and room of each module as a text. Modules in no room are left out."""
    rooms = [(f"{floor.name}, {ambient.name}", ambient) for floor in topology.floors for ambient in floor.ambients]
    rooms += [(ambient.name, ambient) for ambient in topology.ambients]
    return {module.id: place for place, ambient in rooms for module in ambient.modules}


def summarise(controllers: Iterable[SafetyController]) -> SafetySummary:
    controllers = list(controllers)
    units = [unit for controller in controllers for unit in controller.units]
    return SafetySummary(
        controllers=_count_statuses([controller.report.status for controller in controllers]),
        in_alert=sum(controller.report.alert for controller in controllers),
        units=_count_statuses([unit.report.status for unit in units]),
        charging=sum(unit.is_charging for unit in units),
        function=_count_tests([unit.function for unit in units]),
        duration=_count_tests([unit.duration for unit in units]),
        simulated=sum(one.simulated for one in controllers) + sum(one.simulated for one in units),
    )


def _count_statuses(statuses: list[SafetyStatus]) -> StatusCounts:
    of = Counter(statuses)
    return StatusCounts(len(statuses), of[SafetyStatus.WORKING], of[SafetyStatus.IN_FAILURE], of[SafetyStatus.NO_COMMUNICATION])


def _count_tests(tests: list[PlannedTest]) -> TestCounts:
    standing = Counter(test.standing for test in tests)
    return TestCounts(
        passed=sum(test.last is not None and test.last.passed for test in tests),
        failed=sum(test.last is not None and not test.last.passed for test in tests),
        never=sum(test.last is None for test in tests),
        due_soon=standing[TestStanding.DUE_SOON],
        overdue=standing[TestStanding.OVERDUE],
        under_way=sum(test.under_way for test in tests),
    )
