"""The test kit for developers of applications: a gateway for tests, from Python (docs/testing-apps.md).

This package imports nothing else of Domogate: it starts the gateway as a process, and uses its HTTP API.
"""

from domogate.testing.estate import Estate, Module, Plant, Room
from domogate.testing.gateway import Fault, Gateway, Tokens
from domogate.testing.http import Answer, Refused
from domogate.testing.process import GatewayFailed

__all__ = ["Answer", "Estate", "Fault", "Gateway", "GatewayFailed", "Module", "Plant", "Refused", "Room", "Tokens"]
