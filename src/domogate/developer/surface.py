"""The developer API with all its operations. The pages for developers are one of its clients."""

from domogate.developer import applications, faults, keys, receivers
from domogate.developer.services import DeveloperServices
from domogate.domain.people import DEVELOPER_SCOPE, Principal
from domogate.http_api.app import SurfaceApp
from domogate.http_api.credentials import DeveloperToken
from domogate.http_api.operations import Surface
from domogate.ports import Verifier

_SUBJECTS = (applications, keys, receivers, faults)

SURFACE = Surface(
    name="developer",
    prefix="/developer/v1",
    description="For developers of applications: their own applications and subscription keys, receivers for testing webhooks, "
    f"and faults on demand. Every operation needs an access token with the scope {DEVELOPER_SCOPE}. "
    "No subscription key is needed.",
    operations=[operation for subject in _SUBJECTS for operation in subject.OPERATIONS],
    credentials=DeveloperToken,
    text_parameters=frozenset({"clientId"}),
    serves_head=True,
)


def build(
    services: DeveloperServices, verifier: Verifier, *, base_url: str, version: str, max_body: int = 65_536
) -> SurfaceApp[DeveloperServices, Principal]:
    credentials = DeveloperToken(verifier, services.limits, services.audit)
    return SurfaceApp(SURFACE, services, credentials, base_url=base_url, version=version, max_body=max_body)
