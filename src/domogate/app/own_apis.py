"""Builds our own surfaces, each with the first segment of its paths, from the parts of a gateway."""

from typing import TYPE_CHECKING

from domogate import __version__, developer, events, tickets, webhooks
from domogate.app.home_api import build_home_api
from domogate.app.management_api import build_management_api
from domogate.app.parts import new_subscription
from domogate.edge.stack import ASGIApp
from domogate.http_api.credentials import KeyAndToken
from domogate.services.developer.faults import DeveloperFaults
from domogate.services.developer.self_service import SelfService
from domogate.services.homes.homes import Homes
from domogate.services.homes.limits import PersonLimits

if TYPE_CHECKING:
    from domogate.app.gateway import Gateway


def build_own_apis(gateway: "Gateway") -> dict[bytes, ASGIApp]:
    base_url, max_body = gateway.settings.base_url, gateway.settings.max_body
    key_and_token = KeyAndToken(gateway.admission, gateway.verifier, gateway.audit)
    return {
        b"events": events.build(gateway.hub, key_and_token, base_url=base_url, version=__version__),
        b"webhooks": webhooks.build(gateway.webhooks, key_and_token, base_url=base_url, version=__version__, max_body=max_body),
        b"tickets": tickets.build(gateway.redemption, base_url=base_url, version=__version__, max_body=max_body),
        b"home": build_home_api(gateway),
        b"developer": _build_developer_api(gateway),
        b"manage": build_management_api(gateway),
    }


def _build_developer_api(gateway: "Gateway") -> ASGIApp:
    settings = gateway.settings
    self_service = SelfService(
        gateway.store,
        gateway.people,
        gateway.clock,
        new_subscription,
        enabled=settings.self_service,
        daily_quota=settings.self_service_quota,
        rate=settings.self_service_rate,
    )
    homes = Homes(gateway.read_model, gateway.clock)
    services = developer.DeveloperServices(
        self_service=self_service,
        receivers=gateway.receivers,
        faults=DeveloperFaults(homes, gateway.fault_injector, self_service, gateway.clock),
        limits=PersonLimits(gateway.clock),
        audit=gateway.audit,
    )
    return developer.build(
        services, gateway.verifier, base_url=settings.base_url, version=__version__, max_body=settings.max_body
    )
