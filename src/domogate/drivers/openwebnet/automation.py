"""WHO 2: shutters and blinds. Advanced actuators know their position; of the others it is reckoned from how long they ran."""

from collections.abc import Mapping
from typing import Any

from domogate.domain.commands import Command, MoveShutter
from domogate.domain.devices import DeviceKind
from domogate.domain.faults import DeviceRefused
from domogate.domain.states import AutomationState, State
from domogate.drivers.openwebnet.addresses import parse_where
from domogate.drivers.openwebnet.device import Device, Key, Plan, check_bounds, to_numbers
from domogate.drivers.openwebnet.frames import (
    DimensionRequest,
    DimensionWriting,
    News,
    Normal,
    Request,
    StatusRequest,
)

WHO = 2
_STOP, _UP, _DOWN = 0, 1, 2
_STATUS, _GO_TO = 10, 11
_DIRECTIONS: Mapping[int, int] = {0: 0, 1: 1, 2: -1, 10: 0, 11: 1, 12: -1, 13: 1, 14: -1}
"""Which way each WHAT, and each status of an advanced actuator, moves it."""
_NO_PRIORITY = ("000",)


class Shutter(Device):
    """A shutter: 0 is closed, 100 is open."""

    def __init__(self, kind: DeviceKind, options: Mapping[str, Any], last: State | None) -> None:
        self.written = str(options["where"])
        where = parse_where(self.written)
        assert where is not None  # the options were checked
        self.where = where
        self.groups = frozenset(options.get("groups", ()))
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

    def begin(self, last: State | None) -> None:
        if isinstance(last, AutomationState):
            self._position = float(last.position)

    @property
    def keys(self) -> frozenset[Key]:
        return frozenset({(WHO, self.where.key)})

    @property
    def questions(self) -> tuple[Request, ...]:
        if self.knows_position:
            return (DimensionRequest(WHO, self.written, _STATUS),)
        return (StatusRequest(WHO, self.written),)

    def concerns(self, where: str) -> bool:
        address = parse_where(where)
        return address is not None and address.concerns(self.where, self.groups)

    # what it does

    def hear(self, news: News, at: float) -> bool:
        if isinstance(news, Normal):
            return self.overhear(news, at)
        numbers = to_numbers(news.values)
        if news.dimension != _STATUS or not numbers or len(numbers) < 2:
            return False
        status, position = numbers[:2]
        if status not in _DIRECTIONS or not (position <= 100 or position == 255):
            return False
        self._direction = _DIRECTIONS[status]
        self._since = at
        if position <= 100:  # 255 is a position that the actuator itself does not know
            self._position = float(position)
        self._show()
        return True

    def overhear(self, command: Normal, at: float) -> bool:
        direction = _DIRECTIONS.get(command.what)
        if direction is None:
            return False
        if not self.knows_position:
            self._reckon(direction, at)
        self._direction, self._since = direction, at
        self._show()
        return True

    def _reckon(self, direction: int, at: float) -> None:
        """Where it is after it ran one way until now, for as long as a whole way takes at most."""
        part = 100 * min(1.0, max(0.0, at - self._since) / self.travel) * self._direction
        if self._position is not None:
            self._position = min(100.0, max(0.0, self._position + part))
        elif abs(part) >= 100:
            self._position = 100.0 if part > 0 else 0.0
        elif direction and self._direction == 0:
            # Nothing is known of where it was: it is taken to come from the other end, and is right once it has arrived.
            self._position = 0.0 if direction > 0 else 100.0

    def _show(self) -> None:
        self.state = None if self._position is None else AutomationState(position=round(self._position))

    # what it is told

    def plan(self, command: Command) -> Plan:
        if not isinstance(command, MoveShutter):
            raise self.refusal(command)
        check_bounds("position", command.position, 0, 100)
        wanted = command.position
        if self.knows_position:
            request: Request = DimensionWriting(WHO, self.written, _GO_TO, (str(wanted),), _NO_PRIORITY)
            return Plan((request,), lambda: self._is_bound_for(wanted))
        if wanted not in (0, 100):
            raise DeviceRefused("this shutter can be told to open (100) or to close (0): its actuator knows no positions")
        request = Normal(WHO, _UP if wanted else _DOWN, self.written)
        return Plan((request,), lambda: self._is_bound_for(wanted))

    def _is_bound_for(self, wanted: int) -> bool:
        """Arrived, or on the way: a shutter takes longer than anybody waits for an answer."""
        if self._position is None:
            return self._direction == (1 if wanted > 50 else -1)
        if round(self._position) == wanted:
            return True
        return self._direction != 0 and (wanted > self._position) == (self._direction > 0)
