"""One day in the life of a thermostat, without waiting for it: time is stepped by hand (docs/simulator.md shows such a day)."""

from collections.abc import Sequence

import msgspec

from domogate.domain.ids import Id
from domogate.domain.states import ThermostatState
from domogate.drivers.simulator.pace import REAL_TIME
from domogate.drivers.simulator.plant import SimulatedPlant
from domogate.drivers.simulator.thermal import Thermostat
from domogate.drivers.simulator.weather import Weather
from domogate.ports import AttachedModule

DAY = 86_400
_STEP = 60
_BEFORE = DAY
"""It lives for this long before the day begins, so that the day does not begin with what an estate happens to say."""


class Moment(msgspec.Struct, frozen=True):
    """What is so at some second of the day, by the thermostat's own clock. Temperatures are in Celsius."""

    second: int
    room: float
    set_point: float
    load: bool
    outdoors: float


def live_a_day(
    plant_id: Id, modules: Sequence[AttachedModule], thermostat_id: Id, *, seed: int, midnight: float, every: int = 300
) -> list[Moment]:
    """The day of one thermostat of a plant that begins at `midnight` UTC by its clock. Raises LookupError."""
    weather = Weather(seed)
    plant = SimulatedPlant(plant_id, seed, weather, REAL_TIME)
    told = next((place for place in modules if place.module.id == thermostat_id), None)
    if told is None or not isinstance(told.last.state, ThermostatState):
        raise LookupError(f"the plant has no thermostat {thermostat_id} with a state to begin from")
    midnight -= told.last.state.utc_offset_minutes * 60
    for _ in plant.place(modules, midnight - _BEFORE):
        pass
    thermostat = plant.find(thermostat_id).device
    assert isinstance(thermostat, Thermostat)
    moments = []
    for second in range(-_BEFORE, DAY + 1, _STEP):
        for _ in plant.evolve(midnight + second):
            pass
        if second >= 0 and second % every == 0:
            state, room = thermostat.state, thermostat.room
            outdoors = round(weather.outdoors(midnight + second), 2)
            moments.append(Moment(second, round(room.celsius, 2), state.set_point, state.load_active, outdoors))
    return moments
