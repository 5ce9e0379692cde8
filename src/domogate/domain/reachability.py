"""Why a module cannot be reached, and what shows it: for the operator, who has to go and look."""

from enum import StrEnum

import msgspec


class AbsenceReason(StrEnum):
    """The reason a module is offline. Each is something a driver has seen, not guessed."""

    NEVER_SEEN = "never seen"
    """Nothing was ever heard of it since the gateway began to listen."""
    SILENT = "silent"
    """It used to report and has not for too long."""
    SAID_SO = "said so"
    """It, or whoever speaks for it, announced that it is gone: a last will, an availability message."""
    CONNECTION_LOST = "connection lost"
    """What leads to it is gone: the broker, the bus gateway."""
    REFUSED = "refused"
    """The bus or broker would not have it: no such address, not allowed."""
    MISCONFIGURED = "misconfigured"
    """Its driver or options do not say how to reach it."""
    INJECTED = "injected"
    """A fault was injected, to see what clients make of it."""
    SIMULATED = "simulated"
    """A simulated module that plays offline."""


class Absence(msgspec.Struct, frozen=True, gc=False):
    """Since when a module cannot be reached, why, and what shows it (a topic, an address, the words of a refusal)."""

    why: AbsenceReason
    since: float
    evidence: str = ""
