"""MyHome buses, reached through gateways that use OpenWebNet (docs/openwebnet.md).

The code of the driver is imported when it is used (Decision 0098).
"""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any

from domogate.domain.devices import DeviceKind
from domogate.drivers.declaration import (
    Connections,
    DriverDeclaration,
    DriverSettings,
    OptionProblem,
    OptionSchema,
    Setting,
    unique_names,
)
from domogate.drivers.openwebnet.gateways import OpenWebNetGateway
from domogate.ports import Clock, Driver

__all__ = ["DRIVER", "OpenWebNetGateway", "OpenWebNetSettings"]


class OpenWebNetSettings(DriverSettings, frozen=True):
    gateways: Annotated[
        tuple[OpenWebNetGateway, ...],
        Setting(
            "JSON", "Gateways for the driver openwebnet. It is easier to list them in the TOML file.", unique_names, secret=True
        ),
    ] = ()


def _build(clock: Clock, settings: OpenWebNetSettings) -> Driver:
    from domogate.drivers.openwebnet.driver import OpenWebNet

    return OpenWebNet(clock, settings.gateways)


def _find_option_problems(kind: DeviceKind, options: Mapping[str, Any]) -> Iterator[OptionProblem]:
    from domogate.drivers.openwebnet.kinds import find_option_problems

    return find_option_problems(kind, options)


def _describe_options(kind: DeviceKind) -> OptionSchema | None:
    from domogate.drivers.openwebnet.kinds import describe_options

    return describe_options(kind)


DRIVER = DriverDeclaration(
    "openwebnet",
    OpenWebNetSettings,
    _build,
    _find_option_problems,
    Connections("gateway", lambda settings: [gateway.name for gateway in settings.gateways]),
    _describe_options,
)
