"""The gateway for fuzzing; no other test uses it."""

from support.gateway import demo

__all__ = ["demo"]
