"""WHO 0: scenarios of a scenario module on the bus."""

from collections.abc import Mapping
from typing import Any

from domogate.domain.commands import Activate, Command
from domogate.domain.devices import DeviceKind
from domogate.domain.states import ActivationState, State
from domogate.drivers.openwebnet.device import Device, Key, Plan
from domogate.drivers.openwebnet.frames import Event, Normal, Request

WHO = 0
SCENARIOS = range(1, 21)


class Scenario(Device):
    """One scenario of a scenario module. The product F420 has the scenarios 1 to 16, the product 3456 has 1 to 20.

    The state of a scenario cannot be read. Only the devices that the scenario switches show its effect.
    """

    def __init__(self, kind: DeviceKind, options: Mapping[str, Any], last: State | None) -> None:
        self.where_text = str(options["where"])
        self.number = int(options["scenario"])
        super().__init__(kind, options, last)

    def restore(self, _last: State | None) -> None:
        if self.kind is DeviceKind.ACTIVATION:
            self.state = ActivationState(active=False)

    @property
    def keys(self) -> frozenset[Key]:
        return frozenset({(WHO, self.where_text)})

    @property
    def read_requests(self) -> tuple[Request, ...]:
        return ()

    def receive(self, event: Event, _at: float) -> bool:
        return isinstance(event, Normal) and event.what == self.number

    def plan(self, command: Command) -> Plan:
        if not isinstance(command, Activate):
            raise self.refusal(command)
        return Plan((Normal(WHO, self.number, self.where_text),))
