"""Simulated emergency lighting: failures and repairs, and units that test themselves (EN 62034).

A unit makes a function test every 30 days and a duration test every 360 days. The duration test needs a battery that was
charged for 24 hours. A failure that a test finds stays until a repair. After the repair the unit makes a function test.
"""

from typing import Any

import msgspec

from domogate.domain.devices import DeviceKind
from domogate.domain.plants import Module
from domogate.domain.safety import FLAGS, EmergencyTest, EmergencyTestKind, Failure, FailureType, in_failure
from domogate.domain.states import EmergencyState
from domogate.drivers.simulator.device import Device, Start
from domogate.drivers.simulator.seeded_random import TimeSlots

_DAY = 86_400.0
_HEALTHY = {DeviceKind.EMERGENCY_CONTROLLER: FailureType.REMOTE_OK, DeviceKind.EMERGENCY_UNIT: FailureType.BLOCK_OK}
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
    """An emergency controller. It fails from time to time and is repaired hours later.

    Failures that are not from the simulator, for example failures of the estate file, stay. While a device
    has such a failure, the simulator makes no failures in this device.
    """

    __slots__ = ("_failing", "_no_failure_until", "_slot", "_slots", "given")
    reports = EmergencyState
    SPAN = 6 * 3600.0
    NO_FAILURE_FOR = 2 * 3600.0
    ODDS = 0.02

    def __init__(self, module: Module, state: EmergencyState | None, start: Start) -> None:
        super().__init__(module, state, start)
        self._slots = TimeSlots(self.random, "failure", self.SPAN)
        self._slot = self._slots.at(start.since)
        self._no_failure_until = start.now + self.NO_FAILURE_FOR
        failures = self.state.failures
        # After a restart the simulator must recognize the failures that it made, by the time of their report. A failure from
        # the estate file is never repaired.
        self._failing = in_failure(failures) and failures in (self._failures_in(self._slot), self._failures_in(self._slot - 1))
        self.given = in_failure(failures) and not self._failing
        """Whether the failures came from outside, for example from the estate file. If so, the simulator never changes them."""

    def first_state(self) -> EmergencyState:
        return EmergencyState(failures=self.healthy)

    @property
    def healthy(self) -> tuple[Failure, ...]:
        return (Failure(_HEALTHY[self.kind]),)

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
                self.fail(self.healthy)
        elif failures and now >= self._no_failure_until and not in_failure(self.state.failures):
            self._failing = True
            self.fail(failures)

    def _failures_in(self, slot: int) -> tuple[Failure, ...]:
        if self.random.of("fails", slot) >= self.ODDS:
            return ()
        return (own_failure(self.random.pick("what breaks", _BREAKS[self.kind], slot)),)


def own_failure(broken: FailureType) -> Failure:
    """Return a failure that the simulator makes. It has an explicit flag.

    After a restart, the simulator compares the stored failure with the failure that it would make, including the flag. If
    both are equal, it repairs the failure later. Failures in estate files rarely have a flag, so they are rarely equal.
    """
    return Failure(broken, FLAGS[broken])


class _RunningTest(msgspec.Struct, frozen=True):
    """A running test: its times, and the failure that it will find."""

    kind: EmergencyTestKind
    begins: float
    ends: float
    failure: FailureType | None


