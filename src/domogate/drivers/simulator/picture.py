"""Pictures of a simulated entrance panel: a door in a wall, the sky at the simulated time, sometimes a visitor.

The house and the land are drawn once, in palette indexes. Only the palette, the sky, the visitor and the text below differ
between pictures. So drawing a picture takes about a millisecond.
"""

import io
from datetime import UTC, datetime
from enum import IntEnum
from functools import lru_cache
from math import pi, sin

from PIL import Image, ImageDraw, ImageFont

from domogate.drivers.simulator.seeded_random import SeededRandom
from domogate.drivers.simulator.weather import Weather

WIDTH, HEIGHT = 320, 240
_HORIZON = 132
_LABEL_HEIGHT = 16
_LETTER_WIDTH = 6
_SKY = 44
"""Number of colours of the sky from top to bottom. They are the palette indexes 0 to 43."""
_DUSK = 0.12
"""The lamp at the door is on if the daylight (0 to 1) is below this value."""
_VISIT = 120.0
"""In seconds. Chance decides for each period of this length whether a visitor is there."""

Color = tuple[int, int, int]


Ink = IntEnum(
    "Ink",
    "STAR SUN MOON CLOUD HILL GRASS PATH JOINT WALL BRICK ROOF FRAME DOOR PANEL BRASS PANE LAMP HALO LIT_WALL SKIN HAIR COAT"
    " BAND TEXT",
    start=_SKY,
)
"""The palette indexes of all colours except the colours of the sky (`_SKY`), which have the first indexes."""

# Colours in full sun. They get darker when there is less daylight.
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
# Colours that are the same at every hour.
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


