"""Simulated remotes, which have a battery, and simulated modules of the kind `gateway`."""

from domogate.domain.plants import Module
from domogate.domain.states import Battery, GatewayState, RemoteState
from domogate.drivers.simulator.device import Device, Start
from domogate.drivers.simulator.seeded_random import SeededRandom, TimeSlots

_WORDS = (Battery.VERY_LOW, Battery.LOW, Battery.MEDIUM, Battery.HIGH, Battery.FULL)
"""The battery levels from empty to full. A battery has each level for a fifth of the time that it lasts."""


class Remote(Device[RemoteState]):
    """A remote. Its battery drains and is replaced when it is empty.

    The option `lasts` is the number of hours that a battery lasts. The default is about a year. The times at which the level
    changes depend only on the seed, the module and this option. So a restart does not change them.
    """

    __slots__ = ("_slot", "_slots")
    reports = RemoteState

    def __init__(self, module: Module, state: RemoteState | None, start: Start) -> None:
        super().__init__(module, state, start)
        hours = self.options.get("lasts")
        lasts = self.random.between("lasts", 250, 500) * 86_400 if hours is None else hours * 3600
        self._slots = TimeSlots(self.random, "battery", lasts / len(_WORDS))
        self._slot = self._slots.at(start.since)

    def first_state(self) -> RemoteState:
        return RemoteState(battery=self.random.pick("battery", _WORDS), firmware=_firmware(self.random))

    def evolve(self, now: float) -> None:
        slot, before = self._slots.at(now), self.state.battery
        if slot == self._slot or before is Battery.UNKNOWN:
            return
        # After the lowest level, a new battery is full. If the clock was set back, the level rises again.
        battery = _WORDS[(_WORDS.index(before) - (slot - self._slot)) % len(_WORDS)]
        self._slot, self.state = slot, RemoteState(battery=battery, firmware=self.state.firmware)


class Gateway(Device[GatewayState]):
    """A simulated module of the kind gateway. Its firmware version never changes."""

    __slots__ = ()
    reports = GatewayState

    def first_state(self) -> GatewayState:
        return GatewayState(firmware=_firmware(self.random))


def _firmware(random: SeededRandom) -> int:
    return 10 + int(random.of("firmware") * 90)
