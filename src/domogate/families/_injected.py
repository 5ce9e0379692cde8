"""Injected faults that do not need a device: 408, 469, 470 and 500. The checks of a request raise them (Decision 0041).

The driven plant applies the injected faults of devices (offline, slow, refusing, a battery level, a failure).
"""

from collections.abc import Sequence

from domogate.domain.faults import DeviceTimeout, Fault, Internal, PasswordToRenew, TermsToAccept
from domogate.domain.ids import Id
from domogate.domain.injections import InjectedFault, Injection
from domogate.families._call import Call
from domogate.families._family import Operation

# If several faults are injected, the first of them in this list is raised. The list has the order of the checks.
_FAULTS: tuple[tuple[InjectedFault, type[Fault], str], ...] = (
    (InjectedFault.PASSWORD, PasswordToRenew, "the user must renew their password on their account page"),
    (InjectedFault.TERMS, TermsToAccept, "the user must accept the terms and conditions on their account page"),
    (InjectedFault.INTERNAL, Internal, "the gateway failed to answer"),
    (InjectedFault.TIMEOUT, DeviceTimeout, "the device did not answer in time"),
)
# Operations that do not list these statuses ignore the fault. They also ignore a password that is really expired (Spec 7).
_ONLY_WHERE_LISTED = {InjectedFault.PASSWORD: 469, InjectedFault.TERMS: 470}


def raise_injected(injections: Sequence[Injection], operation: Operation, call: Call, module_id: Id | None, now: float) -> None:
    """Raise the fault that is injected into the plant or module of this call, if there is one."""
    active = {
        injection.fault for injection in injections if injection.holds(now) and _applies(injection, operation, call, module_id)
    }
    for fault, kind, text in _FAULTS:
        if fault in active and _ONLY_WHERE_LISTED.get(fault) in (None, *operation.errors):
            raise kind(f"{text} (an injected fault)")


def _applies(injection: Injection, operation: Operation, call: Call, module_id: Id | None) -> bool:
    """Whether the fault applies to the call.

    A fault of a plant applies to every call with this plant. A fault of a module applies to calls with this module. A fault of
    a plug also applies to E1 with the ambient of the plug.
    """
    if injection.module_id is None or injection.module_id == module_id:
        return True
    if module_id is not None or not operation.kinds:
        return False
    return any(module.id == injection.module_id and module.kind in operation.kinds for module in call.ambient.modules)
