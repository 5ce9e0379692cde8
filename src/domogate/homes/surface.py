"""The home API with all its operations. The pages for residents are one of its clients."""

from domogate.domain.people import HOME_SCOPE
from domogate.homes import applications, favourites, homes, me, modules, people, readings, recent, safety
from domogate.http_api.credentials import HomeToken
from domogate.http_api.operations import Surface
from domogate.services.homes.homes import DOOR_SCOPE

SURFACE = Surface(
    name="home",
    prefix="/home/v1",
    description="For residents and their applications: homes with their rooms, devices and people, commands and scenes. "
    f"Every operation needs an access token with the scope {HOME_SCOPE}. Locks, activations and cameras also need the scope "
    f"{DOOR_SCOPE}. No subscription key is needed. An application may see and do what the person of its token may see and do "
    "at the time of the request.",
    operations=[
        *me.OPERATIONS,
        *homes.OPERATIONS,
        *modules.OPERATIONS,
        *readings.OPERATIONS,
        *favourites.OPERATIONS,
        *recent.OPERATIONS,
        *safety.OPERATIONS,
        *people.OPERATIONS,
        *applications.OPERATIONS,
    ],
    credentials=HomeToken,
    text_parameters=frozenset({"clientId", "email"}),
    serves_head=True,
)
