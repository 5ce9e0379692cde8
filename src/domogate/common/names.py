"""Compares names that people and devices write differently."""

import re
from collections.abc import Iterable, Sequence

_LONGEST_WANTED = 60
"""The longest text, in characters, for which `find_near` searches. The search for a longer text would take too long."""


def space_words(name: str) -> str:
    """Return the name with one space between its words, instead of underscores, dots, slashes and hyphens."""
    return " ".join(re.split(r"[\s_./-]+", name)).strip()


def match_names(wanted: str, names: Sequence[str]) -> list[int]:
    """Return the indexes of the names that are equal to `wanted`.

    If no name is equal, return the indexes of the names that end with the words of `wanted`.

    Upper and lower case count as the same. Spaces, dashes, dots, slashes and underscores count as the same. For example,
    `room_203` is equal to `Room 203`, and `Room 203` ends with the words of `203`.
    """
    words, every = space_words(wanted).casefold(), [space_words(name).casefold() for name in names]
    equal = [index for index, name in enumerate(every) if name == words]
    return equal or [index for index, name in enumerate(every) if words and name.endswith(f" {words}")]


def find_near(wanted: str, names: Iterable[str], similarity: float = 0.6) -> str | None:
    """Return the name that is most similar to `wanted`. Return None if no name is similar enough, or `wanted` is very long."""
    if len(wanted) > _LONGEST_WANTED:
        return None
    from difflib import get_close_matches  # Imported here, because only mistakes need it.

    by_fold = {name.casefold(): name for name in names}
    near = get_close_matches(wanted.casefold(), by_fold, n=1, cutoff=similarity)
    return by_fold[near[0]] if near else None


def first_capital(words: str) -> str:
    """Return the text with a capital first letter. `str.capitalize` would also change the other letters: NFC to Nfc."""
    return words[:1].upper() + words[1:]


def to_camel_case(name: str) -> str:
    """Return the name in camel case: `readLight` for `read_light`."""
    first, *others = name.split("_")
    return first + "".join(map(str.capitalize, others))
