"""Writes the error classes: one for each fault of the gateway."""

import inspect

from client_generator.models import HEADER
from client_generator.types import docstring
from domogate.domain import faults

GROUPS = {
    "CredentialsRefused": (1001, 1002, 1003),
    "TooManyRequests": (1004,),
    "AccountBlocked": (1005, 1006),
    "Forbidden": (2001,),
    "NotFound": (2002, 2003, 2004, 2005, 2006, 2007, 2008, 2010),
    "Conflict": (2011, 3006),
    "InvalidRequest": (2009, 3001, 3002, 3003, 3004, 3005, 4004),
    "DeviceFailed": (4001, 4002, 4003),
    "GatewayFailed": (5001, 5002, 5999),
}
"""The class of `domogate_client.errors` from which the class of each fault derives, by the codes of the faults."""


def find_faults() -> list[type[faults.Fault]]:
    """The faults of the gateway, ordered by code."""
    kinds = [kind for _, kind in inspect.getmembers(faults, inspect.isclass) if issubclass(kind, faults.Fault)]
    return sorted((kind for kind in kinds if kind is not faults.Fault), key=lambda kind: kind.code)


def groups_by_code() -> dict[int, str]:
    return {code: group for group, codes in GROUPS.items() for code in codes}


def about_fault(kind: type[faults.Fault]) -> str:
    return kind.__doc__ or f"The fault {kind.__name__} of the gateway."


def write_faults() -> str:
    """Return the text of `faults.py`. Fails for a fault that is in no group."""
    group_of, found = groups_by_code(), find_faults()
    needed = sorted({group_of[kind.code] for kind in found})
    names = [f"{name} as {name}" if name == "TooManyRequests" else name for name in needed]
    lines = [HEADER.format(title="An error class for each fault of the gateway (docs/errors.md)."), ""]
    lines += [f"from domogate_client.errors import {', '.join([*names, 'Refused'])}"]
    for kind in found:
        if kind.__name__ == group_of[kind.code]:
            continue
        about = docstring(about_fault(kind), 4)
        lines += ["", "", f"class {kind.__name__}({group_of[kind.code]}):", f"    {about}", "", f"    code = {kind.code}"]
    table = ", ".join(f"{kind.code}: {kind.__name__}" for kind in found)
    return "\n".join([*lines, "", "", f"BY_CODE: dict[int, type[Refused]] = {{{table}}}", ""])
