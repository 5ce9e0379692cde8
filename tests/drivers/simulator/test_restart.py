"""A restart changes nothing: a device continues from its stored state as if it had not been interrupted."""

import msgspec
import pytest

from domogate.domain.commands import (
    Activate,
    Command,
    MoveShutter,
    OpenLock,
    SetLight,
    SetThermostat,
    SwitchCamera,
    SwitchHeater,
    SwitchPlug,
    SwitchSocket,
)
from domogate.domain.devices import DeviceKind
from domogate.domain.estate import FirstState
from domogate.domain.states import (
    ActivationState,
    AutomationState,
    CameraState,
    Color,
    HeaterState,
    LightState,
    LockState,
    MultisocketState,
    PlugState,
    State,
    ThermostatFunction,
    ThermostatMode,
    ThermostatState,
)
from domogate.ports import AttachedModule
from support.clocks import NOON
from support.devices import make_attached
from support.simulator_setup import SimulatorSetup

LAMP = LightState(on=False, level=20, color=Color(10, 20, 20))
THERMOSTAT = ThermostatState(
    function=ThermostatFunction.HEATING, mode=ThermostatMode.AUTOMATIC, set_point=20.5, program=0, former_mode=None
)
MEASURED = ("power", "energy", "temperature", "humidity", "load_active")
"""They go on while the gateway is down, and depend on the time of the measurement."""


def told(state: State | None) -> dict[str, object]:
    """The part of a state that orders set."""
    return {name: value for name, value in msgspec.structs.asdict(state).items() if name not in MEASURED} if state else {}


async def after_orders(
    attached: AttachedModule, commands: list[Command], seconds: float, restart: float | None
) -> State | None:
    """The state so many seconds after the orders; `restart`: the process is killed and started so many seconds after them."""
    setup = SimulatorSetup(attached)
    async with setup:
        for command in commands:
            last = await setup.order(command)
        if restart is None:
            setup.clock.advance(seconds)
            return (await setup.read()).state
        # What is stored is the confirmed state, and the reports since then.
        last = [last, *(report for report in await setup.advance(restart) if report.state is not None)][-1]
    again = SimulatorSetup(AttachedModule(attached.module, FirstState(attached.module.id, last.state), reported_at=last.at))
    again.clock.at = setup.clock.now()
    async with again:
        again.clock.advance(seconds - restart)
        return (await again.read()).state


@pytest.mark.parametrize("restart", [0.5, 2.0])
@pytest.mark.parametrize(
    ("kind", "state", "options", "commands"),
    [
        (DeviceKind.LIGHT, LAMP, {}, [SetLight(on=True, level=70)]),
        (DeviceKind.LIGHT, LAMP, {}, [SetLight(level=70)]),
        (DeviceKind.LIGHT, LAMP, {"transition": 40}, [SetLight(on=True, level=70)]),
        (DeviceKind.LIGHT, LAMP, {"transition": 40}, [SetLight(on=True), SetLight(color=Color(200, 90, 80))]),
        (DeviceKind.LIGHT, LAMP, {"transition": 40}, [SetLight(on=True, level=90), SetLight(on=False)]),
        (DeviceKind.AUTOMATION, AutomationState(position=0), {}, [MoveShutter(position=80)]),
        (DeviceKind.AUTOMATION, AutomationState(position=70), {"travel": 60}, [MoveShutter(position=0)]),
        (DeviceKind.PLUG, PlugState(on=False), {}, [SwitchPlug(on=True)]),
        (DeviceKind.HEATER, HeaterState(on=False), {}, [SwitchHeater(on=True)]),
        (DeviceKind.MULTISOCKET, MultisocketState(sockets=(False, False)), {}, [SwitchSocket(socket=1, on=True)]),
        (DeviceKind.LOCK, LockState(locked=True), {}, [OpenLock()]),
        (DeviceKind.ACTIVATION, ActivationState(active=False), {}, [Activate()]),
        (DeviceKind.AUDIOVIDEO_UNIT, CameraState(on=False), {}, [SwitchCamera(on=True)]),
        (DeviceKind.CHRONOTHERMOSTAT, THERMOSTAT, {}, [SetThermostat(set_point=25.0)]),
        (DeviceKind.CHRONOTHERMOSTAT, THERMOSTAT, {}, [SetThermostat(mode=ThermostatMode.BOOST)]),
        (DeviceKind.CHRONOTHERMOSTAT, THERMOSTAT, {}, [SetThermostat(mode=ThermostatMode.OFF, activation_time=NOON + 60)]),
        (DeviceKind.CHRONOTHERMOSTAT, THERMOSTAT, {}, [SetThermostat(function=ThermostatFunction.COOLING, program=3)]),
    ],
    ids=lambda value: getattr(value, "value", None),
)
@pytest.mark.parametrize("seconds", [60.0, 200.0, 2400.0])
async def test_an_order_is_executed_as_without_the_restart(
    kind: DeviceKind, state: State, options: dict[str, object], commands: list[Command], restart: float, seconds: float
) -> None:
    attached = make_attached(kind, state, options=options)
    expected = told(await after_orders(attached, commands, seconds, None))
    assert told(await after_orders(attached, commands, seconds, restart)) == expected
