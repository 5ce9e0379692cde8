"""Emergency lighting: what fails and is repaired, and units that test themselves (EN 62034).

A unit makes a function test every month and a duration test every year, the latter only on a battery that has charged for 24
hours. What a test brings to light is a failure until somebody repairs it; then the unit tests its function again.
"""

from typing import Any

import msgspec

from domogate.domain.devices import DeviceKind
from domogate.domain.plants import Module
from domogate.domain.safety import FLAGS, EmergencyTest, EmergencyTestKind, Failure, FailureType, in_failure
from domogate.domain.states import EmergencyState
from domogate.drivers.simulator.chance import Slots
from domogate.drivers.simulator.device import Device, Start

_DAY = 86_400.0
_WELL = {
    DeviceKind.EMERGENCY_CONTROLLER: FailureType.REMOTE_OK,
    DeviceKind.EMERGENCY_UNIT: FailureType.BLOCK_OK,
}
_BREAKS = {
    DeviceKind.EMERGENCY_CONTROLLER: (
        FailureType.REMOTE_NO_BLOCK_RESPONSE,
        FailureType.REMOTE_SECTOR_ON_BUS,
        FailureType.REMOTE_BATTERY_FAULT,
    ),
    DeviceKind.EMERGENCY_UNIT: (
        FailureType.BLOCK_DISCONNECTED_BATTERY,
        FailureType.BLOCK_FAULTY_POWER_SUPPLY,
        FailureType.BLOCK_FAULTY_ELECTRONICAL,
    ),
}


class Emergency(Device[EmergencyState]):
    """Keeps the failures it was given. One that has none fails now and then, and is repaired some hours later."""

    __slots__ = ("_calm_until", "_failing", "_slot", "_slots", "given")
    reports = EmergencyState
    SPAN = 6 * 3600.0
    CALM = 2 * 3600.0
    ODDS = 0.02

    def __init__(self, module: Module, state: EmergencyState | None, start: Start) -> None:
        super().__init__(module, state, start)
        self._slots = Slots(self.chance, "failure", self.SPAN)
        self._slot = self._slots.at(start.now)
        self._calm_until = start.now + self.CALM
        failures = self.state.failures
        # After a restart a failure of the simulator's own must not be taken for a given one: that would never be repaired.
        self._failing = in_failure(failures) and failures in (self._failures_in(self._slot), self._failures_in(self._slot - 1))
        self.given = in_failure(failures) and not self._failing
        """Whether it has failures that somebody else gave it, and that are theirs to take back."""

    def first_state(self) -> EmergencyState:
        return EmergencyState(failures=self.well)

    @property
    def well(self) -> tuple[Failure, ...]:
        return (Failure(_WELL[self.kind]),)

    def fail(self, failures: tuple[Failure, ...]) -> None:
        self.state = msgspec.structs.replace(self.state, failures=failures)

    def evolve(self, now: float) -> None:
        slot = self._slots.at(now)
        if slot == self._slot or self.given:
            return
        self._slot = slot
        failures = self._failures_in(slot)
        if self._failing:
            if not failures:
                self._failing = False
                self.fail(self.well)
        elif failures and now >= self._calm_until and not in_failure(self.state.failures):
            self._failing = True
            self.fail(failures)

    def _failures_in(self, slot: int) -> tuple[Failure, ...]:
        if self.chance.of("fails", slot) >= self.ODDS:
            return ()
        return (own_failure(self.chance.pick("what breaks", _BREAKS[self.kind], slot)),)


def own_failure(broken: FailureType) -> Failure:
    """The flag is written out, as an estate seldom does: it prints the same, and tells whose failure it is."""
    return Failure(broken, FLAGS[broken])


class _UnderWay(msgspec.Struct, frozen=True):
    """A test that has begun: when it will end, how long the lamp lights, and what comes to light."""

    kind: EmergencyTestKind
    begins: float
    ends: float
    failure: FailureType | None


