"""The developer API with all its operations. The pages for developers are one of its clients."""

from domogate.developer import applications, faults, keys, receivers
from domogate.domain.people import DEVELOPER_SCOPE
from domogate.http_api.credentials import DeveloperToken
from domogate.http_api.operations import Surface

SURFACE = Surface(
    name="developer",
    prefix="/developer/v1",
    description="For developers of applications: their own applications and subscription keys, receivers for testing webhooks, "
    f"and faults on demand. Every operation needs an access token with the scope {DEVELOPER_SCOPE}. "
    "No subscription key is needed.",
    operations=[*applications.OPERATIONS, *keys.OPERATIONS, *receivers.OPERATIONS, *faults.OPERATIONS],
    credentials=DeveloperToken,
    text_parameters=frozenset({"clientId"}),
    serves_head=True,
)
