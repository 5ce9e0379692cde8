"""Builds our own surfaces from the parts of a gateway, as a dict. The key of a surface is the first segment of its paths."""

from functools import partial
from typing import TYPE_CHECKING, Any

from domogate import developer, events, homes, tickets, webhooks
from domogate.app.home_api import build_home_services
from domogate.app.late_surface import LateSurface
from domogate.app.parts import new_subscription
from domogate.app.serve_surface import serve_surface
from domogate.common.late_imports import load_module
from domogate.edge.stack import ASGIApp
from domogate.http_api.app import SurfaceApp
from domogate.http_api.credentials import DeveloperToken, HomeToken, KeyAndToken
from domogate.services.developer.faults import DeveloperFaults
from domogate.services.developer.self_service import SelfService, SelfServiceRules
from domogate.services.homes.homes import Homes
from domogate.services.homes.limits import PersonLimits

if TYPE_CHECKING:
    from domogate.app.gateway import Gateway


def build_own_apis(gateway: "Gateway") -> dict[bytes, SurfaceApp[Any, Any]]:
    """Build our own surfaces, except the management API."""
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
    }


def build_late_apis(gateway: "Gateway") -> dict[bytes, LateSurface]:
    """Build the surface that is imported when its first request arrives: the management API.

    It has the most modules of all surfaces, and only operators use it.
    """

    async def build() -> ASGIApp:
        module = await load_module("domogate.app.management_api")
        app: ASGIApp = module.build_management_api(gateway)
        return app

    return {b"manage": LateSurface(build)}


def _build_developer_services(gateway: "Gateway") -> developer.DeveloperServices:
    settings = gateway.settings
    rules = SelfServiceRules(settings.self_service, settings.self_service_quota, settings.self_service_rate)
    self_service = SelfService(gateway.store, gateway.people, gateway.clock, new_subscription, rules)
    faults = DeveloperFaults(Homes(gateway.read_model, gateway.clock), gateway.fault_injector, self_service, gateway.clock)
    return developer.DeveloperServices(self_service, gateway.receivers, faults)
