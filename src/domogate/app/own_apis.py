"""Builds our own surfaces from the parts of a gateway, as a dict. The key of a surface is the first segment of its paths."""

from typing import TYPE_CHECKING, Any, TypeVar

from domogate import __version__, developer, events, homes, management, tickets, webhooks
from domogate.app.home_api import build_home_services
from domogate.app.management_api import build_management_services
from domogate.app.parts import new_subscription
from domogate.http_api.app import SurfaceApp
from domogate.http_api.credentials import Credentials, DeveloperToken, HomeToken, KeyAndToken, OperatorToken
from domogate.http_api.operations import Surface
from domogate.services.developer.faults import DeveloperFaults
from domogate.services.developer.self_service import SelfService, SelfServiceRules
from domogate.services.homes.homes import Homes
from domogate.services.homes.limits import PersonLimits

if TYPE_CHECKING:
    from domogate.app.gateway import Gateway

S = TypeVar("S")
C = TypeVar("C")


def build_own_apis(gateway: "Gateway") -> dict[bytes, SurfaceApp[Any, Any]]:
    settings, verifier, audit = gateway.settings, gateway.verifier, gateway.audit

    def serve(surface: Surface, services: S, credentials: Credentials[C]) -> SurfaceApp[S, C]:
        base_url, max_body = settings.base_url, settings.max_body
        return SurfaceApp(surface, services, credentials, base_url=base_url, version=__version__, max_body=max_body)

    key_and_token = KeyAndToken(gateway.admission, verifier, audit)
    home_services = build_home_services(gateway)
    ticket_services = tickets.TicketServices(gateway.redemption, settings.base_url)
    developer_token = DeveloperToken(verifier, PersonLimits(gateway.clock), audit)
    operator_token = OperatorToken(verifier, gateway.store, audit)
    return {
        b"events": serve(events.SURFACE, gateway.hub, key_and_token),
        b"webhooks": serve(webhooks.SURFACE, gateway.webhooks, key_and_token),
        b"tickets": serve(tickets.SURFACE, ticket_services, tickets.PictureToken()),
        b"home": serve(homes.SURFACE, home_services, HomeToken(verifier, home_services.limits, audit)),
        b"developer": serve(developer.SURFACE, _build_developer_services(gateway), developer_token),
        b"manage": serve(management.SURFACE, build_management_services(gateway), operator_token),
    }


def _build_developer_services(gateway: "Gateway") -> developer.DeveloperServices:
    settings = gateway.settings
    rules = SelfServiceRules(settings.self_service, settings.self_service_quota, settings.self_service_rate)
    self_service = SelfService(gateway.store, gateway.people, gateway.clock, new_subscription, rules)
    faults = DeveloperFaults(Homes(gateway.read_model, gateway.clock), gateway.fault_injector, self_service, gateway.clock)
    return developer.DeveloperServices(self_service, gateway.receivers, faults)
