"""What can be set, and how."""

from domogate.settings.loading import BadSettings, Mistake, load_settings
from domogate.settings.values import Settings

__all__ = ["BadSettings", "Mistake", "Settings", "load_settings"]
