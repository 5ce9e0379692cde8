"""Declarations of options and arguments, and the click parameters that are built from them.

A parameter of a command is declared as `Annotated[TYPE, option(…)]`. The flag has the name of the parameter,
unless the declaration names another flag.
"""

import inspect
from enum import StrEnum
from math import isnan
from pathlib import Path
from typing import Any, NamedTuple, get_args, get_origin

import click

from domogate.settings.declared import without_none

OPTIONS = "Options"


class Declared(NamedTuple):
    """The declaration of an option or argument: how it is shown and checked.

    Its type and its default come from the parameter of the function.
    """

    help: str
    metavar: str | None = None
    names: tuple[str, ...] = ()
    is_argument: bool = False
    min: float | None = None
    max: float | None = None
    panel: str = OPTIONS
    """The heading under which the help shows the option."""
    show_default: bool = True


def option(
    metavar: str | None,
    help: str,
    *names: str,
    min: float | None = None,
    max: float | None = None,
    panel: str = OPTIONS,
    show_default: bool = True,
) -> Declared:
    """Declare an option that has a value. `names` are its flags, if they differ from the name of the parameter."""
    return Declared(help, metavar, names, min=min, max=max, panel=panel, show_default=show_default)


def flag(name: str, help: str) -> Declared:
    """Declare an option without a value. `--on/--off` declares a flag for each of the two values."""
    return Declared(help, None, (name,))


def argument(metavar: str, help: str) -> Declared:
    return Declared(help, metavar, is_argument=True)


class PlainOption(click.Option):
    panel = OPTIONS


class _Word(click.ParamType[StrEnum]):
    """A parameter type of click: one of the values of an enumeration."""

    name = "word"

    def __init__(self, words: type[StrEnum]) -> None:
        self._words = words

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> StrEnum:
        if value not in list(self._words):
            self.fail(f"{value!r} is not one of {', '.join(self._words)}.", param, ctx)
        return self._words(value)


class _Number(click.ParamType[float]):
    """A parameter type of click: a number between two bounds. None means no bound."""

    name = "number"

    def __init__(self, kind: type[int] | type[float], least: float | None, most: float | None) -> None:
        self._type = click.INT if kind is int else click.FLOAT
        self._least, self._most = least, most

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        number = self._type.convert(value, param, ctx)
        if isnan(number):
            self.fail(f"{value!r} is not a number.", param, ctx)
        if self._least is not None and number < self._least:
            self.fail(f"{number} is less than {self._least}.", param, ctx)
        if self._most is not None and number > self._most:
            self.fail(f"{number} is more than {self._most}.", param, ctx)
        return number


def build_parameter(parameter: inspect.Parameter) -> click.Parameter:
    """Return the click parameter for a parameter of a function. The annotation of the parameter contains its declaration."""
    annotated, declared = get_args(parameter.annotation)
    kind = without_none(annotated)
    is_list = get_origin(kind) is list
    if is_list:
        (kind,) = get_args(kind)
    is_required = parameter.default is inspect.Parameter.empty
    # click does not ask for a required option that has a default, even if the default is None.
    defaults = {} if is_required else {"default": parameter.default}
    help = declared.help
    if _is_word(kind) and ", ".join(kind) not in help:
        help = f"{help} One of: {', '.join(kind)}."
    if declared.is_argument:
        shown = f"{declared.metavar}..." if is_list else declared.metavar
        return click.Argument(
            [parameter.name],
            type=_build_type(kind, declared),
            nargs=-1 if is_list else 1,
            metavar=shown if is_required else f"[{shown}]",
            required=is_required,
            help=help,
            **({} if defaults.get("default") is None else defaults),
        )
    names = [parameter.name, *(declared.names or (f"--{parameter.name.replace('_', '-')}",))]
    if kind is bool:
        chosen = PlainOption(names, is_flag=True, help=help, **defaults)
    else:
        chosen = PlainOption(
            names,
            type=_build_type(kind, declared),
            multiple=is_list,
            metavar=declared.metavar or ("WORD" if _is_word(kind) else "VALUE"),
            help=help,
            required=is_required,
            show_default=declared.show_default and defaults.get("default") not in (None, ""),
            **defaults,
        )
    chosen.panel = declared.panel
    return chosen


def read_arguments(values: dict[str, Any]) -> dict[str, Any]:
    """Return the values of click's parameters in the form that the functions of the commands expect.

    click gives a tuple for a parameter that may be repeated. The tuple becomes a list; an empty tuple becomes None.
    """
    return {name: list(value) or None if isinstance(value, tuple) else value for name, value in values.items()}


def _is_word(kind: Any) -> bool:
    return inspect.isclass(kind) and issubclass(kind, StrEnum)


def _build_type(kind: Any, declared: Declared) -> click.ParamType[Any]:
    if _is_word(kind):
        return _Word(kind)
    if kind in (int, float):
        return _Number(kind, declared.min, declared.max)
    return click.Path(path_type=Path) if kind is Path else click.STRING
