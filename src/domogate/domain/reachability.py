"""The reason why a module is offline, and the evidence for it, for operators."""

from enum import StrEnum

import msgspec


class AbsenceReason(StrEnum):
    """The reason why a module is offline. A driver reports only reasons that it has observed."""

    NEVER_SEEN = "never seen"
    """The module has not sent anything since the driver started."""
    SILENT = "silent"
    """The module has not reported for too long."""
    ANNOUNCED = "said so"
    """The module or its bridge announced that the module is offline, by a last will or an availability message."""
    CONNECTION_LOST = "connection lost"
    """The connection to the broker or bus gateway of the module is lost, or the driver of the module is not running."""
    REFUSED = "refused"
    """The bus gateway or broker refused the login of Domogate, or refused the address or the topic of this module."""
    MISCONFIGURED = "misconfigured"
    """The settings of the driver or the options of the module are wrong."""
    INJECTED = "injected"
    """An offline fault is injected."""
    SIMULATED = "simulated"
    """The simulator simulates an offline module."""


class Absence(msgspec.Struct, frozen=True, gc=False):
    """The time since which a module is offline, the reason, and the evidence (a topic, an address, the text of a refusal)."""

    why: AbsenceReason
    since: float
    evidence: str = ""
