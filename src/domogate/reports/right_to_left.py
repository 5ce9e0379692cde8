"""Converts text that is written from right to left, for a PDF library that writes only from left to right.

The form of an Arabic letter depends on its neighbours. Unicode has a code for each form (presentation forms), and tables that
map each of these codes to its letter. These codes and tables are enough for names, so no library for text shaping is needed.
"""

import unicodedata
from functools import cache

_RIGHT_TO_LEFT = frozenset({"R", "AL"})
_LAM = "\u0644"

Forms = dict[str, str]
"""The codes of a letter: isolated, initial, medial, final. A letter without an initial form does not join the next letter."""


def is_right_to_left(text: str) -> bool:
    return any(unicodedata.bidirectional(letter) in _RIGHT_TO_LEFT for letter in text)


def to_visual(line: str) -> str:
    """Return the letters of the line in visual order, from left to right.

    Do not wrap the result: the beginning of the text would be in the last line.
    """
    if not is_right_to_left(line):
        return line
    from fpdf.bidi import BidiParagraph

    return BidiParagraph(_join(line)).get_reordered_string()


def _join(line: str) -> str:
    letters = _ligate(line)
    joined = []
    for number, letter in enumerate(letters):
        forms = _forms().get(letter)
        if forms is None:
            joined.append(letter)
            continue
        before = _forms().get(letters[number - 1], {}) if number else {}
        after = _forms().get(letters[number + 1], {}) if number + 1 < len(letters) else {}
        joins_before = "initial" in before and "final" in forms
        joins_after = "initial" in forms and "final" in after
        place = {(False, False): "isolated", (False, True): "initial", (True, True): "medial", (True, False): "final"}[
            joins_before, joins_after
        ]
        joined.append(forms.get(place, letter[0]))
    return "".join(joined)


def _ligate(line: str) -> list[str]:
    """Return the letters of the line. A lam and the alef after it are one item of the list.

    In Arabic, these two letters are always written as one character.
    """
    letters: list[str] = []
    for letter in line:
        if letters and letters[-1] == _LAM and _LAM + letter in _forms():
            letters[-1] += letter
        else:
            letters.append(letter)
    return letters


@cache
def _forms() -> dict[str, Forms]:
    found: dict[str, Forms] = {}
    for code in range(0xFB50, 0xFEFD):
        place, *bases = unicodedata.decomposition(chr(code)).split() or [""]
        letters = "".join(chr(int(base, 16)) for base in bases)
        if place in ("<isolated>", "<initial>", "<medial>", "<final>") and (len(letters) == 1 or _is_lam_alef(letters)):
            found.setdefault(letters, {}).setdefault(place.strip("<>"), chr(code))
    return found


def _is_lam_alef(letters: str) -> bool:
    return len(letters) == 2 and letters[0] == _LAM and letters[1] in "\u0622\u0623\u0625\u0627"
