"""What a simulated entrance panel sees: the door in its wall, the sky of that hour and day, now and then a visitor.

The scene is drawn once, in numbers of colours; day and night are in what those colours are. So a picture costs little.
"""

from datetime import UTC, datetime
from enum import IntEnum
from functools import lru_cache
from math import pi, sin

from domogate.drivers.simulator.canvas import LETTER_WIDTH, Canvas, Color
from domogate.drivers.simulator.chance import Chance
from domogate.drivers.simulator.weather import Weather

WIDTH, HEIGHT = 320, 240
_HORIZON = 132
_BAND = 16
_SKY = 44
"""How many colours the sky has from the zenith to the horizon: numbers 0 to 43."""
_DUSK = 0.12
"""Below so much daylight the lamp at the door is on."""
_STAYS = 120.0
"""Seconds for which somebody stands before the door, or nobody does."""


class Ink(IntEnum):
    """The colours after those of the sky."""

    STAR = _SKY
    SUN = _SKY + 1
    MOON = _SKY + 2
    CLOUD = _SKY + 3
    HILL = _SKY + 4
    GRASS = _SKY + 5
    PATH = _SKY + 6
    JOINT = _SKY + 7
    WALL = _SKY + 8
    BRICK = _SKY + 9
    ROOF = _SKY + 10
    FRAME = _SKY + 11
    DOOR = _SKY + 12
    PANEL = _SKY + 13
    BRASS = _SKY + 14
    PANE = _SKY + 15
    LAMP = _SKY + 16
    HALO = _SKY + 17
    LIT_WALL = _SKY + 18
    SKIN = _SKY + 19
    HAIR = _SKY + 20
    COAT = _SKY + 21
    BAND = _SKY + 22
    TEXT = _SKY + 23


# By daylight: red, green and blue in full sun.
_IN_SUN: dict[Ink, Color] = {
    Ink.CLOUD: (236, 238, 242),
    Ink.HILL: (86, 120, 92),
    Ink.GRASS: (104, 146, 78),
    Ink.PATH: (176, 168, 156),
    Ink.JOINT: (150, 142, 130),
    Ink.WALL: (226, 208, 178),
    Ink.BRICK: (208, 188, 156),
    Ink.ROOF: (150, 74, 58),
    Ink.FRAME: (244, 240, 232),
    Ink.DOOR: (46, 92, 84),
    Ink.PANEL: (36, 74, 68),
    Ink.SKIN: (224, 178, 146),
    Ink.HAIR: (70, 50, 38),
}
# By themselves, whatever the hour.
_ALWAYS: dict[Ink, Color] = {
    Ink.SUN: (255, 240, 170),
    Ink.MOON: (232, 234, 226),
    Ink.STAR: (220, 224, 240),
    Ink.BRASS: (212, 176, 84),
    Ink.BAND: (18, 20, 26),
    Ink.TEXT: (238, 240, 244),
}
_COATS: tuple[Color, ...] = ((178, 52, 48), (44, 74, 140), (206, 158, 40), (88, 60, 110))
_NIGHT_SKY: tuple[Color, Color] = ((6, 9, 26), (24, 30, 58))
_DAY_SKY: tuple[Color, Color] = ((66, 132, 206), (186, 214, 236))
_GREY_SKY: tuple[Color, Color] = ((136, 146, 158), (188, 194, 200))
_DAWN: Color = (240, 150, 92)


