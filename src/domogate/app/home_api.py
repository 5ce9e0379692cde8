"""Builds the services of the home API from the parts of a gateway."""

from typing import TYPE_CHECKING

from domogate import homes
from domogate.services.homes.applications import Applications
from domogate.services.homes.commands import HomeCommands
from domogate.services.homes.energy import EnergyPrice, HomeHistory
from domogate.services.homes.favourites import Favourites
from domogate.services.homes.homes import Homes
from domogate.services.homes.limits import PersonLimits
from domogate.services.homes.recent import RecentEvents

if TYPE_CHECKING:
    from domogate.app.gateway import Gateway


def build_home_services(gateway: "Gateway") -> homes.HomeServices:
    settings = gateway.settings
    limits = PersonLimits(gateway.clock)
    return homes.HomeServices(
        homes=Homes(gateway.read_model, gateway.clock),
        commands=HomeCommands(
            gateway.read_model, gateway.control, gateway.scenes, gateway.store, limits, gateway.clock, gateway.audit
        ),
        people=gateway.people,
        applications=Applications(gateway.store, gateway.people, gateway.webhook_administration),
        favourites=Favourites(gateway.store),
        recent=RecentEvents(gateway.store),
        history=HomeHistory(gateway.history, gateway.store),
        limits=limits,
        identities=gateway.identities,
        clock=gateway.clock,
        mails_links=settings.smtp_host is not None,
        energy_price=None if settings.energy_price is None else _read_price(settings.energy_price),
    )


def _read_price(setting: str) -> EnergyPrice:
    """Parse a setting such as `0.28 EUR`. Its form was checked when the settings were loaded."""
    amount, currency = setting.split()
    return EnergyPrice(float(amount), currency)
