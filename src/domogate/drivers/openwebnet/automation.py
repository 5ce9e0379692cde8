"""WHO 2: shutters and blinds.

Advanced actuators know their position. For other actuators, the position is estimated from the running time.
"""

from collections.abc import Mapping
from typing import Any

from domogate.domain.commands import Command, MoveShutter
from domogate.domain.devices import DeviceKind
from domogate.domain.faults import CommandNotSupported
from domogate.domain.states import AutomationState, State
from domogate.drivers.bounds import check_bounds
from domogate.drivers.openwebnet.device import Plan, PointDevice, to_numbers
from domogate.drivers.openwebnet.frames import DimensionRequest, DimensionWriting, Event, Normal, Request

WHO = 2
_STOP, _UP, _DOWN = 0, 1, 2
_STATUS, _GO_TO = 10, 11
_DIRECTIONS: Mapping[int, int] = {0: 0, 1: 1, 2: -1, 10: 0, 11: 1, 12: -1, 13: 1, 14: -1}
"""The direction of each WHAT, and of each status of an advanced actuator: 1 is up, -1 is down, 0 is stopped."""
_NO_PRIORITY = ("000",)


class Shutter(PointDevice):
    """A shutter: position 0 is closed, position 100 is open."""

    who = WHO

    def __init__(self, kind: DeviceKind, options: Mapping[str, Any], last: State | None) -> None:
        self._position: float | None = None
        self._direction = 0
        self._since = 0.0
        super().__init__(kind, options, last)

    @property
    def knows_position(self) -> bool:
        return bool(self.options.get("position", False))

    @property
    def travel(self) -> float:
        return float(self.options.get("travel", 30))

    def restore(self, last: State | None) -> None:
        if isinstance(last, AutomationState):
            self._position = float(last.position)

    @property
    def read_requests(self) -> tuple[Request, ...]:
        return (DimensionRequest(WHO, self.where_text, _STATUS),) if self.knows_position else super().read_requests

    # events

    def receive(self, event: Event, at: float) -> bool:
        if isinstance(event, Normal):
            return self.receive_command(event, at)
        numbers = to_numbers(event.values)
        if event.dimension != _STATUS or not numbers or len(numbers) < 2:
            return False
        status, position = numbers[:2]
        if status not in _DIRECTIONS or not (position <= 100 or position == 255):
            return False
        self._direction = _DIRECTIONS[status]
        self._since = at
        if position <= 100:  # 255 means that the actuator does not know its position.
            self._position = float(position)
        self._update_state()
        return True

    def receive_command(self, command: Normal, at: float) -> bool:
        direction = _DIRECTIONS.get(command.what)
        if direction is None:
            return False
        if not self.knows_position:
            self._estimate_position(direction, at)
        self._direction, self._since = direction, at
        self._update_state()
        return True

    def _estimate_position(self, direction: int, at: float) -> None:
        """Estimate the position of the shutter now, from the time for which it ran in its old direction.

        `direction` is the new direction, which begins now.
        """
        part = 100 * min(1.0, max(0.0, at - self._since) / self.travel) * self._direction
        if self._position is not None:
            self._position = min(100.0, max(0.0, self._position + part))
        elif abs(part) >= 100:
            self._position = 100.0 if part > 0 else 0.0
        elif direction and self._direction == 0:
            # The position was unknown: assume that the shutter started at the other end. The position is correct when it
            # arrives.
            self._position = 0.0 if direction > 0 else 100.0

    def _update_state(self) -> None:
        self.state = None if self._position is None else AutomationState(position=round(self._position))

    # commands

    def plan(self, command: Command) -> Plan:
        if not isinstance(command, MoveShutter):
            raise self.refusal(command)
        check_bounds("position", command.position, 0, 100)
        wanted = command.position
        if self.knows_position:
            request: Request = DimensionWriting(WHO, self.where_text, _GO_TO, (str(wanted),), _NO_PRIORITY)
            return Plan((request,), lambda: self._is_moving_to(wanted))
        if wanted not in (0, 100):
            raise CommandNotSupported("this shutter can only open (100) or close (0): its actuator does not know positions")
        request = Normal(WHO, _UP if wanted else _DOWN, self.where_text)
        return Plan((request,), lambda: self._is_moving_to(wanted))

    def _is_moving_to(self, wanted: int) -> bool:
        """Whether the shutter is at the wanted position or is moving there.

        The movement is enough to confirm the command, because the caller cannot wait until the shutter has arrived.
        """
        if self._position is None:
            return self._direction == (1 if wanted > 50 else -1)
        if round(self._position) == wanted:
            return True
        return self._direction != 0 and (wanted > self._position) == (self._direction > 0)
