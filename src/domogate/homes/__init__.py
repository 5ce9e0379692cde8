"""The HTTP API for residents and their applications, under /home/v1."""

from domogate.homes.services import HomeServices
from domogate.homes.surface import SURFACE

__all__ = ["SURFACE", "HomeServices"]
