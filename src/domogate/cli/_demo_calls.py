"""The calls that `domogate demo` prints, with ids of the estate: one or more for each family with suitable modules."""

from collections.abc import Iterator
from pathlib import Path
from shlex import quote

import msgspec

from domogate.domain.devices import DeviceKind
from domogate.domain.estate import Estate, EstatePlant
from domogate.domain.ids import DASHED_UUID, HEX32, Id, IdSpelling
from domogate.domain.people import Standing, TokenKind
from domogate.domain.plants import Module, PlantStatus


class Proposal(msgspec.Struct, frozen=True):
    """A template of a call: its path can have placeholders for the plant, the room and the module."""

    family: str
    operation: str
    purpose: str
    path: str
    about: tuple[DeviceKind, ...] = ()
    """The allowed kinds of the module: `{module}` is a reachable module of one of these kinds.

    `{ambient}` is its room, `{plant}` is its plant. If there are no kinds, the call needs no module.
    """
    body: str | None = None
    in_a_room: bool = False
    token: TokenKind = TokenKind.ID
    ids: IdSpelling = DASHED_UUID
    is_stream: bool = False
    """True if the answer has no end: curl shows it until Ctrl-C."""


class Call(msgspec.Struct, frozen=True):
    """A call that the demo prints, with a plant, module and user of the estate."""

    proposal: Proposal
    email: str
    path: str

    def to_curl(self, base_url: str, credentials: Path) -> str:
        """Return the curl command in one line. Its flag -i shows the status; the command for a stream does not have this flag.

        The key and the token are in a file, so the line is short.
        """
        words = ["curl", "-sN" if self.proposal.is_stream else "-si", "-H", f"@{credentials}"]
        if self.proposal.body is not None:
            words += ["-H", "Content-Type: application/json", "-d", self.proposal.body]
        return " ".join(map(quote, [*words, f"{base_url}{self.path}"]))


_PLANT = "addressLocation/plants/{plant}"
_MODULE = f"{_PLANT}/modules/parameter/id/value/{{module}}"
_PLUG = "/homectl/api/v1.0/plug/energy"
_THERMOSTAT = "/thermostat/v2.0/chronothermostat/thermoregulation"
_CAMERA = "/touchpanel/v1.0/audiovideounit/videodoorentry"
_SITE = "/emergency-lighting/sites/{plant}"
_ECHO_BODY = '{"vehicleType":"train","maxSpeed":125,"avgSpeed":90,"speedUnit":"mph"}'

_IN_ROOMS = (
    ("E1", "switch on the plugs of a room", f"{_PLUG}/{_PLANT}/ambients/parameter/id/value/{{ambient}}", '{"status":"on"}'),
    ("E4", "read the consumption of a plug", f"{_PLUG}/{_MODULE}/consumptions", None),
)
_K = DeviceKind
_OF_MODULES: tuple[tuple[str, str, str, str, tuple[DeviceKind, ...], str | None], ...] = (
    ("home automation", "E6", "list the plants", "/homeauto/v1.0/plants", (), None),
    ("home automation", "E8", "read a light", f"/homeauto/v1.0/light/lighting/{_MODULE}", (_K.LIGHT,), None),
    ("home automation", "E5", "run a scene", f"/homeauto/v1.0/scene/comfort/{_MODULE}", (_K.SCENE,), '{"status":"run"}'),
    (
        "door entry A",
        "E9",
        "read the topology",
        "/doorentry-a/v1.0/plants/{plant}/topology",
        (_K.LOCK, _K.AUDIOVIDEO_UNIT),
        None,
    ),
    ("door entry B", "E11", "get a ticket for a lock", f"/doorentry-b/v1.0/lock/automation/{_MODULE}/ticket", (_K.LOCK,), None),
    ("thermostat", "E12", "read a thermostat", f"{_THERMOSTAT}/{_MODULE}", (_K.CHRONOTHERMOSTAT,), None),
    ("touch panel", "E15", "get a ticket for a camera", f"{_CAMERA}/{_MODULE}/videoOut", (_K.AUDIOVIDEO_UNIT,), None),
    ("multisocket", "E16", "read all plugs of a plant", f"/multisocket/plug/energy/{_PLANT}", (_K.MULTISOCKET, _K.PLUG), None),
    ("emergency lighting", "E18", "read the controllers of a site", f"{_SITE}/modules", (_K.EMERGENCY_CONTROLLER,), None),
    ("echo", "E20", "convert JSON to XML", "/echo/resource", (), _ECHO_BODY),
)
PROPOSALS = (
    *(
        Proposal("home control", id_, purpose, path, (_K.PLUG,), body, in_a_room=True, token=TokenKind.ACCESS, ids=HEX32)
        for id_, purpose, path, body in _IN_ROOMS
    ),
    *(Proposal(*row) for row in _OF_MODULES),
    Proposal(
        family="events",
        operation="a stream, Ctrl-C ends it",
        purpose="show events as they happen",
        path="/events?present=true",
        token=TokenKind.ACCESS,
        is_stream=True,
    ),
)


class _Candidate(msgspec.Struct, frozen=True):
    """A module with its plant and room, and the owner of the plant."""

    email: str
    plant: Id
    ambient: Id | None
    module: Id


def find_calls(estate: Estate) -> list[Call]:
    """Return one call for each template in `PROPOSALS`. The owner of the plant makes the call.

    A template is left out if no plant or no reachable module of the estate is suitable for its call.
    """
    good = {user.email for user in estate.users if user.active and user.standing is Standing.GOOD}
    plants = [one for one in estate.plants if one.plant.status is PlantStatus.ACTIVE and one.plant.owner.email in good]
    calls = []
    for proposal in PROPOSALS:
        if found := next((one for plant in plants for one in _candidates(plant, proposal)), None):
            write = proposal.ids.print_id
            names = {"plant": write(found.plant), "ambient": write(found.ambient or found.plant), "module": write(found.module)}
            calls.append(Call(proposal, found.email, proposal.path.format(**names)))
    return calls


def _candidates(one: EstatePlant, proposal: Proposal) -> Iterator[_Candidate]:
    email, plant = one.plant.owner.email, one.plant.id
    if not proposal.about:
        yield _Candidate(email, plant, None, plant)
        return
    unusable = {state.module_id for state in one.states if not state.reachable}
    unusable |= {module.id for module in one.topology.every_module() if "simulate" in module.options}
    rooms: list[tuple[Id | None, tuple[Module, ...]]] = [(room.id, room.modules) for room in one.topology.every_ambient()]
    if not proposal.in_a_room:
        rooms.append((None, one.topology.modules))
    for room, modules in rooms:
        fitting = [module.id for module in modules if module.kind in proposal.about]
        if proposal.in_a_room and unusable.intersection(fitting):
            continue  # A command to a room goes to all its modules, so all must be usable.
        yield from (_Candidate(email, plant, room, module) for module in fitting if module not in unusable)
