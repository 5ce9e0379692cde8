"""Builds our own surfaces from the parts of a gateway, except the management API. Also builds the OpenAPI documents.

This module is imported when the first request for one of these surfaces arrives.
"""

from functools import partial
from typing import TYPE_CHECKING

from domogate import __version__, developer, events, homes, tickets, webhooks
from domogate.app.home_api import build_home_services
from domogate.app.parts import new_subscription
from domogate.app.serve_surface import serve_surface
from domogate.edge.stack import ASGIApp
from domogate.families import FAMILIES
from domogate.families._documents import build_documents
from domogate.http_api.credentials import DeveloperToken, HomeToken, KeyAndToken
from domogate.services.developer.faults import DeveloperFaults
from domogate.services.developer.self_service import SelfService, SelfServiceRules
from domogate.services.homes.homes import Homes
from domogate.services.homes.limits import PersonLimits

if TYPE_CHECKING:
    from domogate.app.gateway import Gateway


def build_surfaces(gateway: "Gateway") -> dict[bytes, ASGIApp]:
    """Build /openapi and our own surfaces, but not the management API. Return them by their first path segment."""
    settings, verifier, audit = gateway.settings, gateway.verifier, gateway.audit
    serve = partial(serve_surface, settings)
    key_and_token = KeyAndToken(gateway.admission, verifier, audit)
    home_services = build_home_services(gateway)
    ticket_services = tickets.TicketServices(gateway.redemption, settings.base_url)
    developer_token = DeveloperToken(verifier, PersonLimits(gateway.clock), audit)
    return {
        b"events": serve(events.SURFACE, gateway.hub, key_and_token),
        b"webhooks": serve(webhooks.SURFACE, gateway.webhooks, key_and_token),
        b"tickets": serve(tickets.SURFACE, ticket_services, tickets.PictureToken()),
        b"home": serve(homes.SURFACE, home_services, HomeToken(verifier, home_services.limits, audit)),
        b"developer": serve(developer.SURFACE, _build_developer_services(gateway), developer_token),
        b"openapi": build_documents(FAMILIES, _list_other_documents, base_url=settings.base_url, version=__version__),
    }


def _build_developer_services(gateway: "Gateway") -> developer.DeveloperServices:
    settings = gateway.settings
    rules = SelfServiceRules(settings.self_service, settings.self_service_quota, settings.self_service_rate)
    self_service = SelfService(gateway.store, gateway.people, gateway.clock, new_subscription, rules)
    faults = DeveloperFaults(Homes(gateway.read_model, gateway.clock), gateway.fault_injector, self_service, gateway.clock)
    return developer.DeveloperServices(self_service, gateway.receivers, faults)


def _list_other_documents() -> dict[str, str]:
    """Return the names and paths of the OpenAPI documents that are not documents of a family."""
    from domogate.app.documents import SURFACES  # Imported here, because it imports the management API.

    return {surface.name: surface.document for surface in SURFACES}
