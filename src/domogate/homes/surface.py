"""The home API with all its operations. The pages for residents are one of its clients."""

from domogate.domain.people import HOME_SCOPE, Principal
from domogate.homes import applications, favourites, homes, me, modules, people, readings, recent, safety
from domogate.homes.services import HomeServices
from domogate.http_api.app import SurfaceApp
from domogate.http_api.credentials import HomeToken
from domogate.http_api.operations import Surface
from domogate.ports import Verifier
from domogate.services.homes.homes import DOOR_SCOPE

_SUBJECTS = (me, homes, modules, readings, favourites, recent, safety, people, applications)

SURFACE = Surface(
    name="home",
    prefix="/home/v1",
    description="For residents and their applications: homes with their rooms, devices and people, commands and scenes. "
    f"Every operation needs an access token with the scope {HOME_SCOPE}; doors and cameras need the scope {DOOR_SCOPE}, too. "
    "No subscription key is needed. An application sees and does what its person may see and do at that time.",
    operations=[operation for subject in _SUBJECTS for operation in subject.OPERATIONS],
    credentials=HomeToken,
    text_parameters=frozenset({"clientId", "email"}),
    serves_head=True,
)


def build(
    services: HomeServices, verifier: Verifier, *, base_url: str, version: str, max_body: int = 65_536
) -> SurfaceApp[HomeServices, Principal]:
    credentials = HomeToken(verifier, services.limits, services.audit)
    return SurfaceApp(SURFACE, services, credentials, base_url=base_url, version=version, max_body=max_body)
