"""MyHome buses, reached through gateways that use OpenWebNet (docs/openwebnet.md)."""

from typing import Annotated

from domogate.drivers.declaration import Connections, DriverDeclaration, DriverSettings, Setting, unique_names
from domogate.drivers.openwebnet.driver import OpenWebNet
from domogate.drivers.openwebnet.gateways import OpenWebNetGateway
from domogate.drivers.openwebnet.kinds import describe_options, find_option_problems

__all__ = ["DRIVER", "OpenWebNet", "OpenWebNetGateway", "OpenWebNetSettings"]


class OpenWebNetSettings(DriverSettings, frozen=True):
    gateways: Annotated[
        tuple[OpenWebNetGateway, ...],
        Setting(
            "JSON", "Gateways for the driver openwebnet. It is easier to list them in the TOML file.", unique_names, secret=True
        ),
    ] = ()


DRIVER = DriverDeclaration(
    OpenWebNet.name,
    OpenWebNetSettings,
    lambda clock, settings: OpenWebNet(clock, settings.gateways),
    find_option_problems,
    Connections("gateway", lambda settings: [gateway.name for gateway in settings.gateways]),
    describe_options,
)
