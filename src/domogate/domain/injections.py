"""Faults on demand: what an operator or the developer of an app has a plant or module suffer (docs/operating-devices.md)."""

from enum import StrEnum

import msgspec

from domogate.domain.ids import Id
from domogate.domain.states import State


class InjectedFault(StrEnum):
    """What can be injected. The numbers are faults of the gateway itself, told by the status their ladder begins with."""

    OFFLINE = "offline"
    """Cannot be reached, and is known not to be."""
    SLOW = "slow"
    """Says nothing by itself, and never answers in time."""
    REFUSING = "refusing"
    """Can be read, obeys nothing."""
    BATTERY = "battery"
    """Reports the battery level that `value` names (Spec 2.12)."""
    FAILURE = "failure"
    """Reports the failure type that `value` names (Spec 2.15)."""
    TIMEOUT = "408"
    """No device answers in time, at once."""
    PASSWORD = "469"
    """The companion password of whoever asks is to be renewed."""
    TERMS = "470"
    """The companion terms are to be accepted."""
    INTERNAL = "500"
    """The gateway fails."""


class Injection(msgspec.Struct, frozen=True):
    """One fault of one module, or of the whole plant (`module_id` None), until a time or until it is cleared.

    There is one of each fault for each module: injecting it again replaces it.
    """

    fault: InjectedFault
    module_id: Id | None = None
    value: str = ""
    until: float | None = None
    covers: State | None = None
    """BATTERY and FAILURE of a module: the state it had before. The store keeps it; drivers go on from it after a restart."""

    def holds(self, now: float) -> bool:
        return self.until is None or now < self.until
