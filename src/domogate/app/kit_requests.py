"""Finds the operation of a request, and builds refusals in the form of each surface. The faults of the test kit need both.

The test kit gives tests of applications a gateway that they control (docs/testing-apps.md).
"""

from collections.abc import Mapping, Set
from functools import cache
from typing import Any

from domogate.app.documents import SURFACES
from domogate.common.http_messages import Answer
from domogate.common.secrets import SentSecret
from domogate.domain import faults
from domogate.domain.faults import Fault
from domogate.domain.ids import DASHED_UUID, Id
from domogate.families import FAMILIES
from domogate.families._openapi import errors_of as errors_of_family
from domogate.families._routes import routes_of as routes_of_family
from domogate.families._serve import build_refusal
from domogate.http_api.openapi import errors_of
from domogate.http_api.problems import problem_of
from domogate.http_api.routes import routes_of
from domogate.identity.tokens import TokenVerifier
from domogate.services.rights.access import AUTHORIZATION, KEY, read_token
from domogate.test_api import KnownOperation, RequestFacts

_TEXT = "a fault of the test kit"
_RETRY_AFTER = 1
_FAULTS: dict[int, Fault] = {
    401: faults.TokenRefused(f"the token is not valid ({_TEXT})"),
    403: faults.NotYourPlant(f"the user has no access to this plant ({_TEXT})"),
    408: faults.DeviceTimeout(f"the device did not answer in time ({_TEXT})"),
    429: faults.TooManyRequests(f"too many requests ({_TEXT})", _RETRY_AFTER),
    469: faults.PasswordToRenew(f"the user must renew their password on their account page ({_TEXT})"),
    470: faults.TermsToAccept(f"the user must accept the terms and conditions on their account page ({_TEXT})"),
    500: faults.Internal(f"the gateway failed to answer ({_TEXT})"),
    503: faults.Internal(f"the gateway is not available now ({_TEXT})", is_temporary=True),
}
_WITHOUT_OPERATION = frozenset({401, 403, 429, 500, 503})
"""The statuses that injected faults may have for requests outside of all APIs: logins, pages, unknown paths."""

_ROUTES = {family.root.encode(): (family, routes_of_family(family)) for family in FAMILIES}
_SURFACES = {surface.prefix.split("/")[1].encode(): (surface, routes_of(surface)) for surface in SURFACES}


@cache
def list_operations() -> Mapping[str, KnownOperation]:
    """Return all operations by the name that clients of the test API use.

    Operations of the contract are also listed by their id.
    """
    of_families = [
        KnownOperation(f"{family.slug}.{one.name}", errors_of_family(one), one.id)
        for family in FAMILIES
        for one in family.operations
    ]
    of_surfaces = [
        KnownOperation(f"{surface.name}.{one.id}", frozenset(errors_of(one, surface)))
        for surface in SURFACES
        for one in surface.operations
    ]
    return {name: one for one in (*of_families, *of_surfaces) for name in (one.name, one.id) if name}


def list_statuses(operation: str | None) -> Set[int]:
    """Return the statuses with which a request of this operation may be refused.

    `operation` is None if the request belongs to no operation.
    """
    return _WITHOUT_OPERATION if operation is None else list_operations()[operation].statuses


async def find_facts(scope: Mapping[str, Any], verifier: TokenVerifier | None) -> RequestFacts:
    """Return the operation, plant, module, user and key of a request. If `verifier` is None, the user is not known."""
    headers = dict(scope["headers"])
    key = headers.get(KEY)
    operation, plant_id, module_id = _find_target(scope)
    return RequestFacts(
        operation,
        plant_id,
        module_id,
        None if verifier is None else await _find_user(verifier, headers),
        None if key is None else SentSecret(key).digest.hex(),
    )


def _find_target(scope: Mapping[str, Any]) -> tuple[str | None, Id | None, Id | None]:
    method, path = scope["method"], scope["raw_path"]
    root = _root_of(path)
    if root in _ROUTES:
        try:
            target = _ROUTES[root][1].parse(method, path)
        except Fault:
            return None, None, None
        return f"{_ROUTES[root][0].slug}.{target.operation.name}", target.plant_id, target.module_id
    if root in _SURFACES:
        surface, routes = _SURFACES[root]
        methods, parameters = routes.find(path) or ({}, {})
        if method in methods:
            plant = parameters.get("plantId") or parameters.get("homeId") or ""
            module = parameters.get("moduleId", "")
            return f"{surface.name}.{methods[method].id}", DASHED_UUID.parse_id(plant), DASHED_UUID.parse_id(module)
    return None, None, None


async def _find_user(verifier: TokenVerifier, headers: Mapping[bytes, bytes]) -> Id | None:
    try:
        token = SentSecret(read_token(headers.get(AUTHORIZATION)))
        return (verifier.find_verified(token) or await verifier.verify(token)).user_id
    except Fault:
        return None


def refuse(scope: Mapping[str, Any], status: int) -> Answer:
    """Return a refusal with this status. Its form is the form of the family or API that the path of the request names."""
    root, fault = _root_of(scope["raw_path"]), _FAULTS[status]
    if root not in _ROUTES:
        return problem_of(fault).to_answer()
    return build_refusal(_ROUTES[root][0], status, fault)


def _root_of(path: bytes) -> bytes:
    return path.split(b"/", 2)[1] if path.startswith(b"/") else b""
