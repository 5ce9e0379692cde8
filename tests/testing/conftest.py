"""A gateway with a small estate. It is reset before each test."""

from support.kit_house import gateway, house_gateway

__all__ = ["gateway", "house_gateway"]
