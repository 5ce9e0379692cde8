"""MyHome buses, reached through gateways that use OpenWebNet (docs/openwebnet.md).

The code of the driver is imported when it is used (Decision 0098).
"""

from typing import Annotated

from domogate.drivers.declaration import Connections, DriverDeclaration, DriverSettings, connections_setting, lazy
from domogate.drivers.openwebnet.gateways import OpenWebNetGateway
from domogate.ports import Clock, Driver

__all__ = ["DRIVER", "OpenWebNetGateway", "OpenWebNetSettings"]


class OpenWebNetSettings(DriverSettings, frozen=True):
    gateways: Annotated[
        tuple[OpenWebNetGateway, ...],
        connections_setting("OpenWebNet gateways for the driver openwebnet. It is easier to list them in the TOML file."),
    ] = ()


def _build(clock: Clock, settings: OpenWebNetSettings) -> Driver:
    from domogate.drivers.openwebnet.driver import OpenWebNet

    return OpenWebNet(clock, settings.gateways)


DRIVER = DriverDeclaration(
    "openwebnet",
    OpenWebNetSettings,
    _build,
    lazy("domogate.drivers.openwebnet.kinds", "find_option_problems"),
    Connections("gateway", lambda settings: [gateway.name for gateway in settings.gateways]),
    lazy("domogate.drivers.openwebnet.kinds", "describe_options"),
)
