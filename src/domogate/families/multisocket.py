"""Multisocket: the status of all plugs of a plant (E16, Spec 2.14)."""

import msgspec

from domogate.common.http_messages import Answer
from domogate.domain.devices import DeviceKind
from domogate.domain.faults import NoPlug
from domogate.domain.people import Scope
from domogate.domain.states import MultisocketState, PlugState, State
from domogate.families._call import Call, ReadServices
from domogate.families._family import Family, Operation, any_of
from domogate.families._wire import json_answer

_KINDS = frozenset({DeviceKind.PLUG, DeviceKind.MULTISOCKET})


class WirePlug(msgspec.Struct):
    """A plug or a multisocket.

    `status` is a list. For a plug, it has one boolean. For a multisocket, it has one boolean for each socket. It is empty if
    the state is not known.
    """

    id: str
    name: str
    status: list[bool]


class Plugs(msgspec.Struct):
    """The body of the answer to E16: the status of the plugs of a plant."""

    plugs: list[WirePlug]


async def list_plugs(_: ReadServices, call: Call) -> Answer:
    """List the plugs with their last known states, offline plugs too (Decision 0008). Raises NoPlug if there is no plug."""
    plugs = [
        WirePlug(view.module.id, view.module.name, _sockets(view.state))
        for view in call.plant.modules.values()
        if view.module.kind in _KINDS
    ]
    if not plugs:
        raise NoPlug("no plug found: the plant has no plug and no multisocket")
    return json_answer(Plugs(plugs))


def _sockets(state: State | None) -> list[bool]:
    if isinstance(state, PlugState):
        return [state.on]
    if isinstance(state, MultisocketState):
        return list(state.sockets)
    return []


FAMILY = Family(
    name="multisocket",
    slug="multisocket",
    prefix="/multisocket",
    operations=(
        Operation(
            id="E16",
            summary="Get status of all plugs of a plant",
            path="plug/energy/addressLocation/plants/{plantId:plant}",
            handler=list_plugs,
            scopes=any_of(Scope.PLUG_READ),
            answer=Plugs,
            errors=frozenset({401, 404}),
        ),
    ),
)
