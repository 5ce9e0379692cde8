"""Runs the tool against the mock of the nine families, with all credentials."""

from domogate.conformance.access import Others
from domogate.conformance.exchange import Client, Credentials
from domogate.conformance.run import Outcome, Target, run
from domogate.conformance.subjects import KINDS, Named
from domogate.conformance.tokens import TokenEndpoint
from support.mock_bodies import module_in
from support.mock_families import (
    ACCESS,
    CLIENT,
    KEY,
    MODULES,
    NARROW,
    OTHER,
    REFRESH,
    SECRET,
    TOKEN,
    Change,
    mock_gateway,
)

_MODULES = {kind: MODULES[operation] for operation, kind in KINDS.items()}


def named(*plants: str) -> tuple[Named, ...]:
    """All modules of these plants. With them, every operation is called even if no topology can be read."""
    return tuple(Named(kind, plant, module_in(plant, one)) for plant in plants for kind, one in _MODULES.items())


def check(change: Change, *modules: Named, write: bool = True) -> Outcome:
    """Serve the mock with this change, and check it."""
    with mock_gateway(change) as url:
        own, access, other, narrow = (Credentials(KEY, token) for token in (TOKEN, ACCESS, OTHER, NARROW))
        endpoint = TokenEndpoint(Client(f"{url}/auth", timeout=30), CLIENT, SECRET, REFRESH)
        try:
            target = Target(url, own, access, Others(other, other, narrow, narrow), endpoint, modules=modules)
            return run(target, lambda _changes: write)
        finally:
            endpoint.client.close()
