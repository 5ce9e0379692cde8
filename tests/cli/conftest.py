"""The command line of these tests."""

from support.command_line import domogate
from support.device_estate import home

__all__ = ["domogate", "home"]
