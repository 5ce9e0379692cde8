"""The reason why a module is offline, and the evidence for it, for operators."""

from enum import StrEnum

import msgspec


class AbsenceReason(StrEnum):
    """The reason a module is offline. A driver reports only what it has observed."""

    NEVER_SEEN = "never seen"
    """The gateway has received nothing from it since the driver started."""
    SILENT = "silent"
    """It has not reported for too long."""
    SAID_SO = "said so"
    """The module, or a bridge for it, announced that it is offline: a last will, an availability message."""
    CONNECTION_LOST = "connection lost"
    """The connection to its broker or bus gateway is lost."""
    REFUSED = "refused"
    """The bus or broker refused it: no such address, not allowed."""
    MISCONFIGURED = "misconfigured"
    """Its driver or options do not define how to reach it."""
    INJECTED = "injected"
    """An offline fault is injected."""
    SIMULATED = "simulated"
    """The simulator simulates an offline module."""


class Absence(msgspec.Struct, frozen=True, gc=False):
    """Since when and why a module is offline, and the evidence (a topic, an address, the text of a refusal)."""

    why: AbsenceReason
    since: float
    evidence: str = ""
