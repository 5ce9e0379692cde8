"""Injected faults: faults that an operator or a developer adds to a plant or module (docs/operating-devices.md)."""

from enum import StrEnum

import msgspec

from domogate.domain.ids import Id
from domogate.domain.states import State


class InjectedFault(StrEnum):
    """The faults that can be injected. A fault whose value is a number causes an answer with this status.

    An operation that does not declare 408 answers with 500 or 404 instead. An operation that does not declare 469 or 470
    ignores the fault with this number.
    """

    OFFLINE = "offline"
    """The module is offline, and the gateway shows it as offline."""
    SLOW = "slow"
    """The module sends no reports and never answers in time."""
    REFUSING = "refusing"
    """The module can be read but refuses all commands."""
    BATTERY = "battery"
    """The module reports the battery level that `Injection.value` names (Spec 2.12)."""
    FAILURE = "failure"
    """The module reports the failure type that `Injection.value` names (Spec 2.15)."""
    TIMEOUT = "408"
    """The gateway answers immediately, as if the device had not answered in time."""
    PASSWORD = "469"
    """The gateway answers as if the user had to renew the password."""
    TERMS = "470"
    """The gateway answers as if the user had to accept the terms."""
    INTERNAL = "500"
    """The gateway answers as if it had failed."""


class Injection(msgspec.Struct, frozen=True):
    """One injected fault of a module, or of a plant (`module_id` is None). It ends at the time `until`, or when it is cleared.

    A second injection of the same fault into the same module or plant replaces the first one.
    """

    fault: InjectedFault
    module_id: Id | None = None
    value: str = ""
    until: float | None = None
    covers: State | None = None
    """For BATTERY and FAILURE: the real state of the module, while clients see the injected one.

    The store keeps the real state, and drivers use it.
    """

    def holds(self, now: float) -> bool:
        return self.until is None or now < self.until