class Scenery:
    """The view of one panel. All of it follows from the seed, the panel's luck and the simulated time."""

    __slots__ = ("_chance", "_weather")

    def __init__(self, chance: Chance, weather: Weather) -> None:
        self._chance = chance
        self._weather = weather

    def draw(self, name: str, at: float) -> bytes:
        """The view at that simulated time, as PNG, with the panel's name and the moment under it."""
        daylight, clear = self._weather.daylight(at), self._weather.clearness(at)
        canvas = _entrance().copy()
        _hang_lights_of_the_sky(canvas, at % 86_400.0 / 3600.0, daylight, clear)
        slot = int(at // _STAYS)
        if self._chance.of("visitor", slot) < 0.5:
            _place_visitor(canvas, 208 + int(self._chance.of("stands at", slot) * 60))
        _label(canvas, name, at)
        return canvas.to_png(_palette(daylight, clear, self._chance.pick("coat", _COATS, slot)))


@lru_cache(maxsize=1)
def _entrance() -> Canvas:
    """What is there at every hour."""
    canvas = Canvas(WIDTH, HEIGHT)
    for row in range(_HORIZON):
        canvas.fill(0, row, WIDTH, row + 1, row * _SKY // _HORIZON)
    for place in range(0, WIDTH, 4):
        height = int(10 * sin(place / 37.0) + 6 * sin(place / 13.0 + 1))
        canvas.fill(place, _HORIZON - 14 - height, place + 4, _HORIZON, Ink.HILL)
    canvas.fill(0, _HORIZON, WIDTH, HEIGHT, Ink.GRASS)
    for row in range(188, HEIGHT):  # a path that widens towards whoever looks
        canvas.fill(58 - (row - 188), row, 122 + 2 * (row - 188), row + 1, Ink.PATH)
    for row in range(196, HEIGHT, 12):
        canvas.fill(58 - (row - 188), row, 122 + 2 * (row - 188), row + 1, Ink.JOINT)
    _build_house(canvas)
    return canvas


def _build_house(canvas: Canvas) -> None:
    canvas.fill(0, 44, 196, 190, Ink.WALL)
    for number, row in enumerate(range(52, 190, 8)):
        canvas.fill(0, row, 196, row + 1, Ink.BRICK)
        for left in range(8 * (number % 2), 196, 16):
            canvas.fill(left, row, left + 1, min(row + 8, 190), Ink.BRICK)
    for row in range(26, 44):
        canvas.fill(0, row, 196 + (row - 26) // 2, row + 1, Ink.ROOF)
    canvas.disc(132, 96, 26, Ink.LIT_WALL)
    canvas.fill(54, 76, 118, 190, Ink.FRAME)
    canvas.fill(60, 82, 112, 190, Ink.DOOR)
    for top, bottom in ((90, 124), (134, 180)):
        for left in (66, 89):
            canvas.fill(left, top, left + 17, bottom, Ink.PANEL)
    canvas.fill(66, 90, 106, 108, Ink.PANE)
    canvas.disc(104, 138, 3, Ink.BRASS)
    canvas.fill(129, 86, 136, 90, Ink.PANEL)
    canvas.disc(132, 96, 9, Ink.HALO)
    canvas.disc(132, 96, 5, Ink.LAMP)
    canvas.fill(152, 92, 186, 134, Ink.FRAME)
    canvas.fill(156, 96, 168, 130, Ink.PANE)
    canvas.fill(171, 96, 183, 130, Ink.PANE)


def _hang_lights_of_the_sky(canvas: Canvas, hour: float, daylight: float, clear: float) -> None:
    """Only to the right of the house, where the sky is free."""
    if daylight > 0:
        way = min(max((hour - 6.0) / 12.0, 0.0), 1.0)
        x, y = 212 + int(96 * way), 92 - int(70 * sin(pi * way))
        if clear > 0.3:
            canvas.disc(x, y, 10, Ink.SUN)
        for number in range(int((1.0 - clear) * 7)):
            x, y = 206 + (number * 47 + int(hour * 9)) % 110, 18 + number * 29 % 66
            for part, radius in ((-9, 5), (0, 8), (9, 6)):
                canvas.disc(x + part, y, radius, Ink.CLOUD)
    else:
        for number in range(26):
            x, y = 200 + number * 73 % 118, 4 + number * 41 % 96
            canvas.fill(x, y, x + 1, y + 1, Ink.STAR)
        way = (hour - 18.0) % 24.0 / 12.0
        canvas.disc(216 + int(88 * way), 84 - int(60 * sin(pi * way)), 8, Ink.MOON)


def _place_visitor(canvas: Canvas, x: int) -> None:
    canvas.fill(x - 15, 146, x + 16, 206, Ink.COAT)
    canvas.disc(x - 8, 148, 8, Ink.COAT)
    canvas.disc(x + 8, 148, 8, Ink.COAT)
    canvas.disc(x, 124, 14, Ink.HAIR)
    canvas.disc(x, 128, 12, Ink.SKIN)
    canvas.fill(x - 12, 206, x - 2, 224, Ink.HAIR)
    canvas.fill(x + 3, 206, x + 13, 224, Ink.HAIR)


def _label(canvas: Canvas, name: str, at: float) -> None:
    moment = datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    top = HEIGHT - _BAND
    canvas.fill(0, top, WIDTH, HEIGHT, Ink.BAND)
    begins = WIDTH - 6 - len(moment) * LETTER_WIDTH
    canvas.write(6, top + 5, name[: (begins - 12) // LETTER_WIDTH], Ink.TEXT)
    canvas.write(begins, top + 5, moment, Ink.TEXT)


# --- colours --------------------------------------------------------------------------------------------------------------


def _palette(daylight: float, clear: float, coat: Color) -> list[Color]:
    colors: dict[int, Color] = dict(enumerate(_sky(daylight, clear)))
    light = 0.2 + 0.8 * min(1.0, daylight * 2.5) * (0.7 + 0.3 * clear)
    for ink, color in (*_IN_SUN.items(), (Ink.COAT, coat)):
        colors[ink] = _lit(color, light)
    colors.update(_ALWAYS.items())
    dark = daylight < _DUSK
    colors[Ink.LAMP] = (255, 236, 170) if dark else _lit((200, 200, 196), light)
    colors[Ink.HALO] = (246, 206, 120) if dark else colors[Ink.WALL]
    colors[Ink.LIT_WALL] = _mix(colors[Ink.WALL], (232, 190, 116), 0.55) if dark else colors[Ink.WALL]
    colors[Ink.PANE] = (240, 204, 124) if dark else _lit((128, 160, 184), light)
    return [colors[number] for number in range(len(colors))]


def _sky(daylight: float, clear: float) -> list[Color]:
    bright = min(1.0, daylight * 3.0)
    top, bottom = (
        _mix(night, _mix(grey, day, clear), bright) for night, grey, day in zip(_NIGHT_SKY, _GREY_SKY, _DAY_SKY, strict=True)
    )
    glow = clear * max(0.0, 1.0 - abs(daylight - 0.1) / 0.1)  # as the sun comes and goes
    return [_mix(_mix(top, bottom, part / (_SKY - 1)), _DAWN, glow * (part / (_SKY - 1)) ** 2) for part in range(_SKY)]


def _lit(color: Color, light: float) -> Color:
    """Nights are not only darker, they are bluer."""
    red, green, blue = color
    return round(red * light), round(green * light), round(blue * min(1.0, light * 1.25))


def _mix(one: Color, other: Color, part: float) -> Color:
    red, green, blue = (round(a + (b - a) * part) for a, b in zip(one, other, strict=True))
    return red, green, blue
