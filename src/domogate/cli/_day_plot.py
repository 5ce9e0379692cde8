"""A day of a thermostat as an SVG plot, for light and dark pages, and as CSV."""

from collections.abc import Iterator, Sequence
from html import escape
from itertools import groupby
from math import ceil, floor

from domogate.drivers.simulator.day import DaySample

_WIDTH, _HEIGHT = 960, 560
_LEFT, _RIGHT = 64, 936
_DAY = 86_400

_STYLE = """
text { font: 13px system-ui, sans-serif; fill: #3b4252; }
.title { font-size: 17px; font-weight: 600; }
.axis { stroke: #8a93a3; stroke-width: 1; }
.grid { stroke: #d5dae2; stroke-width: 1; }
.room { fill: none; stroke: #c2410c; stroke-width: 2.5; stroke-linejoin: round; }
.set-point { fill: none; stroke: #1d4ed8; stroke-width: 2; stroke-dasharray: 7 4; }
.outdoors { fill: none; stroke: #0f766e; stroke-width: 2; stroke-linejoin: round; }
.load { fill: #f59e0b; }
.idle { fill: #eef1f5; }
.page { fill: #ffffff; }
@media (prefers-color-scheme: dark) {
  text { fill: #d8dee9; }
  .axis { stroke: #7b8494; }
  .grid { stroke: #39414f; }
  .room { stroke: #fb923c; }
  .set-point { stroke: #8ab4ff; }
  .outdoors { stroke: #5eead4; }
  .idle { fill: #2a313d; }
  .page { fill: #161b22; }
}
"""


class _Panel:
    """A part of the plot with its own scale."""

    def __init__(self, top: float, bottom: float, values: Sequence[float], step: int, unit: str) -> None:
        self.top, self.bottom, self.step, self.unit = top, bottom, step, unit
        self.low = floor(min(values) / step) * step
        self.high = max(ceil(max(values) / step) * step, self.low + step)

    def y(self, value: float) -> float:
        return self.bottom - (value - self.low) / (self.high - self.low) * (self.bottom - self.top)

    def draw(self, title: str) -> Iterator[str]:
        for value in range(self.low, self.high + 1, self.step):
            y = self.y(value)
            yield f'<line class="grid" x1="{_LEFT}" x2="{_RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
            yield f'<text x="{_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{value}</text>'
        yield f'<text x="{_LEFT}" y="{self.top - 10:.1f}">{escape(title)} ({self.unit})</text>'
        yield from _hours(self.top, self.bottom)
        yield f'<line class="axis" x1="{_LEFT}" x2="{_RIGHT}" y1="{self.bottom}" y2="{self.bottom}"/>'


def _x(second: float) -> float:
    return _LEFT + second / _DAY * (_RIGHT - _LEFT)


def _hours(top: float, bottom: float) -> Iterator[str]:
    for hour in range(0, 25, 3):
        x = _x(hour * 3600)
        yield f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{top}" y2="{bottom}"/>'


def _line(kind: str, points: Sequence[tuple[float, float]]) -> str:
    return f'<polyline class="{kind}" points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in points)}"/>'


def _stairs(moments: Sequence[DaySample], panel: _Panel) -> list[tuple[float, float]]:
    """Return the points of the line of set points. A set point changes suddenly, so the line has steps and no slopes."""
    points: list[tuple[float, float]] = []
    for moment in moments:
        x, y = _x(moment.second), panel.y(moment.set_point)
        if points and points[-1][1] != y:
            points.append((x, points[-1][1]))
        points.append((x, y))
    return points


def _legend(entries: Sequence[tuple[str, str]]) -> Iterator[str]:
    x = float(_LEFT)
    for kind, words in entries:
        if kind == "load":
            yield f'<rect class="load" x="{x}" y="42" width="26" height="12"/>'
        else:
            yield f'<line class="{kind}" x1="{x}" x2="{x + 26}" y1="48" y2="48"/>'
        yield f'<text x="{x + 33}" y="52">{words}</text>'
        x += 33 + 7.2 * len(words) + 22


def draw_day(moments: Sequence[DaySample], title: str) -> str:
    """Draw three panels over the hours of a day. The top panel shows the room temperature and the set point. The middle panel
    shows when the load (heating or cooling) is on. The bottom panel shows the outdoor temperature.
    """
    inside = _Panel(96, 326, [value for one in moments for value in (one.room, one.set_point)], 1, "°C")
    outside = _Panel(436, 516, [one.outdoors for one in moments], 4, "°C")
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{escape(title)}">',
        f"<title>{escape(title)}</title>",
        f"<style>{_STYLE}</style>",
        f'<rect class="page" width="{_WIDTH}" height="{_HEIGHT}"/>',
        f'<text class="title" x="{_LEFT}" y="32">{escape(title)}</text>',
        *_legend((("room", "room"), ("set-point", "set point"), ("load", "load"), ("outdoors", "outdoors"))),
        *inside.draw("Inside"),
        _line("set-point", _stairs(moments, inside)),
        _line("room", [(_x(one.second), inside.y(one.room)) for one in moments]),
        f'<text x="{_LEFT}" y="356">Load</text>',
        f'<rect class="idle" x="{_LEFT}" y="364" width="{_RIGHT - _LEFT}" height="26"/>',
        *_loads(moments),
        *outside.draw("Outside"),
        _line("outdoors", [(_x(one.second), outside.y(one.outdoors)) for one in moments]),
    ]
    parts += [
        f'<text x="{_x(hour * 3600):.1f}" y="{outside.bottom + 22}" text-anchor="middle">{hour:02}:00</text>'
        for hour in range(0, 25, 3)
    ]
    return "\n".join([*parts, "</svg>"]) + "\n"


def _loads(moments: Sequence[DaySample]) -> Iterator[str]:
    for load, run in groupby(moments, key=lambda one: one.load):
        if load:
            seconds = [one.second for one in run]
            begin, end = _x(seconds[0]), _x(min(seconds[-1] + moments[1].second, _DAY))
            yield f'<rect class="load" x="{begin:.1f}" y="364" width="{end - begin:.1f}" height="26"/>'


def print_day(moments: Sequence[DaySample]) -> str:
    """Return the day as CSV. Each line has the local time of the thermostat, and the values of the plot at this time."""
    lines = ["time,room,set_point,load,outdoors"]
    for one in moments:
        hours, minutes = divmod(one.second // 60, 60)
        lines.append(
            f"{hours:02}:{minutes:02},{one.room:.2f},{one.set_point:g},{'on' if one.load else 'off'},{one.outdoors:.2f}"
        )
    return "\n".join(lines) + "\n"
