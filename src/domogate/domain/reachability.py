"""The reason why a module is offline, and the evidence for it, for operators."""

from enum import StrEnum
from typing import Self

import msgspec


class AbsenceReason(StrEnum):
    """The reason why a module is offline. A driver reports only reasons that it has observed."""

    NEVER_SEEN = "never seen"
    """The driver has not got anything from the module yet."""
    SILENT = "silent"
    """The module has not reported for too long."""
    ANNOUNCED = "said so"
    """The module or its bridge announced that the module is offline, by a last will or an availability message."""
    CONNECTION_LOST = "connection lost"
    """The connection to the broker or OpenWebNet gateway of the module is lost, or its driver is not running."""
    REFUSED = "refused"
    """The broker or OpenWebNet gateway refused the login of Domogate, or the topic or address of this module."""
    MISCONFIGURED = "misconfigured"
    """The settings of the driver or the options of the module are wrong."""
    INJECTED = "injected"
    """An offline fault is injected."""
    SIMULATED = "simulated"
    """The simulator simulates an offline module."""


class Evidence(StrEnum):
    """The sentences that can be the evidence for an absence. A name in braces stands for a value.

    The management API uses the name of the constant, in lower case, as the code of the sentence: for example `no_broker`.
    """

    NO_BROKER = "no MQTT broker is set; set it in the console, on the page Drivers"
    BROKER_MISSING = "the option broker is missing; there are {brokers}"
    BROKER_UNKNOWN = "there is no MQTT broker '{broker}'; there are {brokers}"
    TOPIC_REFUSED = "the broker does not let the gateway subscribe to {topic}: {answer}"
    TOPIC_NEVER_HEARD = "no message on {topic} since the gateway subscribed to it"
    TOPIC_SILENT = "no message on {topic} for {seconds} seconds"
    NO_DRIVER = "no driver '{driver}' is configured"
    DRIVER_STARTING = "the driver '{driver}' is starting"
    DRIVER_STOPPED = "the driver '{driver}' is stopped"
    MODULE_FAULT = "injected for this module"
    PLANT_FAULT = "injected for the whole plant"


class Absence(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """The time at which a module went offline, the reason, and the evidence.

    The evidence is a sentence of `Evidence` or another text, for example the text of an error.
    """

    why: AbsenceReason
    since: float
    evidence: str = ""
    code: str = ""
    """The code of the evidence, so that a page can show it in the person's language. Empty for a text not in `Evidence`."""
    values: dict[str, str] = {}

    @classmethod
    def of(cls, why: AbsenceReason, since: float, evidence: Evidence, **values: str) -> Self:
        return cls(why, since, evidence.format(**values), evidence.name.lower(), values)
