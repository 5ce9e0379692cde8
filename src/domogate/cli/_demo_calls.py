"""The calls that `domogate demo` proposes: at least one of every family, each about something that stands in the estate."""

from collections.abc import Iterator
from pathlib import Path
from shlex import quote

import msgspec

from domogate.domain.devices import DeviceKind
from domogate.domain.estate import Estate, EstatePlant
from domogate.domain.ids import DASHED_UUID, HEX32, Id, IdSpelling
from domogate.domain.people import Standing, TokenKind
from domogate.domain.plants import Module, PlantStatus


class Proposal(msgspec.Struct, frozen=True, kw_only=True):
    """A call, before it is known about which plant and module."""

    family: str
    operation: str
    wish: str
    path: str
    body: str | None = None
    about: tuple[DeviceKind, ...] = ()
    """`{module}` is one of these that can be reached, `{ambient}` its room, `{plant}` where it stands."""
    in_a_room: bool = False
    token: TokenKind = TokenKind.ID
    ids: IdSpelling = DASHED_UUID
    goes_on: bool = False
    """The answer is a stream, shown as it comes until Ctrl-C."""


class Call(msgspec.Struct, frozen=True):
    """A call that can be made: by whom, and where to."""

    proposal: Proposal
    email: str
    path: str

    def to_curl(self, base_url: str, credentials: Path) -> str:
        """One line for a shell; -i shows the status. Key and token are in a file of headers, so the line stays readable."""
        words = ["curl", "-sN" if self.proposal.goes_on else "-si", "-H", f"@{credentials}"]
        if self.proposal.body is not None:
            words += ["-H", "Content-Type: application/json", "-d", self.proposal.body]
        return " ".join(map(quote, [*words, f"{base_url}{self.path}"]))


_AT = "addressLocation/plants/{plant}/modules/parameter/id/value/{module}"
_HOMECTL, _HOMEAUTO, _THERMOSTAT = "/homectl/api/v1.0", "/homeauto/v1.0", "/thermostat/v2.0"

PROPOSALS = (
    Proposal(
        family="home control",
        operation="E1",
        wish="switch the plugs of a room on",
        path=f"{_HOMECTL}/plug/energy/addressLocation/plants/{{plant}}/ambients/parameter/id/value/{{ambient}}",
        body='{"status":"on"}',
        about=(DeviceKind.PLUG,),
        in_a_room=True,
        token=TokenKind.ACCESS,
        ids=HEX32,
    ),
    Proposal(
        family="home control",
        operation="E4",
        wish="read what a plug consumes",
        path=f"{_HOMECTL}/plug/energy/{_AT}/consumptions",
        about=(DeviceKind.PLUG,),
        in_a_room=True,
        token=TokenKind.ACCESS,
        ids=HEX32,
    ),
    Proposal(family="home automation", operation="E6", wish="list the plants", path=f"{_HOMEAUTO}/plants"),
    Proposal(
        family="home automation",
        operation="E8",
        wish="read a light",
        path=f"{_HOMEAUTO}/light/lighting/{_AT}",
        about=(DeviceKind.LIGHT,),
    ),
    Proposal(
        family="home automation",
        operation="E5",
        wish="run a scene",
        path=f"{_HOMEAUTO}/scene/comfort/{_AT}",
        body='{"status":"run"}',
        about=(DeviceKind.SCENE,),
    ),
    Proposal(
        family="door entry A",
        operation="E9",
        wish="read the topology",
        path="/doorentry-a/v1.0/plants/{plant}/topology",
        about=(DeviceKind.LOCK, DeviceKind.AUDIOVIDEO_UNIT),
    ),
    Proposal(
        family="door entry B",
        operation="E11",
        wish="get a ticket to open a lock",
        path=f"/doorentry-b/v1.0/lock/automation/{_AT}/ticket",
        about=(DeviceKind.LOCK,),
    ),
    Proposal(
        family="thermostat",
        operation="E12",
        wish="read a thermostat",
        path=f"{_THERMOSTAT}/chronothermostat/thermoregulation/{_AT}",
        about=(DeviceKind.CHRONOTHERMOSTAT,),
    ),
    Proposal(
        family="touch panel",
        operation="E15",
        wish="get a ticket for a camera",
        path=f"/touchpanel/v1.0/audiovideounit/videodoorentry/{_AT}/videoOut",
        about=(DeviceKind.AUDIOVIDEO_UNIT,),
    ),
    Proposal(
        family="multisocket",
        operation="E16",
        wish="read all plugs of a plant",
        path="/multisocket/plug/energy/addressLocation/plants/{plant}",
        about=(DeviceKind.MULTISOCKET, DeviceKind.PLUG),
    ),
    Proposal(
        family="emergency lighting",
        operation="E18",
        wish="read the controllers of a site",
        path="/emergency-lighting/sites/{plant}/modules",
        about=(DeviceKind.EMERGENCY_CONTROLLER,),
    ),
    Proposal(
        family="echo",
        operation="E20",
        wish="have JSON made XML",
        path="/echo/resource",
        body='{"vehicleType":"train","maxSpeed":125,"avgSpeed":90,"speedUnit":"mph"}',
    ),
    Proposal(
        family="events",
        operation="a stream, Ctrl-C ends it",
        wish="hear of everything that happens, as it happens",
        path="/events?present=true",
        token=TokenKind.ACCESS,
        goes_on=True,
    ),
)


class _Spot(msgspec.Struct, frozen=True):
    """A module, where it stands, and whose it is."""

    email: str
    plant: Id
    ambient: Id | None
    module: Id


def find_calls(estate: Estate, proposals: tuple[Proposal, ...] = PROPOSALS) -> list[Call]:
    """Each proposal that something in the estate answers, by the owner of that."""
    good = {user.email for user in estate.users if user.active and user.standing is Standing.GOOD}
    plants = [one for one in estate.plants if one.plant.status is PlantStatus.ACTIVE and one.plant.owner.email in good]
    calls = []
    for proposal in proposals:
        if spot := next((spot for plant in plants for spot in _spots(plant, proposal)), None):
            write = proposal.ids.print_id
            names = {"plant": write(spot.plant), "ambient": write(spot.ambient or spot.plant), "module": write(spot.module)}
            calls.append(Call(proposal, spot.email, proposal.path.format(**names)))
    return calls


def _spots(one: EstatePlant, proposal: Proposal) -> Iterator[_Spot]:
    email, plant = one.plant.owner.email, one.plant.id
    if not proposal.about:
        yield _Spot(email, plant, None, plant)
        return
    ill = {state.module_id for state in one.states if not state.reachable}
    ill |= {module.id for module in one.topology.every_module() if "simulate" in module.options}
    rooms: list[tuple[Id | None, tuple[Module, ...]]] = [(room.id, room.modules) for room in one.topology.every_ambient()]
    if not proposal.in_a_room:
        rooms.append((None, one.topology.modules))
    for room, modules in rooms:
        fitting = [module.id for module in modules if module.kind in proposal.about]
        if proposal.in_a_room and ill.intersection(fitting):
            continue  # what is told to a room is told to all of these
        yield from (_Spot(email, plant, room, module) for module in fitting if module not in ill)
