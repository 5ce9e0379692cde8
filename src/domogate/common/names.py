"""Compares names that people and devices write differently."""

import re
from collections.abc import Sequence


def split_words(name: str) -> str:
    """Return the words of a name, with one space between them."""
    return " ".join(re.split(r"[\s_./-]+", name)).strip()


def match_names(wanted: str, names: Sequence[str]) -> list[int]:
    """Return the indexes of the names that are equal to `wanted`, otherwise of those that end with its words.

    Upper and lower case, and spaces, dashes, dots and slashes, are the same: `203` and `room_203` mean `Room 203`.
    """
    words, every = split_words(wanted).casefold(), [split_words(name).casefold() for name in names]
    equal = [index for index, name in enumerate(every) if name == words]
    return equal or [index for index, name in enumerate(every) if words and name.endswith(f" {words}")]
