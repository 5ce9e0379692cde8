"""Simulated devices on a bus.

They read and write frames as plain text, by the published tables of WHO 0, 1, 2, 4 and 18.
"""

from collections.abc import Iterable


class BusDevice:
    """A device on the bus. `obey` returns the events that follow."""

    def __init__(self, where: str, *, groups: Iterable[int] = ()) -> None:
        self.where = where
        self.groups = frozenset(groups)

    def is_meant_by(self, where: str) -> bool:
        if where.startswith("#"):
            return int(where[1:]) in self.groups
        return where in ("0", self.where) or (len(where) == 1 and len(self.where) == 2 and self.where[0] == where)

    def obey(self, what: str) -> list[str]:
        """Execute it. Returns the events on the bus."""
        raise NotImplementedError  # not every device has this frame

    def status(self) -> list[str]:
        """The answer to a status request."""
        raise NotImplementedError  # not every device has this frame

    def read(self, dimension: str) -> list[str] | None:
        """Returns None if the device does not have this dimension."""
        return None

    def write(self, dimension: str, values: list[str]) -> list[str] | None:
        return None


class BusLight(BusDevice):
    """An actuator: a switch, a dimmer of ten or a hundred levels, or a light with colours."""

    who = "1"

    def __init__(self, where: str, *, levels: int = 1, color: bool = False, groups: Iterable[int] = ()) -> None:
        super().__init__(where, groups=groups)
        self.levels = levels
        self.on = False
        self.level = 100
        self.hsv = (0, 0, 100) if color else None

    def obey(self, what: str) -> list[str]:
        number = int(what.split("#")[0])
        if number in range(2, 11):
            if self.levels == 1:
                return []
            self.level = number * 10
        if number in (30, 31):
            self.level = max(10, min(100, self.level + (10 if number == 30 else -10)))
            return [f"*1*{what}*{self.where}##"]
        self.on = number != 0
        return self.status()

    def status(self) -> list[str]:
        shown = "0" if not self.on else "1" if self.levels == 1 and self.hsv is None else str(max(2, self.level // 10))
        return [f"*1*{shown}*{self.where}##"]

    def read(self, dimension: str) -> list[str] | None:
        if dimension in ("1", "4") and self.levels == 100:
            return [f"*#1*{self.where}*{dimension}*{100 + self.level if self.on else 100}*255##"]
        if dimension == "12" and self.hsv is not None:
            hue, saturation, value = self.hsv
            return [f"*#1*{self.where}*12*{hue}*{saturation}*{value if self.on else 0}##"]
        return None

    def write(self, dimension: str, values: list[str]) -> list[str] | None:
        if dimension == "1" and self.levels == 100:
            level = int(values[0]) - 100
            self.on, self.level = level > 0, level or self.level
        elif dimension == "12" and self.hsv is not None:
            hue, saturation, value = (int(it) for it in values)
            self.hsv, self.on, self.level = (hue, saturation, value), value > 0, value
        else:
            return None
        return self.read(dimension)


class BusShutter(BusDevice):
    """A shutter; an advanced one knows its position. The test moves it (`arrive`)."""

    who = "2"

    def __init__(self, where: str, *, advanced: bool = False, position: int = 0, groups: Iterable[int] = ()) -> None:
        super().__init__(where, groups=groups)
        self.advanced = advanced
        self.position = position
        self.bound_for = position
        self.moving = 0

    def obey(self, what: str) -> list[str]:
        self.moving = {"0": 0, "1": 1, "2": 2}[what]
        self.bound_for = {0: self.position, 1: 100, 2: 0}[self.moving]
        return [f"*2*1000#{what}*{self.where}##", *self.status()]

    def status(self) -> list[str]:
        return [*(self.read("10") or ()), f"*2*{self.moving}*{self.where}##"]

    def read(self, dimension: str) -> list[str] | None:
        if dimension != "10" or not self.advanced:
            return None
        return [f"*#2*{self.where}*10*{10 + self.moving}*{self.position}*000*0##"]

    def write(self, dimension: str, values: list[str]) -> list[str] | None:
        if not dimension.startswith("11") or not self.advanced:
            return None
        self.bound_for = int(values[0])
        self.moving = 0 if self.bound_for == self.position else 1 if self.bound_for > self.position else 2
        return self.read("10")

    def arrive(self) -> list[str]:
        self.position, self.moving = self.bound_for, 0
        return self.status()


class BusZone(BusDevice):
    """A zone of thermoregulation with its probe, or the central unit (where #0)."""

    who = "4"

    def __init__(self, where: str, *, through_central_unit: bool = False) -> None:
        super().__init__(where)
        self.through_central_unit = through_central_unit
        self.mode: str | None = "311"
        """None: it tells no mode."""
        self.temperature = "0205"
        self.set_point = "0210"
        self.offset = "00"
        self.valves = ("0", "0")
        self.humidity: str | None = None

    def is_meant_by(self, where: str) -> bool:
        return where in (self.where, f"#{self.where}")

    def obey(self, what: str) -> list[str]:
        self.mode = what
        return [f"*4*{what}*{self._answers_as}##"]

    @property
    def _answers_as(self) -> str:
        return f"#{self.where}" if self.through_central_unit else self.where

    def status(self) -> list[str]:
        mode = [] if self.mode is None else [f"*4*{self.mode}*{self._answers_as}##"]
        if self.where == "#0":
            return mode
        adjusted = f"*#4*{self.where}*12*{self.set_point}*3##"
        rest = [line for dimension in ("13", "14", "60") for line in self.read(dimension) or ()]
        return [*(self.read("0") or ()), adjusted, *mode, *rest]

    def read(self, dimension: str) -> list[str] | None:
        said = {
            "0": self.temperature,
            "13": self.offset,
            "14": f"{self.set_point}*3",
            "19": "*".join(self.valves),
            "60": self.humidity,
        }.get(dimension)
        return None if said is None or self.where == "#0" else [f"*#4*{self.where}*{dimension}*{said}##"]

    def write(self, dimension: str, values: list[str]) -> list[str] | None:
        if dimension != "14":
            return None
        self.set_point, self.mode = values[0], f"{values[1]}10"
        return [f"*#4*{self.where}*0*{self.temperature}##", f"*4*{self.mode}#{self.set_point}*{self._answers_as}##"]


class BusMeter(BusDevice):
    """A meter."""

    who = "18"

    def __init__(self, where: str, *, watts: int = 0, watt_hours: int = 0) -> None:
        super().__init__(where)
        self.watts = watts
        self.watt_hours = watt_hours
        self.updates = 0

    def read(self, dimension: str) -> list[str] | None:
        value = {"113": self.watts, "51": self.watt_hours}.get(dimension)
        return None if value is None else [f"*#18*{self.where}*{dimension}*{value}##"]

    def write(self, dimension: str, values: list[str]) -> list[str] | None:
        if dimension != "1200#1":
            return None
        self.updates = int(values[0])
        return [f"*#18*{self.where}*1200#1*{values[0]}##"]


class BusScenarios(BusDevice):
    """A scenario module."""

    who = "0"

    def __init__(self, where: str) -> None:
        super().__init__(where)
        self.started: list[str] = []

    def obey(self, what: str) -> list[str]:
        self.started.append(what)
        return [f"*0*{what}*{self.where}##"]


Device = BusLight | BusShutter | BusZone | BusMeter | BusScenarios
