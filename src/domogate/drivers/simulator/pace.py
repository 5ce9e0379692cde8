"""How fast simulated plants live (Decision 0036).

Devices know simulated time only. What they tell the world is dated in real time: freshness and history are about when something
was heard, not about what the clock in the room showed.
"""


class Pace:
    """Real to simulated time and back: the same until `origin`, then `speed` times as fast."""

    __slots__ = ("_origin", "speed")

    def __init__(self, speed: float = 1.0, origin: float = 0.0) -> None:
        if not speed > 0:
            raise ValueError("simulated time must move on: its speed is a number above 0")
        self.speed = speed
        self._origin = origin

    def simulated(self, real: float) -> float:
        return real if self.speed == 1 or real <= self._origin else self._origin + (real - self._origin) * self.speed

    def real(self, simulated: float) -> float:
        if self.speed == 1 or simulated <= self._origin:
            return simulated
        return self._origin + (simulated - self._origin) / self.speed

    def spaced(self, seconds: float, *, at_least: float) -> float:
        """This many simulated seconds, or more so that at least so many real ones pass: a fast house does not shout."""
        return max(seconds, at_least * self.speed)


REAL_TIME = Pace()
