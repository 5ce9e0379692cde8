"""Simulated remotes, which have a battery, and simulated modules of the kind `gateway`."""

from math import floor

from domogate.domain.plants import Module
from domogate.domain.states import Battery, GatewayState, RemoteState
from domogate.drivers.simulator.device import Device, Start
from domogate.drivers.simulator.seeded_random import SeededRandom

_WORDS = (Battery.VERY_LOW, Battery.LOW, Battery.MEDIUM, Battery.HIGH, Battery.FULL)
"""The battery levels from empty to full. Each stands for a fifth of the charge."""


class Remote(Device[RemoteState]):
    """A remote. Its battery drains and is replaced when it is empty.

    The option `lasts` is the number of hours that a battery lasts. The default is about a year.
    """

    __slots__ = ("_charge", "_lasts")
    reports = RemoteState

    def __init__(self, module: Module, state: RemoteState | None, start: Start) -> None:
        super().__init__(module, state, start)
        hours = self.options.get("lasts")
        self._lasts = self.random.between("lasts", 250, 500) * 86_400 if hours is None else hours * 3600
        battery = self.state.battery
        fifth = 0 if battery is Battery.UNKNOWN else _WORDS.index(battery)
        self._charge = (fifth + 0.05 + 0.9 * self.random.of("charge")) / len(_WORDS)
        """The charge at the start: a random value in the fifth that the battery level of the state stands for."""

    def first_state(self) -> RemoteState:
        return RemoteState(battery=self.random.pick("battery", _WORDS), firmware=_firmware(self.random))

    def charge_at(self, now: float) -> float:
        """Return the charge of the battery. It falls from 1 to 0; then a new battery starts at 1 again."""
        return (self._charge - (now - self.made_at) / self._lasts) % 1.0

    def evolve(self, now: float) -> None:
        before = self.state.battery
        if before is Battery.UNKNOWN:
            return
        battery = _WORDS[min(floor(self.charge_at(now) * len(_WORDS)), len(_WORDS) - 1)]
        if battery is not before:
            self.state = RemoteState(battery=battery, firmware=self.state.firmware)


class Gateway(Device[GatewayState]):
    """A simulated module of the kind gateway. Its firmware version never changes."""

    __slots__ = ()
    reports = GatewayState

    def first_state(self) -> GatewayState:
        return GatewayState(firmware=_firmware(self.random))


def _firmware(random: SeededRandom) -> int:
    return 10 + int(random.of("firmware") * 90)
