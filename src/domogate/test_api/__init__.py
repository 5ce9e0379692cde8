"""The HTTP API of the test kit, under /manage/v1/testing."""

from domogate.test_api.fault_rules import FaultRules, RequestFacts
from domogate.test_api.gate import Gate, GatewayFunctions
from domogate.test_api.services import Content, IssuedTokens, KitServices, KnownOperation, TokenRequest
from domogate.test_api.surface import PREFIX, SURFACE
from domogate.test_api.traffic import MOST_LEVELS, Traffic

__all__ = [
    "MOST_LEVELS",
    "PREFIX",
    "SURFACE",
    "Content",
    "FaultRules",
    "Gate",
    "GatewayFunctions",
    "IssuedTokens",
    "KitServices",
    "KnownOperation",
    "RequestFacts",
    "TokenRequest",
    "Traffic",
]
