"""How a simulated module behaves: the option `simulate` (offline, slow, refusing) shows a fault on demand."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any


class Behaviour(StrEnum):
    NORMAL = "normal"
    OFFLINE = "offline"
    """Cannot be reached, and is reported so."""
    SLOW = "slow"
    """Sends no reports, and never answers in time."""
    REFUSING = "refusing"
    """Can be read, but refuses all commands."""


def behaviour_of(options: Mapping[str, Any]) -> Behaviour:
    """NORMAL for an unknown word: `find_option_problems` reports it."""
    wanted = options.get("simulate", Behaviour.NORMAL)
    return Behaviour(wanted) if wanted in tuple(Behaviour) else Behaviour.NORMAL
