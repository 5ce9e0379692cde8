"""Makes the state of an emergency controller or unit from its properties, and properties from a stored state."""

from collections.abc import Mapping
from types import MappingProxyType

from domogate.domain.devices import DeviceKind
from domogate.domain.safety import Failure, FailureType
from domogate.domain.states import EmergencyState
from domogate.drivers.mqtt.properties import Properties

OK_OF: Mapping[DeviceKind, FailureType] = MappingProxyType(
    {DeviceKind.EMERGENCY_CONTROLLER: FailureType.REMOTE_OK, DeviceKind.EMERGENCY_UNIT: FailureType.BLOCK_OK}
)
KINDS = frozenset(OK_OF)


def types_of(kind: DeviceKind) -> tuple[FailureType, ...]:
    """Return the failure types of a unit (they begin with BLOCK) or of a controller (they begin with REMOTE)."""
    prefix = OK_OF[kind].partition(".")[0]
    return tuple(one for one in FailureType if one.partition(".")[0] == prefix)


def emergency_state(kind: DeviceKind, properties: Properties) -> EmergencyState | None:
    """Return the state. Return None as long as the device has not reported on any failure type.

    A device without such a report must not be shown as working.
    """
    known = properties.get("failures")
    if not known:
        return None
    failing = tuple(Failure(one) for one in types_of(kind) if known.get(one))
    return EmergencyState(
        failures=failing or (Failure(OK_OF[kind]),),
        charge=properties.get("charge"),
        testing=properties.get("testing"),
        function_test=properties.get("function_test"),
        duration_test=properties.get("duration_test"),
    )


def restore_properties(state: EmergencyState) -> Properties:
    """Return the properties of a stored state.

    After a restart of the gateway, the broker sends nothing on some topics, because it does not keep their messages. Without
    the stored state, the tests that were reported on these topics would be lost.
    """
    ok = frozenset(OK_OF.values())
    properties = Properties(testing=state.testing, failures={one.type: one.type not in ok for one in state.failures})
    if state.charge is not None:
        properties["charge"] = state.charge
    if state.function_test is not None:
        properties["function_test"] = state.function_test
    if state.duration_test is not None:
        properties["duration_test"] = state.duration_test
    return properties
