"""Appliances and the power they use over time. It depends only on the module's random numbers and the time."""

from math import ceil, floor, pi, sin

import msgspec

from domogate.drivers.simulator.seeded_random import SeededRandom

_NOISE = 0.03
_SAMPLES = 16


class Load(msgspec.Struct, frozen=True):
    """An appliance: from time to time it runs through its phases (seconds, watts); between them it idles.

    An appliance without phases always uses `idle` watts, more or less by the part `swing`.
    """

    idle: float
    phases: tuple[tuple[float, float], ...] = ()
    every: float = 3600.0
    odds: float = 1.0
    swing: float = 0.0

    def watts_at(self, random: SeededRandom, at: float) -> float:
        """Watts at this time."""
        noise = 1 + _NOISE * (2 * random.of("noise", floor(at / 60)) - 1)
        if not self.phases:
            wave = sin(2 * pi * (at / self.every + random.of("wave")))
            return self.idle * (1 + self.swing * wave) * noise
        slot, into = divmod(at + random.of("load phase") * self.every, self.every)
        if self.odds >= 1 or random.of("runs", int(slot)) < self.odds:
            for lasts, watts in self.phases:
                if into < lasts:
                    return watts * noise
                into -= lasts
        return self.idle * noise

    def average_watts(self, random: SeededRandom, begin: float, end: float) -> float:
        """Average watts over a span, sampled every minute, or at most `_SAMPLES` times."""
        times = min(max(ceil((end - begin) / 60), 1), _SAMPLES)
        step = (end - begin) / times
        return sum(self.watts_at(random, begin + (number + 0.5) * step) for number in range(times)) / times

    def could_draw(self, watts: float) -> bool:
        """Whether this appliance can use so much."""
        if self.phases:
            levels = (self.idle, *(level for _, level in self.phases))
            return any(abs(watts - level) <= level * _NOISE + 1 for level in levels)
        return abs(watts - self.idle) <= self.idle * (self.swing + 2 * _NOISE) + 1


LOADS: dict[str, Load] = {
    "lamp": Load(9),
    "router": Load(8, swing=0.15, every=900),
    "charger": Load(0.4, ((4500, 18), (2700, 6)), every=8 * 3600),
    "television": Load(0.6, ((9000, 95),), every=6 * 3600, odds=0.6),
    "computer": Load(130, swing=0.35, every=1500),
    "printer": Load(9, ((45, 640), (240, 60)), every=1500, odds=0.7),
    "fridge": Load(2, ((20, 310), (900, 92)), every=2700),
    "freezer": Load(3, ((20, 420), (1320, 118)), every=3600),
    "coffee machine": Load(4, ((55, 1150),), every=150),
    "kettle": Load(0, ((180, 2050),), every=3 * 3600, odds=0.7),
    "iron": Load(0, ((60, 2200),), every=180),
    "oven": Load(3, ((420, 2400), (90, 120), (240, 2400), (120, 120), (240, 2400)), every=12 * 3600, odds=0.6),
    "washing machine": Load(1, ((300, 90), (1500, 2050), (2400, 160), (900, 130), (600, 420)), every=24 * 3600, odds=0.7),
    "dishwasher": Load(1, ((240, 60), (1080, 2000), (2400, 70), (900, 2000), (1500, 30)), every=24 * 3600, odds=0.8),
    "radiator": Load(1, ((540, 1800),), every=900),
    "pump": Load(42, swing=0.1, every=1200),
    "wallbox": Load(5, ((4.5 * 3600, 3680),), every=12 * 3600, odds=0.6),
}
"""By the word of the option `load`."""

COMMON = ("lamp", "router", "charger", "television", "computer", "fridge", "coffee machine", "washing machine", "radiator")
"""One of these is chosen by the seed when no option names a load."""
