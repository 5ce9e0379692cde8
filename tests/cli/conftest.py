"""The command line that these tests type on."""

from support.command_line import domogate

__all__ = ["domogate"]
