"""How a simulated module behaves: `options: {simulate: offline}` and the like show every fault on demand."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any


class Behaviour(StrEnum):
    NORMAL = "normal"
    OFFLINE = "offline"
    """Cannot be reached, and is known not to be."""
    SLOW = "slow"
    """Says nothing by itself, and never answers in time."""
    REFUSING = "refusing"
    """Can be read, obeys nothing."""


def behaviour_of(options: Mapping[str, Any]) -> Behaviour:
    """What is no behaviour is told by `find_option_problems`."""
    wanted = options.get("simulate", Behaviour.NORMAL)
    return Behaviour(wanted) if wanted in tuple(Behaviour) else Behaviour.NORMAL