def draw_entrance(random: SeededRandom, weather: Weather, name: str, at: float) -> bytes:
    """Return what the camera of an entrance panel sees at this simulated time, as PNG.

    The name of the panel and the time are below the picture.
    """
    daylight, clear = weather.daylight(at), weather.clearness(at)
    image = _entrance().copy()
    draw = ImageDraw.Draw(image)
    _draw_sky(draw, at % 86_400.0 / 3600.0, daylight, clear)
    slot = int(at // _VISIT)
    if random.of("visitor", slot) < 0.5:
        _draw_visitor(draw, 208 + int(random.of("stands at", slot) * 60))
    _draw_label(draw, name, at)
    image.putpalette([part for color in _palette(daylight, clear, random.pick("coat", _COATS, slot)) for part in color])
    png = io.BytesIO()
    image.save(png, "PNG", compress_level=4)
    return png.getvalue()


@lru_cache(maxsize=1)
def _entrance() -> Image.Image:
    """Draw what is the same in every picture: the house, the land and an empty sky."""
    image = Image.new("P", (WIDTH, HEIGHT))
    draw = ImageDraw.Draw(image)
    for row in range(_HORIZON):
        _box(draw, 0, row, WIDTH, row + 1, row * _SKY // _HORIZON)
    for left in range(0, WIDTH, 4):
        height = int(10 * sin(left / 37.0) + 6 * sin(left / 13.0 + 1))
        _box(draw, left, _HORIZON - 14 - height, left + 4, _HORIZON, Ink.HILL)
    _box(draw, 0, _HORIZON, WIDTH, HEIGHT, Ink.GRASS)
    for row in range(188, HEIGHT):  # The path gets wider towards the viewer.
        joint = row >= 196 and (row - 196) % 12 == 0
        _box(draw, 58 - (row - 188), row, 122 + 2 * (row - 188), row + 1, Ink.JOINT if joint else Ink.PATH)
    _draw_house(draw)
    return image


def _draw_house(draw: ImageDraw.ImageDraw) -> None:
    _box(draw, 0, 44, 196, 190, Ink.WALL)
    for number, row in enumerate(range(52, 190, 8)):
        _box(draw, 0, row, 196, row + 1, Ink.BRICK)
        for left in range(8 * (number % 2), 196, 16):
            _box(draw, left, row, left + 1, min(row + 8, 190), Ink.BRICK)
    for row in range(26, 44):
        _box(draw, 0, row, 196 + (row - 26) // 2, row + 1, Ink.ROOF)
    draw.circle((132, 96), 26, Ink.LIT_WALL)
    _box(draw, 54, 76, 118, 190, Ink.FRAME)
    _box(draw, 60, 82, 112, 190, Ink.DOOR)
    for top, bottom in ((90, 124), (134, 180)):
        for left in (66, 89):
            _box(draw, left, top, left + 17, bottom, Ink.PANEL)
    _box(draw, 66, 90, 106, 108, Ink.PANE)
    draw.circle((104, 138), 3, Ink.BRASS)
    _box(draw, 129, 86, 136, 90, Ink.PANEL)
    draw.circle((132, 96), 9, Ink.HALO)
    draw.circle((132, 96), 5, Ink.LAMP)
    _box(draw, 152, 92, 186, 134, Ink.FRAME)
    _box(draw, 156, 96, 168, 130, Ink.PANE)
    _box(draw, 171, 96, 183, 130, Ink.PANE)


def _draw_sky(draw: ImageDraw.ImageDraw, hour: float, daylight: float, clear: float) -> None:
    """Draw the sun and clouds, or the moon and stars, to the right of the house."""
    if daylight > 0:
        way = min(max((hour - 6.0) / 12.0, 0.0), 1.0)
        if clear > 0.3:
            draw.circle((212 + int(96 * way), 92 - int(70 * sin(pi * way))), 10, Ink.SUN)
        for number in range(int((1.0 - clear) * 7)):
            x, y = 206 + (number * 47 + int(hour * 9)) % 110, 18 + number * 29 % 66
            for offset, radius in ((-9, 5), (0, 8), (9, 6)):
                draw.circle((x + offset, y), radius, Ink.CLOUD)
    else:
        draw.point([(200 + number * 73 % 118, 4 + number * 41 % 96) for number in range(26)], Ink.STAR)
        way = (hour - 18.0) % 24.0 / 12.0
        draw.circle((216 + int(88 * way), 84 - int(60 * sin(pi * way))), 8, Ink.MOON)


def _draw_visitor(draw: ImageDraw.ImageDraw, x: int) -> None:
    _box(draw, x - 15, 146, x + 16, 206, Ink.COAT)
    draw.circle((x - 8, 148), 8, Ink.COAT)
    draw.circle((x + 8, 148), 8, Ink.COAT)
    draw.circle((x, 124), 14, Ink.HAIR)
    draw.circle((x, 128), 12, Ink.SKIN)
    _box(draw, x - 12, 206, x - 2, 224, Ink.HAIR)
    _box(draw, x + 3, 206, x + 13, 224, Ink.HAIR)


def _draw_label(draw: ImageDraw.ImageDraw, name: str, at: float) -> None:
    time = datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    top = HEIGHT - _LABEL_HEIGHT
    _box(draw, 0, top, WIDTH, HEIGHT, Ink.BAND)
    left = WIDTH - 6 - len(time) * _LETTER_WIDTH
    for start, text in ((6, name[: (left - 12) // _LETTER_WIDTH]), (left, time)):
        draw.text((start, top + 2), _printable(text), Ink.TEXT, font=_font())


def _printable(text: str) -> str:
    """Return the text in letters of the font (Latin-1). Other letters become question marks, unprintable ones spaces."""
    latin = text.encode("latin-1", "replace").decode("latin-1")
    return "".join(letter if letter.isprintable() else " " for letter in latin)


@lru_cache(maxsize=1)
def _font() -> ImageFont.ImageFont:
    """Return the bitmap font of Pillow. It gives the same picture on every machine."""
    return ImageFont.load_default_imagefont()


def _box(draw: ImageDraw.ImageDraw, left: int, top: int, right: int, bottom: int, ink: int) -> None:
    """Draw a rectangle that does not include the column `right` and the row `bottom`."""
    draw.rectangle((left, top, right - 1, bottom - 1), ink)


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
    return [colors[index] for index in range(len(colors))]


def _sky(daylight: float, clear: float) -> list[Color]:
    bright = min(1.0, daylight * 3.0)
    top, bottom = (
        _mix(night, _mix(grey, day, clear), bright) for night, grey, day in zip(_NIGHT_SKY, _GREY_SKY, _DAY_SKY, strict=True)
    )
    glow = clear * max(0.0, 1.0 - abs(daylight - 0.1) / 0.1)  # at sunrise and sunset
    parts = [index / (_SKY - 1) for index in range(_SKY)]
    return [_mix(_mix(top, bottom, part), _DAWN, glow * part**2) for part in parts]


def _lit(color: Color, light: float) -> Color:
    """Return the colour in this light. At night colours are darker and bluer."""
    red, green, blue = color
    return round(red * light), round(green * light), round(blue * min(1.0, light * 1.25))


def _mix(one: Color, other: Color, part: float) -> Color:
    red, green, blue = (round(a + (b - a) * part) for a, b in zip(one, other, strict=True))
    return red, green, blue
