"""Chooses the font of a report.

Every PDF reader has Helvetica, which has the letters of western Europe. If a text has other letters, the PDF
contains the installed font of `CANDIDATES` that has the largest number of these letters. If this font does not have a letter, a
similar text is printed, for example the letter without its accent. If there is no similar text, a question mark is printed.
"""

import unicodedata
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import msgspec

from domogate.reports.right_to_left import to_visual

HELVETICA = "helvetica"

FOLDERS = (
    Path("/usr/share/fonts"),
    Path("/usr/local/share/fonts"),
    Path("/Library/Fonts"),
    Path("/System/Library/Fonts/Supplemental"),
    Path("C:/Windows/Fonts"),
)
CANDIDATES = (
    ("DejaVuSansCondensed.ttf", "DejaVuSansCondensed-Bold.ttf"),
    ("DejaVuSans.ttf", "DejaVuSans-Bold.ttf"),
    ("NotoSans-Regular.ttf", "NotoSans-Bold.ttf"),
    ("LiberationSans-Regular.ttf", "LiberationSans-Bold.ttf"),
    ("Arial Unicode.ttf", "Arial Bold.ttf"),
    ("arial.ttf", "arialbd.ttf"),
)

# Latin-1 does not have these characters, and NFKD does not decompose them.
_SPELLED = str.maketrans(
    {"–": "-", "—": "-", "‘": "'", "’": "'", "“": '"', "”": '"', "…": "...", "€": "EUR", "ł": "l", "Ł": "L", "đ": "d", "Đ": "D"}
    | {"ı": "i", "œ": "oe", "Œ": "OE", "•": "*"}
)


class Typeface(msgspec.Struct, frozen=True):
    """The font of a report. Without the font files `regular` and `bold`, it is Helvetica.

    `letters` are the code points that both files have.
    """

    regular: Path | None = None
    bold: Path | None = None
    letters: frozenset[int] = frozenset()

    def clean(self, text: str) -> str:
        """Return the text with only the characters that the font can print. The number of lines stays the same."""
        lines = text.replace("\r\n", "\n").replace("\r", "\n").replace("\t", " ")
        # Composed: an accent and its letter become one character. Control characters are removed.
        visible = "".join(letter for letter in unicodedata.normalize("NFC", lines) if letter == "\n" or _is_visible(letter))
        ordered = "\n".join(to_visual(line) for line in visible.split("\n")) if self.letters else visible
        return "".join(letter if self._knows(letter) else self._replace(letter) for letter in ordered)

    def _knows(self, letter: str) -> bool:
        return letter == "\n" or (ord(letter) in self.letters if self.letters else letter.isprintable() and ord(letter) < 256)

    def _replace(self, letter: str) -> str:
        if unicodedata.category(letter) in ("Mn", "Me"):
            return ""  # The character is an accent: only its letter is kept.
        spelled = unicodedata.normalize("NFKD", letter.translate(_SPELLED))
        return "".join(one for one in spelled if not unicodedata.combining(one) and self._knows(one)) or "?"


def _is_visible(letter: str) -> bool:
    return unicodedata.category(letter) not in ("Cc", "Cf", "Cs")


def choose_typeface(texts: Iterable[str]) -> Typeface:
    """Return Helvetica if all letters of the texts are in Latin-1, or can be replaced by ASCII as in `_SPELLED`.

    Otherwise return the installed font of `CANDIDATES` that has the largest number of the other letters. A letter counts only
    if the regular and the bold file of the font have it. A font without all printable ASCII letters is not chosen. If no font
    has any of the other letters, return Helvetica.
    """
    letters = {ord(letter) for text in texts for letter in unicodedata.normalize("NFC", text) if _is_visible(letter)}
    foreign = {letter for letter in letters if letter > 255 and not chr(letter).translate(_SPELLED).isascii()}
    if not foreign:
        return Typeface()
    best = Typeface()
    for regular, bold in CANDIDATES:
        found = _find(regular), _find(bold)
        if found[0] is None or found[1] is None:
            continue
        known = _letters_of(found[0]) & _letters_of(found[1])
        if len(foreign & known) > len(foreign & best.letters) and set(range(32, 127)) <= known:
            best = Typeface(found[0], found[1], known)
    return best


def _find(name: str) -> Path | None:
    for folder in FOLDERS:
        if folder.is_dir():
            # Sorted, so that the same file is always chosen.
            for path in sorted(folder.rglob(name)):
                return path
    return None


@cache
def _letters_of(path: Path) -> frozenset[int]:
    from fontTools.ttLib import TTFont  # comes with fpdf2

    with TTFont(path, lazy=True) as font:
        return frozenset(font.getBestCmap())
