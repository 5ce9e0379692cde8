"""A small picture of a few colours, drawn in rectangles, discs and letters, and written as PNG (ISO/IEC 15948)."""

import struct
import unicodedata
import zlib
from collections.abc import Sequence
from math import isqrt

Color = tuple[int, int, int]

LETTER_WIDTH, LETTER_HEIGHT = 6, 7
"""In points, the gap to the next letter included."""

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_PALETTE_OF_BYTES = struct.pack("!BBBBB", 8, 3, 0, 0, 0)
"""Eight bits a point, each the number of a colour; deflated, unfiltered, not interlaced."""

_SIGNS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789:-.,'/()&+"
# Five by seven points each; a row is five bits, the leftmost is the highest.
_POINTS = bytes.fromhex(
    "0e11111f111111 1e11111e11111e 0e11101010110e 1e11111111111e 1f10101e10101f 1f10101e101010 0e11101713110f "
    "1111111f111111 0e04040404040e 0702020202120c 11121418141211 1010101010101f 111b1515111111 11191513111111 "
    "0e11111111110e 1e11111e101010 0e11111115120d 1e11111e141211 0f10100e01011e 1f040404040404 1111111111110e "
    "11111111110a04 11111115151b11 11110a040a1111 11110a04040404 1f01020408101f 0e11131519110e 040c040404040e "
    "0e11010204081f 1f02040201110e 02060a121f0202 1f101e0101110e 0608101e11110e 1f010204080808 0e11110e11110e "
    "0e11110f01020c 000c0c000c0c00 0000001f000000 00000000000c0c 000000000c0408 04040800000000 01010204081010 "
    "02040808080402 08040202020408 0c12140815120d 0004041f040400"
)
_GLYPHS = {sign: _POINTS[7 * place : 7 * place + 7] for place, sign in enumerate(_SIGNS)}


class Canvas:
    """Points, each the number of a colour; which colour that is, is said when it is written."""

    __slots__ = ("_rows", "height", "width")

    def __init__(self, width: int, height: int) -> None:
        self.width = width
        self.height = height
        self._rows = [bytearray(width) for _ in range(height)]

    def copy(self) -> "Canvas":
        copied = Canvas(0, 0)
        copied.width, copied.height = self.width, self.height
        copied._rows = [bytearray(row) for row in self._rows]
        return copied

    def fill(self, left: int, top: int, right: int, bottom: int, ink: int) -> None:
        """A rectangle up to but without `right` and `bottom`; what is outside is cut off."""
        left, right = max(0, left), min(self.width, right)
        if left < right:
            span = bytes([ink]) * (right - left)
            for row in self._rows[max(0, top) : max(0, bottom)]:
                row[left:right] = span

    def disc(self, x: int, y: int, radius: int, ink: int) -> None:
        for down in range(-radius, radius + 1):
            half = isqrt(radius * radius - down * down)
            if 0 <= y + down < self.height:
                self.fill(x - half, y + down, x + half + 1, y + down + 1, ink)

    def write(self, left: int, top: int, text: str, ink: int) -> None:
        """In capitals; accents are left away, and of what is no letter here only the room is left."""
        for sign in unicodedata.normalize("NFKD", text).upper():
            if unicodedata.combining(sign):
                continue
            if 0 <= left <= self.width - LETTER_WIDTH and 0 <= top <= self.height - LETTER_HEIGHT:
                for row, bits in zip(self._rows[top:], _GLYPHS.get(sign, b""), strict=False):
                    for right in range(5):
                        if bits & (16 >> right):
                            row[left + right] = ink
            left += LETTER_WIDTH

    def to_png(self, palette: Sequence[Color]) -> bytes:
        points = b"".join(b"\0" + row for row in self._rows)
        return b"".join(
            (
                _SIGNATURE,
                _chunk(b"IHDR", struct.pack("!II", self.width, self.height) + _PALETTE_OF_BYTES),
                _chunk(b"PLTE", b"".join(bytes(color) for color in palette)),
                _chunk(b"IDAT", zlib.compress(points, 4)),
                _chunk(b"IEND", b""),
            )
        )


def _chunk(name: bytes, content: bytes) -> bytes:
    return struct.pack("!I", len(content)) + name + content + struct.pack("!I", zlib.crc32(name + content))
