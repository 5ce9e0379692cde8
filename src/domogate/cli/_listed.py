"""The group that contains all commands. It imports the module of a command when the command runs.

Imports take most of the time of a short command. So a command must not import the modules of the other commands.
"""

from collections.abc import Iterator, Mapping
from importlib import import_module

import click

_MODULES = {"restore": "backup"}
"""For each command whose module does not have the name of the command: the name of the module."""


class CommandList(click.Group):
    """All commands, with one sentence about each command, under the headings of the help."""

    def __init__(self, panels: Mapping[str, Mapping[str, str]], *, name: str, params: list[click.Parameter], help: str) -> None:
        super().__init__(
            name,
            params=params,
            help=help,
            epilog="Exit codes: 0 success; 1 failure, standard error says why; 2 wrong command line or setting. "
            "`domogate COMMAND --help` explains a command.",
            no_args_is_help=True,
            context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120},
        )
        self._panels = panels
        self.about = {name: about for listed in panels.values() for name, about in listed.items()}
        """One sentence about each command."""

    def list_commands(self, _ctx: click.Context) -> list[str]:
        return list(self.about)

    def get_command(self, _ctx: click.Context, cmd_name: str) -> click.Command | None:
        return self.load(cmd_name) if cmd_name in self.about else None

    def load(self, name: str) -> click.Command:
        """Import the module of the command. Return the command, or the group of commands with this name."""
        group = import_module(f"domogate.cli.{_MODULES.get(name, name.replace('-', '_'))}").commands
        assert isinstance(group, click.Group)
        if group.name is None:  # Not a group: its commands are at the top level.
            return group.commands[name]
        group.help = self.about[name]
        return group

    def load_all(self) -> Iterator[tuple[str, click.Command]]:
        return ((name, self.load(name)) for name in self.about)

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in self.about and not args[0].startswith("-"):
            from difflib import get_close_matches  # Imported here, because only mistakes need it.

            near = get_close_matches(args[0], self.about)
            hint = f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
            ctx.fail(f"No such command {args[0]!r}.{hint}")
        return super().resolve_command(ctx, args)

    def format_commands(self, _ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for panel, listed in self._panels.items():
            with formatter.section(panel):
                formatter.write_dl(list(listed.items()))
