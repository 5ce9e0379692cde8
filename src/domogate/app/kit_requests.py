"""Finds the operation of a request, and builds refusals in the form of each surface, for the faults of the test kit."""

from collections.abc import Mapping
from functools import cache
from typing import Any

import msgspec

from domogate.app.documents import SURFACES
from domogate.common.http_messages import Answer
from domogate.common.secrets import SentSecret
from domogate.domain import faults
from domogate.domain.faults import Fault
from domogate.domain.ids import DASHED_UUID, Id
from domogate.families import FAMILIES
from domogate.families._family import Family
from domogate.families._routes import Routes
from domogate.families._serve import build_refusal
from domogate.http_api.operations import Surface
from domogate.http_api.problems import Problem, problem_of
from domogate.http_api.routes import routes_of
from domogate.identity.tokens import TokenVerifier
from domogate.services.rights.access import AUTHORIZATION, KEY, read_token
from domogate.test_api import RequestFacts

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
    503: faults.Internal(f"the gateway is not available now ({_TEXT})"),
}
_ONLY_WHERE_LISTED = frozenset({469, 470})
"""An operation that does not list these statuses never answers with them, so it ignores the fault (Spec 7)."""

_ROUTES = {family.root.encode(): (family, Routes(family)) for family in FAMILIES}
_SURFACES = {surface.prefix.split("/")[1].encode(): (surface, routes_of(surface)) for surface in SURFACES}


@cache
def _list_asking() -> dict[str, bool]:
    """Return for each operation whether it asks the user to renew the password or to accept the terms (469 and 470)."""
    of_families = {operation.id: 469 in operation.errors for family in FAMILIES for operation in family.operations}
    of_surfaces = {surface.metrics_label_of(one): _asks(surface) for surface in SURFACES for one in surface.operations}
    return of_families | of_surfaces


def list_operations() -> frozenset[str]:
    """Return the names of all operations, as the traffic and the metrics show them."""
    return frozenset(_list_asking())


def may_answer(operation: str, status: int) -> bool:
    return status not in _ONLY_WHERE_LISTED or _list_asking()[operation]


async def find_facts(scope: Mapping[str, Any], verifier: TokenVerifier | None) -> RequestFacts:
    """Return the operation, plant, module, user and key of a request. Without `verifier`, the user is not known."""
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
        return target.operation.id, target.plant_id, target.module_id
    if root in _SURFACES:
        surface, routes = _SURFACES[root]
        methods, parameters = routes.find(path) or ({}, {})
        if method in methods:
            plant = parameters.get("plantId") or parameters.get("homeId") or ""
            module = parameters.get("moduleId", "")
            return surface.metrics_label_of(methods[method]), DASHED_UUID.parse_id(plant), DASHED_UUID.parse_id(module)
    return None, None, None


async def _find_user(verifier: TokenVerifier, headers: Mapping[bytes, bytes]) -> Id | None:
    try:
        token = SentSecret(read_token(headers.get(AUTHORIZATION)))
        return (verifier.find_verified(token) or await verifier.verify(token)).user_id
    except Fault:
        return None


def refuse(scope: Mapping[str, Any], status: int) -> Answer | None:
    """Return a refusal with this status. Return None if the operation never answers with this status."""
    root = _root_of(scope["raw_path"])
    fault = _FAULTS[status]
    if root in _ROUTES:
        family, routes = _ROUTES[root]
        return _refuse_in_family(family, routes, scope, status)
    if status in _ONLY_WHERE_LISTED and not (root in _SURFACES and _asks(_SURFACES[root][0])):
        return None
    problem = problem_of(fault)
    headers = {**problem.headers, "retry-after": str(_RETRY_AFTER)} if status == 503 else problem.headers
    return Problem(status, problem.detail, headers).to_answer()


def _refuse_in_family(family: Family, routes: Routes, scope: Mapping[str, Any], status: int) -> Answer | None:
    try:
        listed = routes.parse(scope["method"], scope["raw_path"]).operation.errors
    except Fault:
        listed = frozenset()
    if status in _ONLY_WHERE_LISTED and status not in listed:
        return None
    answer = build_refusal(family, status, _FAULTS[status])
    if status == 503:
        answer = msgspec.structs.replace(answer, headers=[*answer.headers, (b"retry-after", b"%d" % _RETRY_AFTER)])
    return answer


def _asks(surface: Surface) -> bool:
    return 469 in surface.credentials.errors


def _root_of(path: bytes) -> bytes:
    return path.split(b"/", 2)[1] if path.startswith(b"/") else b""
