"""The HTTP API for developers of applications, under /developer/v1."""

from domogate.developer.services import DeveloperServices
from domogate.developer.surface import SURFACE

__all__ = ["SURFACE", "DeveloperServices"]
