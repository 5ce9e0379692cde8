"""Simulated time, which may run faster than real time (Decision 0036).

Devices know simulated time only. Reports and readings carry real time, because freshness and history are about the time at
which the gateway received a value.
"""


class TimeScale:
    """Converts real to simulated time and back: both are equal until `origin`, then simulated time is `speed` times as fast."""

    __slots__ = ("_origin", "speed")

    def __init__(self, speed: float = 1.0, origin: float = 0.0) -> None:
        if not speed > 0:
            raise ValueError("the speed of simulated time must be greater than 0")
        self.speed = speed
        self._origin = origin

    def simulated(self, real: float) -> float:
        return real if self.speed == 1 or real <= self._origin else self._origin + (real - self._origin) * self.speed

    def real(self, simulated: float) -> float:
        if self.speed == 1 or simulated <= self._origin:
            return simulated
        return self._origin + (simulated - self._origin) / self.speed

    def interval(self, seconds: float, *, at_least: float) -> float:
        """So many simulated seconds, but at least so many real ones: a fast plant must not send too many reports."""
        return max(seconds, at_least * self.speed)


REAL_TIME = TimeScale()
