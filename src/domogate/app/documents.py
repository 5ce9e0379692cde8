"""The OpenAPI documents of the gateway: one for each family and one for each other API."""

from typing import Any

from domogate import __version__
from domogate.developer import SURFACE as DEVELOPER
from domogate.events import SURFACE as EVENTS
from domogate.families import FAMILIES
from domogate.families._openapi import openapi_document as describe_family
from domogate.homes import SURFACE as HOME
from domogate.http_api.openapi import describe_surface
from domogate.management import SURFACE as MANAGEMENT
from domogate.settings import Settings
from domogate.tickets import SURFACE as TICKETS
from domogate.webhooks import SURFACE as WEBHOOKS

SURFACES = (HOME, EVENTS, WEBHOOKS, TICKETS, DEVELOPER, MANAGEMENT)
DOCUMENTS = (*(family.slug for family in FAMILIES), *(surface.name for surface in SURFACES))


def openapi_document(name: str, settings: Settings) -> dict[str, Any]:
    """Return the document of the family or other API with this name. Raises KeyError for an unknown name."""
    for family in FAMILIES:
        if family.slug == name:
            return describe_family(family, base_url=settings.base_url, version=__version__)
    surface = {surface.name: surface for surface in SURFACES}[name]
    return describe_surface(surface, base_url=settings.base_url, version=__version__)
