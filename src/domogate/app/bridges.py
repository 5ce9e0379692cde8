"""Builds the bridges that the settings declare."""

from typing import TYPE_CHECKING

from domogate.drivers import mqtt
from domogate.services.bridges.bridges import Bridges

if TYPE_CHECKING:
    from domogate.app.gateway import Gateway
    from domogate.services.bridges.bridge import Bridge


def build_bridges(gateway: "Gateway") -> Bridges:
    holdings = gateway.store.holdings
    holds = None if holdings is None else holdings.accepts
    return Bridges(_build_declared(gateway), holds=holds, has_successor=lambda: gateway.placement.has_successor)


def _build_declared(gateway: "Gateway") -> list["Bridge"]:
    settings = mqtt.DRIVER.settings_in(gateway.settings.drivers)
    if not settings.bridges:
        return []
    # Most gateways have no bridge.
    from domogate.services.bridges.bridge import Bridge
    from domogate.services.bridges.rights import BridgeRights
    from domogate.services.homes.commands import HomeCommands
    from domogate.services.homes.limits import PersonLimits

    brokers = mqtt.build_bridge_brokers(settings)
    clock, knowledge = gateway.clock, gateway.knowledge
    rights = BridgeRights(gateway.store, gateway.read_model, clock)
    limits = PersonLimits(clock)
    commands = HomeCommands(gateway.read_model, gateway.control, gateway.scenes, gateway.store, limits, clock, gateway.audit)
    return [
        Bridge(one.plan, brokers[one.broker], rights, commands, clock, lambda: knowledge.is_kept, knowledge.wait)
        for one in settings.bridges
    ]
