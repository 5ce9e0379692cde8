"""Mistakes in an estate file: the place, the problem, and the allowed values."""

import re
from collections.abc import Iterable, Sequence

from domogate.common.names import find_near
from domogate.domain.estate import Mistake

Path = tuple[str | int, ...]

_WORD = re.compile(r"[A-Za-z_$][A-Za-z0-9_$-]*").fullmatch
_LONGEST_QUOTE = 60


class EstateMistakes(Exception):
    """The estate file has mistakes, so nothing is imported. The exception has all mistakes, in the order of the file."""

    def __init__(self, source: str, mistakes: Iterable[Mistake]) -> None:
        self.source = source
        self.mistakes = tuple(sorted(set(mistakes)))
        super().__init__(source, self.mistakes)

    def lines(self) -> list[str]:
        """Return one line for each mistake, such as `estate.yaml:14:12 plants[0].type: 'castle' is not …`."""
        return [f"{self.source}:{mistake}" for mistake in self.mistakes]

    def __str__(self) -> str:
        return "\n".join(self.lines())


def print_path(path: Sequence[str | int]) -> str:
    """Return the path as text, for example `plants[0].floors[1].name`."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        elif _WORD(step):
            text += f".{step}" if text else step
        else:
            text += f"[{quoted(step)}]"
    return text


def quoted(value: object) -> str:
    """Return a value as text for a message. Text is in quotes, and a long value is shortened."""
    text = repr(value) if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else str(value)
    return text if len(text) <= _LONGEST_QUOTE else f"{text[: _LONGEST_QUOTE - 2]}…{text[-1]}"


def listed(words: Iterable[object]) -> str:
    return ", ".join(str(word) for word in words)


def did_you_mean(word: object, candidates: Iterable[str], similarity: float = 0.6) -> str:
    """Return a question such as "Did you mean 'light'?" if one of the candidates is similar to the word.

    Otherwise return an empty text.
    """
    near = find_near(word, candidates, similarity) if isinstance(word, str) else None
    return f"Did you mean {near!r}?" if near is not None else ""
