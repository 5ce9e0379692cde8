"""The management API with all its operations. Only operators may use it."""

from domogate.domain.people import MANAGE_SCOPE
from domogate.http_api.credentials import OperatorToken
from domogate.http_api.operations import Surface
from domogate.management import (
    audit,
    backups,
    clients,
    cluster,
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

SURFACE = Surface(
    name="management",
    prefix="/manage/v1",
    description="For operators: users, applications, plants with their people and devices, keys, and the audit log. "
    f"Every operation needs an access token with the scope {MANAGE_SCOPE}. The user of the token must be an operator "
    "when the request is made. No subscription key is needed.",
    operations=[
        *overview.OPERATIONS,
        *cluster.OPERATIONS,
        *users.OPERATIONS,
        *clients.OPERATIONS,
        *plants.OPERATIONS,
        *rooms.OPERATIONS,
        *estate.OPERATIONS,
        *modules.OPERATIONS,
        *module_changes.OPERATIONS,
        *discoveries.OPERATIONS,
        *readings.OPERATIONS,
        *orders.OPERATIONS,
        *safety.OPERATIONS,
        *events.OPERATIONS,
        *webhooks.OPERATIONS,
        *faults.OPERATIONS,
        *drivers.OPERATIONS,
        *keys.OPERATIONS,
        *audit.OPERATIONS,
        *backups.OPERATIONS,
        *maintenance.OPERATIONS,
        *settings.OPERATIONS,
    ],
    credentials=OperatorToken,
    text_parameters=frozenset({"clientId", "driver", "email", "number", "orderId"}),
)
