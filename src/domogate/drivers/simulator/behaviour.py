"""The behaviour of a simulated module. The option `simulate` makes the module offline, slow or refusing."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any


class Behaviour(StrEnum):
    NORMAL = "normal"
    OFFLINE = "offline"
    """The module cannot be reached, and is reported as absent."""
    SLOW = "slow"
    """The module sends no reports, and never answers in time."""
    REFUSING = "refusing"
    """The module can be read, but refuses all commands."""


def behaviour_of(options: Mapping[str, Any]) -> Behaviour:
    """Return the behaviour that the options name. An unknown word counts as NORMAL; `find_option_problems` reports it."""
    wanted = options.get("simulate", Behaviour.NORMAL)
    return Behaviour(wanted) if wanted in tuple(Behaviour) else Behaviour.NORMAL
