"""Simulates one day of a thermostat in a short time (docs/simulator.md shows such a day)."""

from collections.abc import Sequence

import msgspec

from domogate.domain.ids import Id
from domogate.domain.states import ThermostatState
from domogate.drivers.simulator.device import REAL_TIME
from domogate.drivers.simulator.plant import SimulatedPlant
from domogate.drivers.simulator.thermostat import Thermostat
from domogate.drivers.simulator.weather import Weather
from domogate.ports import AttachedModule

DAY = 86_400
_STEP = 60
_EVERY = 300
"""In seconds: the time between two samples."""
_BEFORE = DAY
"""In seconds.

The simulation begins this number of seconds before the day. So the first values do not depend on the estate file.
"""


class DaySample(msgspec.Struct, frozen=True):
    """The values at one second of the day, in the thermostat's local time. Temperatures are in Celsius."""

    second: int
    room: float
    set_point: float
    load: bool
    outdoors: float


def simulate_day_of(
    plant_id: Id, modules: Sequence[AttachedModule], thermostat_id: Id, *, seed: int, midnight: float
) -> list[DaySample]:
    """Return the samples of one day of a thermostat. `midnight` is 00:00 UTC of the date of this day.

    The day begins at 00:00 of the thermostat's local time.

    Raises LookupError if the thermostat is not in `modules`, or has no state.
    """
    weather = Weather(seed)
    plant = SimulatedPlant(plant_id, seed, weather, REAL_TIME)
    first = next((attached for attached in modules if attached.module.id == thermostat_id), None)
    if first is None or not isinstance(first.last.state, ThermostatState):
        raise LookupError(f"the plant has no thermostat {thermostat_id} with a first state")
    midnight -= first.last.state.utc_offset_minutes * 60
    for _ in plant.attach(modules, midnight - _BEFORE):
        pass
    thermostat = plant.find(thermostat_id).device
    assert isinstance(thermostat, Thermostat)
    samples = []
    for second in range(-_BEFORE, DAY + 1, _STEP):
        for _ in plant.evolve(midnight + second):
            pass
        if second >= 0 and second % _EVERY == 0:
            state, room = thermostat.state, thermostat.room
            outdoors = round(weather.outdoors(midnight + second), 2)
            samples.append(DaySample(second, round(room.celsius, 2), state.set_point, state.load_active, outdoors))
    return samples
