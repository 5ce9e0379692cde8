"""Translates the recorded states of modules to states of the estate file."""

import re
from collections.abc import Sequence

from domogate.recording.estate import answers
from domogate.recording.estate.answers import Record, given

_FLAG = re.compile("(0x)?[0-9A-Fa-f]{1,16}").fullmatch
_SILENT = frozenset(("BLOCK.FAULTY_COMMUNICATION", "REMOTE.STATUS.OUT_SUPERVISION"))
_NO_COMMUNICATION = 2
"""In emergency lighting, the status of a module that cannot be reached.

The contract gives no number for this status. Decision 0022 chose this number.
"""
_USUAL_SET_POINT = 20.0
"""In Celsius: the set point in the estate file for a thermostat in the mode `boost`, for which E12 shows no set point."""
OFFLINE: Record = {"reachable": False, "options": {"simulate": "offline"}}
"""The part of the record of a module that makes the simulator show the module as offline."""


def light_state(light: answers.Light) -> Record:
    color = light.color
    return {
        "on": light.status == "on",
        **given(level=light.level, color=color and {"hue": color.H, "saturation": color.S, "value": color.V}),
    }


def remote_state(remote: answers.Remote) -> Record:
    return {"battery": remote.battery, **given(firmware=remote.fw)}


def consumed(consumptions: Sequence[answers.Consumption]) -> Record:
    """Return the values `power` and `energy` of a plug, as a part of its record in the estate file."""
    names = {"watt": "power", "watt_hour": "energy"}
    return {names[one.unit]: one.value for one in consumptions}


def thermostat_state(thermostat: answers.Chronothermostat) -> Record | None:
    """Return the state, or None if the mode or the function is missing. An answer of E13, for example, has only programs."""
    if thermostat.mode is None or thermostat.function is None:
        return None
    offset = thermostat.time[-6:] if thermostat.time is not None else "+00:00"
    until = thermostat.activation_time
    return {
        "function": thermostat.function,
        "mode": thermostat.mode,
        "setPoint": _celsius(thermostat.set_point),
        "utcOffset": offset,
        **given(
            program=thermostat.programs[0].number if thermostat.programs else None,
            activationTime=None if until is None else f"{until}{offset}",
            scale=thermostat.temperature_format,
            loadActive=None if thermostat.load_state is None else thermostat.load_state == "active",
            temperature=_measured(thermostat.thermometer),
            humidity=_measured(thermostat.hygrometer),
        ),
    }


def emergency_state(status: int, recorded: Sequence[answers.Failure]) -> Record:
    """Return the part of the record of an emergency controller or unit that describes its state.

    A flag that was redacted is left out.
    """
    failures = [
        {"type": one.failure_type, "flag": one.flag} if _FLAG(one.flag) is not None else one.failure_type for one in recorded
    ]
    is_silent = status == _NO_COMMUNICATION and any(one.failure_type in _SILENT for one in recorded)
    return {"failures": failures, **(OFFLINE if is_silent else {})}


def _celsius(point: answers.SetPoint | None) -> float:
    if point is None:
        return _USUAL_SET_POINT
    value = float(point.value)
    return value if point.unit == "C" else round((value - 32) / 1.8, 1)


def _measured(recorded: answers.Measures) -> Record | None:
    if not recorded.measures:
        return None
    newest = recorded.measures[-1]
    unit = {"unit": "F"} if newest.unit == "F" else {}
    return {"value": float(newest.value), "at": newest.time_stamp, **unit}
