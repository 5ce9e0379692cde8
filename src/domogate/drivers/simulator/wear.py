"""Remotes and gateways: what wears out, and what does not."""

from math import floor

from domogate.domain.plants import Module
from domogate.domain.states import Battery, GatewayState, RemoteState
from domogate.drivers.simulator.chance import Chance
from domogate.drivers.simulator.device import Device, Start

_WORDS = (Battery.VERY_LOW, Battery.LOW, Battery.MEDIUM, Battery.HIGH, Battery.FULL)
"""A fifth of the charge each, from the last to the first."""


class Remote(Device[RemoteState]):
    """Its battery drains; used up, somebody changes it. How many hours one lasts is the option `lasts`, or by chance a year."""

    __slots__ = ("_charge", "_lasts")
    reports = RemoteState

    def __init__(self, module: Module, state: RemoteState | None, start: Start) -> None:
        super().__init__(module, state, start)
        told = self.options.get("lasts")
        self._lasts = self.chance.between("lasts", 250, 500) * 86_400 if told is None else told * 3600
        battery = self.state.battery
        fifth = 0 if battery is Battery.UNKNOWN else _WORDS.index(battery)
        self._charge = (fifth + 0.05 + 0.9 * self.chance.of("charge")) / len(_WORDS)
        """When it was made: a word says no more than the fifth."""

    def first_state(self) -> RemoteState:
        return RemoteState(battery=self.chance.pick("battery", _WORDS), firmware=_firmware(self.chance))

    def charge_at(self, now: float) -> float:
        """From 1 down to 0, and from the start again with the next battery."""
        return (self._charge - (now - self.made_at) / self._lasts) % 1.0

    def evolve(self, now: float) -> None:
        before = self.state.battery
        if before is Battery.UNKNOWN:
            return
        battery = _WORDS[min(floor(self.charge_at(now) * len(_WORDS)), len(_WORDS) - 1)]
        if battery is not before:
            self.state = RemoteState(battery=battery, firmware=self.state.firmware)


class Gateway(Device[GatewayState]):
    """Its firmware stays what it is."""

    __slots__ = ()
    reports = GatewayState

    def first_state(self) -> GatewayState:
        return GatewayState(firmware=_firmware(self.chance))


def _firmware(chance: Chance) -> int:
    return 10 + int(chance.of("firmware") * 90)
