"""WHO 13: the OpenWebNet gateway as a module of the plant."""

from domogate.domain.states import GatewayState, State
from domogate.drivers.openwebnet.device import Device, Key, to_numbers
from domogate.drivers.openwebnet.frames import DimensionReading, DimensionRequest, Event, Request

WHO = 13
_FIRMWARE = 16


class GatewayDevice(Device):
    """The OpenWebNet gateway of the bus, as a module. It is reachable while it answers."""

    def restore(self, last: State | None) -> None:
        self.state = last if isinstance(last, GatewayState) else None

    @property
    def keys(self) -> frozenset[Key]:
        return frozenset({(WHO, "")})

    @property
    def read_requests(self) -> tuple[Request, ...]:
        return (DimensionRequest(WHO, "", _FIRMWARE),)

    def receive(self, event: Event, _at: float) -> bool:
        numbers = to_numbers(event.values) if isinstance(event, DimensionReading) and event.dimension == _FIRMWARE else None
        if not numbers:
            return False
        version, release, build = (*numbers, 0, 0)[:3]
        # The three parts of the version become one number: 3.1.27 becomes 30127 (in Spec 2.12 firmware is an integer).
        self.state = GatewayState(firmware=min(version * 10_000 + release * 100 + build, 2_147_483_647))
        return True