class EmergencyUnit(Emergency):
    """A lamp on a battery that it charges, and that its tests discharge."""

    __slots__ = ("_charge", "_charging_since", "_due", "_repaired_at", "_slot_of", "_tests", "_under_way")

    CHARGES_IN = 24 * 3600.0
    CHARGED_FOR = 24 * 3600.0
    LASTS = {EmergencyTestKind.FUNCTION: 30.0, EmergencyTestKind.DURATION: 3600.0}
    EVERY = {EmergencyTestKind.FUNCTION: 30 * _DAY, EmergencyTestKind.DURATION: 360 * _DAY}
    FAILS = {EmergencyTestKind.FUNCTION: 0.015, EmergencyTestKind.DURATION: 0.05}
    _SHOWS = {
        EmergencyTestKind.FUNCTION: FailureType.BLOCK_FAULTY_EMERGENCY_LIGHT,
        EmergencyTestKind.DURATION: FailureType.BLOCK_FAULTY_BATTERY,
    }
    _RESERVE = 1.3
    """A good battery lasts so much longer than it is rated for."""

    def __init__(self, module: Module, state: EmergencyState | None, start: Start) -> None:
        super().__init__(module, state, start)
        told = self.state
        self._tests = {kind: Slots(self.chance, f"{kind} test", every) for kind, every in self.EVERY.items()}
        done = {EmergencyTestKind.FUNCTION: told.function_test, EmergencyTestKind.DURATION: told.duration_test}
        self._slot_of = {
            kind: slots.at(start.now if (test := done[kind]) is None else start.pace.simulated(test.began_at))
            for kind, slots in self._tests.items()
        }
        self._under_way: _UnderWay | None = None
        self._due = False
        self._charge = 100.0 if told.charge is None else float(told.charge)
        since = told.charging_since
        self._charging_since = start.now if since is None else min(start.pace.simulated(since), start.now)
        self._repaired_at: float | None = None
        if any(told.failures == (own_failure(test.failure),) for test in done.values() if test and test.failure):
            # Found by a test before a restart: it is the simulator's own, and waits for its repair.
            self.given = False
            self._repaired_at = start.now + _DAY
        if not self.given:
            # A test that a restart cut off does not count; it is made again when it is due.
            self.state = msgspec.structs.replace(
                told, charge=round(self._charge), charging_since=start.pace.real(self._charging_since), testing=None
            )

    # time

    def evolve(self, now: float) -> None:
        super().evolve(now)
        if self.given:
            return
        if self._under_way is not None:
            self._burn(self._under_way, now)
        else:
            self._look_after(now)
        if round(self._charge_at(now)) != self.state.charge:
            self.state = msgspec.structs.replace(self.state, charge=round(self._charge_at(now)))

    def _look_after(self, now: float) -> None:
        if self._repaired_at is not None and now >= self._repaired_at:
            self._repaired_at = None
            self._due = True
            self.fail(self.well)
        if in_failure(self.state.failures):
            return
        if now < self._charging_since:  # the clock was set back
            self._charging_since = now
        if self._is_due(EmergencyTestKind.DURATION, now) and now - self._charging_since >= self.CHARGED_FOR:
            self._begin(EmergencyTestKind.DURATION, now)
        elif self._due or self._is_due(EmergencyTestKind.FUNCTION, now):
            self._due = False
            self._begin(EmergencyTestKind.FUNCTION, now)

    def _is_due(self, kind: EmergencyTestKind, now: float) -> bool:
        slot = self._tests[kind].at(now)
        if slot < self._slot_of[kind]:  # the clock was set back
            self._slot_of[kind] = slot
        return slot > self._slot_of[kind]

    # tests

    def _begin(self, kind: EmergencyTestKind, now: float) -> None:
        slot = self._slot_of[kind] = self._tests[kind].at(now)
        lasts, failure = self.LASTS[kind], None
        if self.chance.of(f"{kind} test fails", slot) < self.FAILS[kind]:
            failure = self._SHOWS[kind]
            # A lamp that does not light is seen at once; a tired battery lights for a part of its time.
            lasts *= 0.0 if kind is EmergencyTestKind.FUNCTION else self.chance.between("tired", 0.3, 0.9, slot)
        self._charge = self._charge_at(now)
        self._under_way = _UnderWay(kind, now, now + lasts, failure)
        self.state = msgspec.structs.replace(self.state, testing=kind)

    def _burn(self, test: _UnderWay, now: float) -> None:
        if now < test.begins:  # the clock was set back
            test = self._under_way = msgspec.structs.replace(test, begins=now, ends=now + (test.ends - test.begins))
        if now < test.ends:
            return
        self._charge = self._charge_at(test.ends)
        self._charging_since, self._under_way = test.ends, None
        done = EmergencyTest(
            kind=test.kind,
            began_at=self.pace.real(test.begins),
            ended_at=self.pace.real(test.ends),
            lit=round(test.ends - test.begins, 1),
            failure=test.failure,
        )
        of_kind = "function_test" if test.kind is EmergencyTestKind.FUNCTION else "duration_test"
        told: dict[str, Any] = {of_kind: done, "testing": None, "charging_since": self.pace.real(test.ends)}
        if test.failure is not None:
            told["failures"] = (own_failure(test.failure),)
            self._repaired_at = now + _DAY * self.chance.between("repair", 1, 3, self._slot_of[test.kind])
        self.state = msgspec.structs.replace(self.state, **told)

    def _charge_at(self, now: float) -> float:
        test = self._under_way
        if test is None:
            return min(100.0, self._charge + 100 * max(0.0, now - self._charging_since) / self.CHARGES_IN)
        burnt = 100 * max(0.0, min(now, test.ends) - test.begins)
        if test.failure is FailureType.BLOCK_FAULTY_BATTERY:
            return max(0.0, self._charge - burnt / (test.ends - test.begins))
        return max(0.0, self._charge - burnt / (self._RESERVE * self.LASTS[EmergencyTestKind.DURATION]))
