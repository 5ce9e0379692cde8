"""What a simulated module's `options` may say: one table, which the estate file's check and the simulator itself read."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec

from domogate.domain.devices import DeviceKind
from domogate.drivers.simulator.behaviour import Behaviour

Problem = tuple[tuple[str | int, ...], str]
"""Where inside the options, and what is wrong, in words."""


class Option(msgspec.Struct, frozen=True):
    """One option: which kinds have it (none named: all), whether a value will do, and what would."""

    allows: Callable[[Any], bool]
    wanted: str
    kinds: frozenset[DeviceKind] = frozenset()

    def is_of(self, kind: DeviceKind) -> bool:
        return not self.kinds or kind in self.kinds


def _within(low: float, high: float) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, int | float) and not isinstance(value, bool) and low <= value <= high


def _whole(low: int, high: int) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, int) and not isinstance(value, bool) and low <= value <= high


def _one_of(words: tuple[str, ...]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, str) and value in words


OPTIONS: dict[str, Option] = {
    "simulate": Option(_one_of(tuple(Behaviour)), f"one of {', '.join(Behaviour)}"),
    "watts": Option(_within(0, 100_000), "a number within 0..100000", frozenset({DeviceKind.PLUG})),
    "sockets": Option(_whole(1, 32), "a whole number within 1..32", frozenset({DeviceKind.MULTISOCKET})),
}


def find_option_problems(kind: DeviceKind, options: Mapping[str, Any]) -> Iterator[Problem]:
    """All that keeps a module of this kind from being simulated as its options say."""
    for name, value in options.items():
        option = OPTIONS.get(name)
        if option is None or not option.is_of(kind):
            known = ", ".join(sorted(known for known, option in OPTIONS.items() if option.is_of(kind)))
            yield (name,), f"a simulated {kind} has no such option; it has: {known}"
        elif not option.allows(value):
            yield (name,), f"must be {option.wanted}"
