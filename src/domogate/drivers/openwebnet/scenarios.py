"""WHO 0: scenarios that a scenario module of the bus keeps."""

from collections.abc import Mapping
from typing import Any

from domogate.domain.commands import Activate, Command
from domogate.domain.devices import DeviceKind
from domogate.domain.states import ActivationState, State
from domogate.drivers.openwebnet.device import Device, Key, Plan
from domogate.drivers.openwebnet.frames import News, Normal, Request

WHO = 0
SCENARIOS = range(1, 21)


class Scenario(Device):
    """One scenario of a module (F420: 1 to 16, 3456: 1 to 20). Started, it shows in the devices that it moves."""

    def __init__(self, kind: DeviceKind, options: Mapping[str, Any], last: State | None) -> None:
        self.written = str(options["where"])
        self.number = int(options["scenario"])
        super().__init__(kind, options, last)

    def begin(self, last: State | None) -> None:  # noqa: ARG002 (a scenario is never found running)
        if self.kind is DeviceKind.ACTIVATION:
            self.state = ActivationState(active=False)

    @property
    def keys(self) -> frozenset[Key]:
        return frozenset({(WHO, self.written)})

    @property
    def questions(self) -> tuple[Request, ...]:
        return ()

    def hear(self, news: News, at: float) -> bool:  # noqa: ARG002 (it has nothing to hear)
        return isinstance(news, Normal) and news.what == self.number

    def plan(self, command: Command) -> Plan:
        if not isinstance(command, Activate):
            raise self.refusal(command)
        return Plan((Normal(WHO, self.number, self.written),))
