"""A site of emergency lighting for tests, of any size and with difficult names."""

from collections.abc import Sequence

from msgspec.structs import replace

from domogate.domain.devices import DeviceKind
from domogate.domain.estate import Estate, EstatePlant, FirstState
from domogate.domain.ids import Id
from domogate.domain.people import User
from domogate.domain.plants import Ambient, ControllerDetail, Floor, Member, Module, Plant, PlantType, Topology, UnitDetail
from domogate.domain.safety import (
    EmergencyTest,
    EmergencyTestKind,
    Failure,
    FailureType,
    SparePart,
    SpareParts,
    SparePartType,
)
from domogate.domain.states import EmergencyState
from support.clocks import NOW
from support.stores import an_id

DAY = 86_400.0
OWNER = User(an_id(8999), "elena@example.com", "Elena", "hash")
SITE = Plant(
    an_id(9000), an_id(9001), "Clinic", PlantType.HOSPITAL, Member(OWNER.id, OWNER.email),
    country="Italy", zip_code="10126", address="Via Nizza 88, Torino", emergency_lighting=True,
)  # fmt: skip
CONTROLLER_ID = an_id(9100)
PARTS = (
    SpareParts(
        "062520",
        (SparePart("061089", SparePartType.BATTERY, "1"), SparePart("060926", SparePartType.EMERGENCY_LAMP, "2")),
    ),
    SpareParts("062525", (SparePart("061092", SparePartType.BATTERY, "2"),)),
    SpareParts("062527", ()),
)
NASTY = (
    "Ανοιξη δίπλα στην έξοδο",
    "مخرج الطوارئ",
    "Выход на лестницу",
    "出口灯",
    "Exit 🚪🔋 e\u0301tage",
    "=HYPERLINK('http://example.com')",
    "W" * 100,
    "tab\tand\nline",
    "",
    "zero\u200bwidth \u202eoverride",
)


def failing(*types: FailureType) -> EmergencyState:
    return EmergencyState(failures=tuple(Failure(each) for each in types))


WELL = failing(FailureType.BLOCK_OK)


def a_test(
    kind: EmergencyTestKind = EmergencyTestKind.FUNCTION, ended_at: float = NOW - DAY, failure: FailureType | None = None
) -> EmergencyTest:
    lasts = 30.0 if kind is EmergencyTestKind.FUNCTION else 3600.0
    return EmergencyTest(kind, ended_at - lasts, ended_at, lasts, failure)


def after_tests(state: EmergencyState = WELL, at: float = NOW - DAY) -> EmergencyState:
    return replace(state, function_test=a_test(ended_at=at), duration_test=a_test(EmergencyTestKind.DURATION, at))


def a_unit(number: int, name: str | None = None, reference: str = "062520", driver: str = "mqtt") -> Module:
    return Module(
        unit_id(number), an_id(20_000 + number), f"Unit {number}" if name is None else name, DeviceKind.EMERGENCY_UNIT,
        driver=driver, detail=UnitDetail(reference), controller_id=CONTROLLER_ID,
    )  # fmt: skip


def unit_id(number: int) -> Id:
    return an_id(10_000 + number)


def site_estate(units: Sequence[tuple[Module, FirstState | EmergencyState | None]], **of_plant: str) -> Estate:
    """All units belong to one controller. The first unit is in a room."""
    controller = Module(
        CONTROLLER_ID, an_id(9101), "Controller", DeviceKind.EMERGENCY_CONTROLLER, driver="mqtt",
        detail=ControllerDetail("088260", "E2604-00117", 2),
    )  # fmt: skip
    states = [FirstState(CONTROLLER_ID, failing(FailureType.REMOTE_OK))]
    for module, state in units:
        if isinstance(state, FirstState):
            states.append(state)
        elif state is not None:
            states.append(FirstState(module.id, state))
    modules = [module for module, _ in units]
    room = Ambient(an_id(9200), an_id(9201), "Stairwell", "stairs", tuple(modules[:1]))
    topology = Topology((Floor(an_id(9300), an_id(9301), "Ward A", (room,)),), (), (controller, *modules[1:]))
    plant = replace(SITE, **of_plant)
    return Estate(users=(OWNER,), plants=(EstatePlant(plant, topology, tuple(states)),), spare_parts=PARTS)
