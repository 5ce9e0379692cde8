"""The read operations of the families without HTTP. `domogate move` compares their answers on two databases.

E11 and E15 are left out: their answers are new tickets, which differ each time. X7 is left out too: it lists webhooks, which
`ReadServices` does not have. `domogate move` compares the rows of the webhooks instead.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence

from domogate.common.http_messages import Answer
from domogate.domain.devices import DeviceKind
from domogate.domain.faults import Fault, NoSuchPlant, NotYourPlant
from domogate.domain.ids import Id
from domogate.domain.people import Principal
from domogate.domain.plants import ControllerDetail, UnitDetail
from domogate.families import (
    FAMILIES,
    _plants,
    doorentry_a,
    doorentry_b,
    emergency_lighting,
    homeauto,
    homectl,
    multisocket,
    thermostat,
)
from domogate.families._call import Call, ReadServices
from domogate.services.plants.read_model import ModuleView, PlantView
from domogate.services.rights.access import get_access

Choose = Callable[[Sequence[Id]], Sequence[Id]]
"""A function that gets ids and returns a sample of them."""

ReadHandler = Callable[[ReadServices, Call], Awaitable[Answer]]

OF_A_PERSON: Mapping[str, ReadHandler] = {
    "E6": homeauto.list_plants,
    "E10": doorentry_b.list_plants,
    "E14": _plants.list_plants,
    "E17": emergency_lighting.list_sites,
    "X3": _plants.list_plants,
    "X5": homectl.list_plants,
}
OF_A_PLANT: Mapping[str, ReadHandler] = {
    "E3": homectl.read_topology,
    "E7": homeauto.read_topology,
    "E9": doorentry_a.read_topology,
    "E16": multisocket.list_plugs,
    "E18": emergency_lighting.list_modules,
    "X4": thermostat.read_topology,
}
OF_A_MODULE: Mapping[str, ReadHandler] = {
    "E2": homectl.read_remote,
    "E4": homectl.read_consumptions,
    "E8": homeauto.read_light,
    "E12": thermostat.read_chronothermostat,
    "E13": thermostat.list_programs,
    "X9": thermostat.read_measures,
}
OF_A_REFERENCE: Mapping[str, ReadHandler] = {"E19": emergency_lighting.list_spare_parts}

_KINDS: Mapping[str, frozenset[DeviceKind]] = {
    operation.id: operation.kinds for family in FAMILIES for operation in family.operations
}

Reads = Mapping[str, Callable[[], Awaitable[object]]]
"""For each name of a read, such as `E8 of module …`: a function that returns the answer in a form that can be compared."""


class Reader:
    """Runs the read operations with the rights of one person."""

    def __init__(self, services: ReadServices, principal: Principal) -> None:
        self._services = services
        self._principal = principal

    def list_own_reads(self) -> Reads:
        """Return the reads of the operations that list the plants of the person.

        The name of a read is the id of its operation, such as `E6`.
        """
        return {id: self._prepare(handler) for id, handler in OF_A_PERSON.items()}

    async def find_plant(self, plant_id: Id) -> PlantView | None:
        """Return the plant as the person may see it. Return None if the person may not see the plant."""
        plant = await self._services.read_model.get_plant(plant_id)
        try:
            return get_access(self._principal, plant_id, plant, self._services.clock.now()).plant
        except (NoSuchPlant, NotYourPlant):
            return None

    def list_reads(self, plant: PlantView, module_ids: Sequence[Id]) -> Reads:
        """Return the reads of the whole plant and of these modules. A module that the plant does not have is left out."""
        reads = {f"{id} of plant {plant.plant.id}": self._prepare(handler, plant) for id, handler in OF_A_PLANT.items()}
        for module_id in plant.modules.keys() & module_ids:
            reads |= self._list_module_reads(plant, plant.modules[module_id])
        return reads

    def _list_module_reads(self, plant: PlantView, view: ModuleView) -> Reads:
        module = view.module
        reads = {
            f"{id} of module {module.id}": self._prepare(handler, plant, view)
            for id, handler in OF_A_MODULE.items()
            if module.kind in _KINDS[id]
        }
        if isinstance(module.detail, ControllerDetail | UnitDetail):
            for id, handler in OF_A_REFERENCE.items():
                reads[f"{id} of module {module.id}"] = self._prepare(handler, reference=module.detail.reference)
        return reads

    def _prepare(
        self, handler: ReadHandler, plant: PlantView | None = None, module: ModuleView | None = None, reference: str = ""
    ) -> Callable[[], Awaitable[object]]:
        call = Call(self._principal, "")
        call.reference = reference
        if plant is not None:
            call.plant = plant
        if module is not None:
            call.module = module

        async def read() -> object:
            try:
                answer = await handler(self._services, call)
            except Fault as fault:
                return type(fault), fault.message
            return answer.status, answer.body

        return read
