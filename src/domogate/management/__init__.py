"""Surface: the operator's HTTP API under /manage/v1."""

from domogate.management.operation import Devices
from domogate.management.surface import PREFIX, build

__all__ = ["PREFIX", "Devices", "build"]
