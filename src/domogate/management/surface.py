"""The management API with all its operations. Only operators may use it."""

from domogate.domain.people import MANAGE_SCOPE
from domogate.http_api.app import SurfaceApp
from domogate.http_api.credentials import Operator, OperatorToken
from domogate.http_api.operations import Surface
from domogate.management import (
    audit,
    backups,
    clients,
    discoveries,
    drivers,
    estate,
    events,
    faults,
    keys,
    maintenance,
    module_changes,
    modules,
    orders,
    overview,
    plants,
    readings,
    rooms,
    safety,
    settings,
    users,
    webhooks,
)
from domogate.management.services import ManagementServices
from domogate.ports import Verifier

_SUBJECTS = (
    overview,
    users,
    clients,
    plants,
    rooms,
    estate,
    modules,
    module_changes,
    discoveries,
    readings,
    orders,
    safety,
    events,
    webhooks,
    faults,
    drivers,
    keys,
    audit,
    backups,
    maintenance,
    settings,
)

SURFACE = Surface(
    name="management",
    prefix="/manage/v1",
    description="For operators: users, applications, plants with their people and devices, keys, and the audit log. "
    f"Every operation needs an access token with the scope {MANAGE_SCOPE} whose user is an operator at that time. "
    "No subscription key is needed.",
    operations=[operation for subject in _SUBJECTS for operation in subject.OPERATIONS],
    credentials=OperatorToken,
    text_parameters=frozenset({"clientId", "driver", "email", "number", "orderId"}),
)


def build(
    services: ManagementServices, verifier: Verifier, *, base_url: str, version: str, max_body: int = 65_536
) -> SurfaceApp[ManagementServices, Operator]:
    credentials = OperatorToken(verifier, services.store, services.audit)
    return SurfaceApp(SURFACE, services, credentials, base_url=base_url, version=version, max_body=max_body)
