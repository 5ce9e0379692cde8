"""Translates codes and times to texts for reports."""

from datetime import datetime, tzinfo

from domogate.common.names import first_capital
from domogate.domain.logbook import LogbookEntry, LogbookKind
from domogate.domain.safety import EmergencyTest, EmergencyTestKind, Failure, FailureType
from domogate.services.safety import PlannedTest, TestStanding
from domogate.services.safety.schedule import clamp
from domogate.services.safety.status import SafetyStatus

FAILURES: dict[FailureType, str] = {
    FailureType.BLOCK_OK: "none",
    FailureType.BLOCK_FAULTY_COMMUNICATION: "communication faulty",
    FailureType.BLOCK_OTHER_FAULTY: "other fault",
    FailureType.BLOCK_ALARM_STATE: "alarm state",
    FailureType.BLOCK_DLD: "DLD fault",
    FailureType.BLOCK_FAULTY_POWER_SUPPLY: "power supply faulty",
    FailureType.BLOCK_FAULTY_BATTERY: "battery faulty",
    FailureType.BLOCK_DISCONNECTED_BATTERY: "battery disconnected",
    FailureType.BLOCK_FAULTY_EMERGENCY_LIGHT: "emergency lamp faulty",
    FailureType.BLOCK_FAULTY_ELECTRONICAL: "electronics faulty",
    FailureType.REMOTE_OK: "none",
    FailureType.REMOTE_SECTOR_ON_BUS: "mains on the bus",
    FailureType.REMOTE_BUS_SHORT_CIRCUIT: "bus short circuit",
    FailureType.REMOTE_NO_BLOCK_RESPONSE: "units do not respond",
    FailureType.REMOTE_CAPACITY_OVERFLOW: "capacity exceeded",
    FailureType.REMOTE_NFC_COMM_FAULT: "NFC communication fault",
    FailureType.REMOTE_QUARTZ_FAULT: "quartz fault",
    FailureType.REMOTE_BATTERY_FAULT: "battery fault",
    FailureType.REMOTE_BLOCK_ENROLLMENT_FAULT: "unit enrolment fault",
    FailureType.REMOTE_ELECTRONIC_FAULT: "electronic fault",
    FailureType.REMOTE_OUT_SUPERVISION: "out of supervision",
}

STATUSES: dict[SafetyStatus, str] = {
    SafetyStatus.WORKING: "working",
    SafetyStatus.IN_FAILURE: "in failure",
    SafetyStatus.NO_COMMUNICATION: "no communication",
}

KINDS: dict[LogbookKind, str] = {
    LogbookKind.TEST: "Test",
    LogbookKind.FAILURE: "Failure",
    LogbookKind.REPAIR: "Failure gone",
    LogbookKind.SILENCE: "Contact lost",
    LogbookKind.CONTACT: "In contact again",
    LogbookKind.ALERT: "Alert",
    LogbookKind.ALERT_ENDED: "Alert ended",
    LogbookKind.COMMISSIONING: "Commissioning",
    LogbookKind.INSPECTION: "Inspection",
    LogbookKind.SERVICE: "Service",
    LogbookKind.ALTERATION: "Alteration",
    LogbookKind.NOTE: "Note",
}

TESTS: dict[EmergencyTestKind, str] = {EmergencyTestKind.FUNCTION: "function test", EmergencyTestKind.DURATION: "duration test"}

NOT_YET = "no test recorded yet"
SIMULATED = "SIMULATED"
WARNING = "SIMULATED: devices of this site do not exist, and their tests and failures are invented. Not valid as a record."


def print_moment(at: float | None, zone: tzinfo, *, day_only: bool = False) -> str:
    if at is None:
        return ""
    return datetime.fromtimestamp(clamp(at), zone).strftime("%Y-%m-%d" if day_only else "%Y-%m-%d %H:%M")


def print_failures(failures: tuple[Failure, ...], between: str = " - ") -> list[str]:
    """Return a text for each failure: its words, then `between`, then its type.

    The types `BLOCK.OK` and `REMOTE.STATUS.OK` are left out: they say that there is no failure.
    """
    return [f"{FAILURES[one.type]}{between}{one.type}" for one in failures if FAILURES[one.type] != "none"]


def print_length(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min"


def print_outcome(test: EmergencyTest) -> str:
    outcome = "passed" if test.failure is None else f"failed: {FAILURES[test.failure]}"
    return f"{outcome}, lit {print_length(test.lit)}"


def print_due(planned: PlannedTest, zone: tzinfo) -> str:
    """Return a text about the next test.

    The text says when the test is due, and whether it is due soon or overdue. If the test is under way, the text says so.
    """
    if planned.under_way:
        return "under way"
    day = print_moment(planned.due_at, zone, day_only=True)
    if planned.last is None:
        since = f"due since {day}" if day else "due"
        return f"{since}, overdue" if planned.standing is TestStanding.OVERDUE else since
    if planned.standing is TestStanding.IN_TIME:
        return f"next {day}"
    return f"{planned.standing}: {day}" if day else str(planned.standing)


_MEANING_OF = {
    LogbookKind.ALERT: "its alert level is reached",
    LogbookKind.ALERT_ENDED: "fewer units in failure than its alert level",
}


def print_entry(entry: LogbookEntry, zone: tzinfo, between: str = " - ") -> str:
    """Return the text of a logbook entry, without the kind of the entry.

    For a failure, `between` is the text between the words of the failure and its type.
    """
    if entry.test is not None:
        began = print_moment(entry.test.began_at, zone)
        return f"{first_capital(TESTS[entry.test.kind])} begun {began}: {print_outcome(entry.test)}"
    if entry.failure is not None:
        return f"{first_capital(FAILURES[entry.failure])}{between}{entry.failure}"
    return entry.words or first_capital(_MEANING_OF.get(entry.kind, ""))
