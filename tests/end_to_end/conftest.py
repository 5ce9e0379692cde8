"""The gateways that these tests use."""

from support.gateway import demo, web, workshop

__all__ = ["demo", "web", "workshop"]
