"""The gateway that is fuzzed: nobody else speaks with it."""

from support.gateway import demo

__all__ = ["demo"]
