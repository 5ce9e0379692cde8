"""Emergency lighting controllers and units, remotes and gateways: what wears out, fails and is repaired."""

from domogate.domain.devices import DeviceKind
from domogate.domain.plants import Module
from domogate.domain.safety import FLAGS, Failure, FailureType, in_failure
from domogate.domain.states import Battery, EmergencyState, GatewayState, RemoteState
from domogate.drivers.simulator.chance import Chance, Slots
from domogate.drivers.simulator.device import Device

_WELL = {
    DeviceKind.EMERGENCY_CONTROLLER: FailureType.REMOTE_OK,
    DeviceKind.EMERGENCY_UNIT: FailureType.BLOCK_OK,
}
_BREAKS = {
    DeviceKind.EMERGENCY_CONTROLLER: (
        FailureType.REMOTE_NO_BLOCK_RESPONSE,
        FailureType.REMOTE_SECTOR_ON_BUS,
        FailureType.REMOTE_BATTERY_FAULT,
    ),
    DeviceKind.EMERGENCY_UNIT: (
        FailureType.BLOCK_FAULTY_BATTERY,
        FailureType.BLOCK_FAULTY_EMERGENCY_LIGHT,
        FailureType.BLOCK_DISCONNECTED_BATTERY,
        FailureType.BLOCK_FAULTY_POWER_SUPPLY,
    ),
}


class Emergency(Device[EmergencyState]):
    """Keeps the failures it was given. One that has none fails now and then, and is repaired some hours later."""

    __slots__ = ("_calm_until", "_failing", "_given", "_slot", "_slots")
    reports = EmergencyState
    SPAN = 6 * 3600.0
    CALM = 2 * 3600.0
    ODDS = 0.02

    def __init__(self, module: Module, state: EmergencyState | None, chance: Chance, now: float) -> None:
        super().__init__(module, state, chance, now)
        self._slots = Slots(chance, "failure", self.SPAN)
        self._slot = self._slots.at(now)
        self._calm_until = now + self.CALM
        failures = self.state.failures
        # After a restart a failure of the simulator's own must not be taken for a given one: that would never be repaired.
        self._failing = in_failure(failures) and failures in (self._failures_in(self._slot), self._failures_in(self._slot - 1))
        self._given = in_failure(failures) and not self._failing

    def first_state(self) -> EmergencyState:
        return EmergencyState(failures=(Failure(_WELL[self.kind]),))

    def evolve(self, now: float) -> None:
        slot = self._slots.at(now)
        if self._given or slot == self._slot:
            return
        self._slot = slot
        failures = self._failures_in(slot)
        if failures and now >= self._calm_until:
            self.state, self._failing = EmergencyState(failures=failures), True
        elif self._failing:
            self.state, self._failing = EmergencyState(failures=(Failure(_WELL[self.kind]),)), False

    def _failures_in(self, slot: int) -> tuple[Failure, ...]:
        if self.chance.of("fails", slot) >= self.ODDS:
            return ()
        broken = self.chance.pick("what breaks", _BREAKS[self.kind], slot)
        # The flag is written out, as an estate seldom does: it prints the same, and tells whose failure it is.
        return (Failure(broken, FLAGS[broken]),)


class Remote(Device[RemoteState]):
    """Its battery drains slowly; once very low, somebody changes it."""

    __slots__ = ("_slot", "_slots")
    reports = RemoteState
    SPAN = 60 * 86_400.0

    _NEXT = {
        Battery.FULL: Battery.HIGH,
        Battery.HIGH: Battery.MEDIUM,
        Battery.MEDIUM: Battery.LOW,
        Battery.LOW: Battery.VERY_LOW,
        Battery.VERY_LOW: Battery.FULL,
    }

    def __init__(self, module: Module, state: RemoteState | None, chance: Chance, now: float) -> None:
        super().__init__(module, state, chance, now)
        self._slots = Slots(chance, "battery", self.SPAN)
        self._slot = self._slots.at(now)

    def first_state(self) -> RemoteState:
        return RemoteState(battery=self.chance.pick("battery", tuple(self._NEXT)), firmware=_firmware(self.chance))

    def evolve(self, now: float) -> None:
        slot = self._slots.at(now)
        if slot > self._slot:
            battery = self.state.battery
            for _ in range(min(slot - self._slot, len(self._NEXT))):
                battery = self._NEXT.get(battery, battery)
            self.state = RemoteState(battery=battery, firmware=self.state.firmware)
        self._slot = slot


class Gateway(Device[GatewayState]):
    """Its firmware stays what it is."""

    __slots__ = ()
    reports = GatewayState

    def first_state(self) -> GatewayState:
        return GatewayState(firmware=_firmware(self.chance))


def _firmware(chance: Chance) -> int:
    return 10 + int(chance.of("firmware") * 90)
