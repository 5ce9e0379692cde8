"""MyHome buses, through gateways that speak OpenWebNet (docs/openwebnet.md)."""

from domogate.drivers.openwebnet.driver import OpenWebNet
from domogate.drivers.openwebnet.gateways import OpenWebNetGateway
from domogate.drivers.openwebnet.kinds import find_option_problems

__all__ = ["OpenWebNet", "OpenWebNetGateway", "find_option_problems"]
