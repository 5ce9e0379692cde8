"""The help of a command has its options under headings; the help of a group lists commands in the order of declaration."""

import click

from domogate.cli._options import OPTIONS, PlainOption


class PlainCommand(click.Command):
    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        panels: dict[str, list[tuple[str, str]]] = {OPTIONS: []}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx) if isinstance(parameter, click.Option) else None
            if record is not None:
                panel = parameter.panel if isinstance(parameter, PlainOption) else OPTIONS
                panels.setdefault(panel, []).append(record)
        for panel, records in panels.items():
            with formatter.section(panel):
                formatter.write_dl(records)


class PlainGroup(click.Group):
    """The commands of one noun (`domogate user …`), in the order of their declaration."""

    def list_commands(self, _ctx: click.Context) -> list[str]:
        return list(self.commands)
