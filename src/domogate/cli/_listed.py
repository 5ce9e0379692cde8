"""Commands at the top level whose modules are not imported yet."""

from functools import cached_property
from importlib import import_module
from typing import Any

from typer.main import get_group

from domogate.cli._help import PlainCommand


class ListedCommand(PlainCommand):
    """A command or group of commands in the list of all commands. Its module is imported when the command runs.

    Imports take most of the time of a short command, so a command must not import the modules of the other commands.
    """

    def __init__(self, name: str, about: str, panel: str, module: str) -> None:
        super().__init__(name=name, help=about, rich_help_panel=panel)
        self.module = module

    @cached_property
    def loaded(self) -> Any:
        """The command itself, from its module."""
        group = get_group(import_module(self.module).commands)
        if not group.name:  # Not a group: its commands are at the top level.
            return group.commands[str(self.name)]
        group.help = self.help
        return group

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        return self.loaded.make_context(info_name, args, parent=parent, **extra)
