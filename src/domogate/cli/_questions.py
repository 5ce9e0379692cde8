"""Questions at a terminal. A wrong answer is explained, and the question is asked again."""

from collections.abc import Callable
from enum import StrEnum
from typing import TypeVar

import click

from domogate.cli._output import note
from domogate.domain.formats import NAME_LENGTH, is_name
from domogate.services.people import check_email
from domogate.services.refusals import Invalid

T = TypeVar("T")
W = TypeVar("W", bound=StrEnum)


def ask(question: str, parse: Callable[[str], T]) -> T:
    """Ask until `parse` accepts the answer, and return the parsed value.

    `parse` raises a ValueError that says what is wrong.
    """
    while True:
        try:
            return parse(str(click.prompt(question, err=True)).strip())
        except ValueError as wrong:
            note(f"{wrong}.")


def ask_name(question: str) -> str:
    return ask(question, parse_name)


def ask_email(question: str) -> str:
    return ask(question, parse_email)


def ask_number(question: str, most: int) -> int:
    """Ask the person for a number from 1 to `most`, and return it."""

    def parse(text: str) -> int:
        if not (text.isdecimal() and len(text) < 10 and 1 <= int(text) <= most):
            raise ValueError(f"{text!r} is not a number from 1 to {most}")
        return int(text)

    return ask(f"{question} (1 to {most})", parse)


def ask_word(question: str, words: type[W]) -> W:
    """Ask for one of the values of the enumeration, in upper or lower case."""
    allowed = ", ".join(words)

    def parse(text: str) -> W:
        try:
            return words(text.lower())
        except ValueError:
            raise ValueError(f"{text!r} is not one of {allowed}") from None

    return ask(f"{question} ({allowed})", parse)


def parse_name(text: str) -> str:
    if not text or not is_name(text):
        raise ValueError(f"a name has 1 to {NAME_LENGTH} characters, and no control characters")
    return text


def parse_email(text: str) -> str:
    try:
        return check_email(text)
    except Invalid as refused:
        raise ValueError(str(refused).rstrip(".")) from None
