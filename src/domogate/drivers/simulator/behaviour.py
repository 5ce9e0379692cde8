"""How a simulated module behaves: `options: {simulate: offline}` and the like show every fault on demand."""

from enum import StrEnum

import structlog

from domogate.domain.plants import Module

_log = structlog.get_logger(__name__)


class Behaviour(StrEnum):
    NORMAL = "normal"
    OFFLINE = "offline"
    """Cannot be reached, and is known not to be."""
    SLOW = "slow"
    """Says nothing by itself, and never answers in time."""
    REFUSING = "refusing"
    """Can be read, obeys nothing."""

    @property
    def is_heard(self) -> bool:
        return self in (Behaviour.NORMAL, Behaviour.REFUSING)


def behaviour_of(module: Module) -> Behaviour:
    wanted = module.options.get("simulate")
    if wanted is None:
        return Behaviour.NORMAL
    try:
        return Behaviour(wanted)
    except ValueError:
        _log.warning(
            "option 'simulate' ignored", module_id=module.id, simulate=wanted, allowed=[choice.value for choice in Behaviour]
        )
        return Behaviour.NORMAL
