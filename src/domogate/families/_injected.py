"""Faults on demand in which no device takes part: 408, 469, 470 and 500, told at the door (Decision 0041).

What a device is made to suffer (offline, slow, refusing, a battery level, a failure) is not known here: its effects show.
"""

from collections.abc import Sequence

from domogate.domain.faults import DeviceTimeout, Fault, Internal, PasswordToRenew, TermsToAccept
from domogate.domain.ids import Id
from domogate.domain.injections import InjectedFault, Injection
from domogate.families._call import Call
from domogate.families._family import Operation

# Of several at once the first is told: the order in which their causes would be found.
_TOLD: tuple[tuple[InjectedFault, type[Fault], str], ...] = (
    (InjectedFault.PASSWORD, PasswordToRenew, "the user must renew their password on their account page"),
    (InjectedFault.TERMS, TermsToAccept, "the user must accept the terms and conditions on their account page"),
    (InjectedFault.INTERNAL, Internal, "the gateway failed to answer"),
    (InjectedFault.TIMEOUT, DeviceTimeout, "the device did not answer in time"),
)
# As with a user who really owes something: other operations go on (Spec 7).
_ONLY_WHERE_LISTED = {InjectedFault.PASSWORD: 469, InjectedFault.TERMS: 470}


def raise_injected(injections: Sequence[Injection], operation: Operation, call: Call, module_id: Id | None, now: float) -> None:
    """Raise the fault that was injected into what the call names; its status is the ladder's to choose."""
    suffered = {
        injection.fault for injection in injections if injection.holds(now) and _touches(injection, operation, call, module_id)
    }
    for fault, kind, words in _TOLD:
        if fault in suffered and _ONLY_WHERE_LISTED.get(fault) in (None, *operation.errors):
            raise kind(f"{words} (a fault injected by the operator)")


def _touches(injection: Injection, operation: Operation, call: Call, module_id: Id | None) -> bool:
    """The plant's touch all that names the plant; a module's what names the module, or the ambient it is asked through (E1)."""
    if injection.module_id is None or injection.module_id == module_id:
        return True
    if module_id is not None or not operation.kinds:
        return False
    return any(module.id == injection.module_id and module.kind in operation.kinds for module in call.ambient.modules)
