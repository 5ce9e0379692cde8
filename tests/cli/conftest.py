"""The command line of these tests."""

from support.command_line import domogate

__all__ = ["domogate"]
