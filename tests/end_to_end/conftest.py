"""The gateways that these tests speak with."""

from support.gateway import demo, web, workshop

__all__ = ["demo", "web", "workshop"]
