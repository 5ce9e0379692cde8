"""Emergency lighting: failures, tests and spare parts (Spec 2.15)."""

from enum import StrEnum

import msgspec


class FailureType(StrEnum):
    BLOCK_OK = "BLOCK.OK"
    BLOCK_FAULTY_COMMUNICATION = "BLOCK.FAULTY_COMMUNICATION"
    BLOCK_OTHER_FAULTY = "BLOCK.OTHER_FAULTY"
    BLOCK_ALARM_STATE = "BLOCK.ALARM_STATE"
    BLOCK_DLD = "BLOCK.DLD"
    BLOCK_FAULTY_POWER_SUPPLY = "BLOCK.FAULTY_POWER_SUPPLY"
    BLOCK_FAULTY_BATTERY = "BLOCK.FAULTY_BATTERY"
    BLOCK_DISCONNECTED_BATTERY = "BLOCK.DISCONNECTED_BATTERY"
    BLOCK_FAULTY_EMERGENCY_LIGHT = "BLOCK.FAULTY_EMERGENCY_LIGHT"
    BLOCK_FAULTY_ELECTRONICAL = "BLOCK.FAULTY_ELECTRONICAL"
    REMOTE_OK = "REMOTE.STATUS.OK"
    REMOTE_SECTOR_ON_BUS = "REMOTE.STATUS.SECTOR_ON_BUS"
    REMOTE_BUS_SHORT_CIRCUIT = "REMOTE.STATUS.BUS_SHORT_CIRCUIT"
    REMOTE_NO_BLOCK_RESPONSE = "REMOTE.STATUS.NO_BLOCK_RESPONSE"
    REMOTE_CAPACITY_OVERFLOW = "REMOTE.STATUS.CAPACITY_OVERFLOW"
    REMOTE_NFC_COMM_FAULT = "REMOTE.STATUS.NFC_COMM_FAULT"
    REMOTE_QUARTZ_FAULT = "REMOTE.STATUS.QUARTZ_FAULT"
    REMOTE_BATTERY_FAULT = "REMOTE.STATUS.BATTERY_FAULT"
    REMOTE_BLOCK_ENROLLMENT_FAULT = "REMOTE.STATUS.BLOCK_ENROLLMENT_FAULT"
    REMOTE_ELECTRONIC_FAULT = "REMOTE.STATUS.ELECTRONIC_FAULT"
    REMOTE_OUT_SUPERVISION = "REMOTE.STATUS.OUT_SUPERVISION"


# The specification does not give the flags. Each failure has its own bit, and "OK" is zero. The bits of blocks and of remotes
# are independent (Decision 0012).
FLAGS: dict[FailureType, str] = {
    FailureType.BLOCK_OK: "0x0000",
    FailureType.BLOCK_FAULTY_COMMUNICATION: "0x0001",
    FailureType.BLOCK_OTHER_FAULTY: "0x0002",
    FailureType.BLOCK_ALARM_STATE: "0x0004",
    FailureType.BLOCK_DLD: "0x0008",
    FailureType.BLOCK_FAULTY_POWER_SUPPLY: "0x0010",
    FailureType.BLOCK_FAULTY_BATTERY: "0x0020",
    FailureType.BLOCK_DISCONNECTED_BATTERY: "0x0040",
    FailureType.BLOCK_FAULTY_EMERGENCY_LIGHT: "0x0080",
    FailureType.BLOCK_FAULTY_ELECTRONICAL: "0x0100",
    FailureType.REMOTE_OK: "0x0000",
    FailureType.REMOTE_SECTOR_ON_BUS: "0x0001",
    FailureType.REMOTE_BUS_SHORT_CIRCUIT: "0x0002",
    FailureType.REMOTE_NO_BLOCK_RESPONSE: "0x0004",
    FailureType.REMOTE_CAPACITY_OVERFLOW: "0x0008",
    FailureType.REMOTE_NFC_COMM_FAULT: "0x0010",
    FailureType.REMOTE_QUARTZ_FAULT: "0x0020",
    FailureType.REMOTE_BATTERY_FAULT: "0x0040",
    FailureType.REMOTE_BLOCK_ENROLLMENT_FAULT: "0x0080",
    FailureType.REMOTE_ELECTRONIC_FAULT: "0x0100",
    FailureType.REMOTE_OUT_SUPERVISION: "0x0200",
}

_NO_FAILURE = frozenset({FailureType.BLOCK_OK, FailureType.REMOTE_OK})


class Failure(msgspec.Struct, frozen=True, gc=False):
    """A failure that a unit or controller reports. For a failure without `flag`, the flag of its type in FLAGS is used."""

    type: FailureType
    flag: str | None = None

    @property
    def printed_flag(self) -> str:
        return FLAGS[self.type] if self.flag is None else self.flag


def in_failure(failures: tuple[Failure, ...]) -> bool:
    """Whether one of the failures is a real failure. The types BLOCK.OK and REMOTE.STATUS.OK say that nothing failed."""
    return any(failure.type not in _NO_FAILURE for failure in failures)


class EmergencyTestKind(StrEnum):
    """The self-tests of a unit (EN 62034)."""

    FUNCTION = "function"
    """A monthly test: the lamp lights for some seconds."""
    DURATION = "duration"
    """A yearly test: the lamp lights for its rated time. Before the test, the battery must charge for 24 hours."""


class EmergencyTest(msgspec.Struct, frozen=True, gc=False):
    """A finished test of a unit. It becomes an entry of the site's logbook."""

    kind: EmergencyTestKind
    began_at: float
    ended_at: float
    lit: float
    """The seconds for which the lamp was lit."""
    failure: FailureType | None = None
    """The failure that the test found. None if the test passed."""

    @property
    def passed(self) -> bool:
        return self.failure is None


class SparePartType(StrEnum):
    BATTERY = "Battery"
    EMERGENCY_LAMP = "Emergency lamp"


class SparePart(msgspec.Struct, frozen=True, gc=False):
    """A part that can be ordered for a unit (E19). The quantity is a text, as in the contract."""

    reference: str
    type: SparePartType
    quantity: str


class SpareParts(msgspec.Struct, frozen=True, gc=False):
    """The spare parts for all units with the unit reference `unit`. `parts` is empty if no part is listed for the reference."""

    unit: str
    parts: tuple[SparePart, ...] = ()