class EmergencyUnit(Emergency):
    """A lamp with a battery. Tests discharge the battery.

    While the lamp has failures from outside (`given`), its state does not change.
    """

    __slots__ = ("_charge", "_charge_time", "_charging_since", "_due", "_repaired_at", "_running_test", "_slot_of", "_tests")

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
    """A good battery lasts longer than its rated duration, by this factor."""

    def __init__(self, module: Module, state: EmergencyState | None, start: Start) -> None:
        super().__init__(module, state, start)
        first = self.state
        self._tests = {kind: TimeSlots(self.random, f"{kind} test", every) for kind, every in self.EVERY.items()}
        done = {EmergencyTestKind.FUNCTION: first.function_test, EmergencyTestKind.DURATION: first.duration_test}
        self._slot_of = {
            kind: slots.at(start.now if (test := done[kind]) is None else start.time_scale.simulated(test.began_at))
            for kind, slots in self._tests.items()
        }
        if first.testing is not None:  # A restart interrupted this test: it is due again.
            self._slot_of[first.testing] = self._tests[first.testing].at(start.now) - 1
        self._running_test: _RunningTest | None = None
        self._due = False
        self._charge = 100.0 if first.charge is None else float(first.charge)
        self._charge_time = start.since
        """The time at which the charge was `_charge`. The present charge is computed from these two values."""
        since = first.charging_since
        self._charging_since = start.now if since is None else min(start.time_scale.simulated(since), start.now)
        self._repaired_at: float | None = None
        for test in done.values():
            if test is not None and test.failure is not None and first.failures == (own_failure(test.failure),):
                # A test found this failure before a restart, so the simulator repairs it.
                self.given = False
                self._repaired_at = self._repair_time(test.kind, start.time_scale.simulated(test.ended_at))
        if not self.given:
            # A test that a restart interrupted does not count. It is repeated.
            self.state = msgspec.structs.replace(
                first, charge=int(self._charge), charging_since=start.time_scale.real(self._charging_since), testing=None
            )

    # time

    def evolve(self, now: float) -> None:
        super().evolve(now)
        if self.given:
            return
        if self._running_test is not None:
            self._continue_test(self._running_test, now)
        else:
            self._start_due_test(now)
        # The charge is rounded down. So a charging battery reports a new percent exactly when it has reached it, and a restart
        # can continue from the reported charge and the time of the report.
        if int(self._charge_at(now)) != self.state.charge:
            self.state = msgspec.structs.replace(self.state, charge=int(self._charge_at(now)))

    def _start_due_test(self, now: float) -> None:
        if self._repaired_at is not None and now >= self._repaired_at:
            self._repaired_at = None
            self._due = True
            self.fail(self.healthy)
        if in_failure(self.state.failures):
            return
        if now < self._charging_since:  # the clock was set back
            self._charging_since = self._charge_time = now
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
        if self.random.of(f"{kind} test fails", slot) < self.FAILS[kind]:
            failure = self._SHOWS[kind]
            # A broken lamp is found immediately. With a weak battery the lamp is on for a part of the time.
            lasts *= 0.0 if kind is EmergencyTestKind.FUNCTION else self.random.between("tired", 0.3, 0.9, slot)
        self._charge = self._charge_at(now)
        self._running_test = _RunningTest(kind, now, now + lasts, failure)
        self.state = msgspec.structs.replace(self.state, testing=kind)

    def _continue_test(self, test: _RunningTest, now: float) -> None:
        if now < test.begins:  # the clock was set back
            test = self._running_test = msgspec.structs.replace(test, begins=now, ends=now + (test.ends - test.begins))
        if now < test.ends:
            return
        self._charge = self._charge_at(test.ends)
        self._charging_since = self._charge_time = test.ends
        self._running_test = None
        done = EmergencyTest(
            kind=test.kind,
            began_at=self.time_scale.real(test.begins),
            ended_at=self.time_scale.real(test.ends),
            lit=round(test.ends - test.begins, 1),
            failure=test.failure,
        )
        of_kind = "function_test" if test.kind is EmergencyTestKind.FUNCTION else "duration_test"
        changes: dict[str, Any] = {of_kind: done, "testing": None, "charging_since": self.time_scale.real(test.ends)}
        if test.failure is not None:
            changes["failures"] = (own_failure(test.failure),)
            self._repaired_at = self._repair_time(test.kind, test.ends)
        self.state = msgspec.structs.replace(self.state, **changes)

    def _repair_time(self, kind: EmergencyTestKind, ended: float) -> float:
        """Return the time at which a failure is repaired. A test of this kind, which ended at `ended`, found the failure."""
        return ended + _DAY * self.random.between("repair", 1, 3, self._slot_of[kind])

    def _charge_at(self, now: float) -> float:
        test = self._running_test
        if test is None:
            return min(100.0, self._charge + 100 * max(0.0, now - self._charge_time) / self.CHARGES_IN)
        burnt = 100 * max(0.0, min(now, test.ends) - test.begins)
        if test.failure is FailureType.BLOCK_FAULTY_BATTERY:
            return max(0.0, self._charge - burnt / (test.ends - test.begins))
        return max(0.0, self._charge - burnt / (self._RESERVE * self.LASTS[EmergencyTestKind.DURATION]))
