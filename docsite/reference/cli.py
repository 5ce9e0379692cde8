"""The page of the command line: all commands with their arguments and options, from the declarations of the commands."""

import re
from collections.abc import Iterator

import click

from docsite.reference.markdown import escape, write_page, write_table
from domogate.cli._flags import CONFIG_HELP, WHERE, flag_help
from domogate.cli.commands import PANELS, cli
from domogate.settings.declared import list_flags, print_default

_DEFAULT = re.compile(r" *Default: (.+?)\.(?= |$)")

_INTRODUCTION = """\
This page lists all commands with their arguments and options. It is made from the code, and has the same texts as
`domogate COMMAND --help`. [The command line](cli.md) explains how to use the commands. Every
command also has the option `--help` (`-h`)."""

_SHARED = """\
Commands that open the store have these options. Each option except `--config` is a [setting](settings.md), so an environment
variable or the file of `--config` can set it too. You can also write `--data` and `--config` before the name of the command."""


def write_cli_page() -> str:
    """Return the text of docs/cli-reference.md."""
    parts = [_INTRODUCTION, "## Options of the store", _SHARED, _write_shared()]
    for panel, listed in PANELS.items():
        parts.append(f"## {panel}")
        for name in listed:
            for path, command in _list_commands(name):
                parts += _write_command(path, command)
    return write_page("All commands", parts)


def _list_commands(name: str) -> Iterator[tuple[str, click.Command]]:
    command = cli.load(name)
    if isinstance(command, click.Group):
        for verb, one in command.commands.items():
            yield f"domogate {name} {verb}", one
    else:
        yield f"domogate {name}", command


def _write_shared() -> str:
    rows = []
    for parameter in cli.load("init").params:
        if parameter.name in (*WHERE, "config"):
            variable = f"`DOMOGATE_{(parameter.name or '').upper()}`"
            default, meaning = _split_help(parameter)
            rows.append((_write_name(parameter), variable, default, meaning))
    return write_table(("option", "variable", "default", "meaning"), rows)


def _write_command(path: str, command: click.Command) -> Iterator[str]:
    yield f"### {path}"
    paragraphs = [" ".join(part.split()) for part in (command.help or "").split("\n\n")]
    yield from map(escape, paragraphs)
    arguments = [parameter for parameter in command.params if isinstance(parameter, click.Argument)]
    own = [parameter for parameter in command.params if not _is_setting(parameter)]
    settings = [parameter for parameter in command.params if _is_setting(parameter)]
    usage = [path, *(["[OPTIONS]"] if len(command.params) > len(arguments) else [])]
    yield f"```text\n{' '.join([*usage, *(argument.metavar or '' for argument in arguments)])}\n```"
    if own:
        ordered = [*arguments, *(parameter for parameter in own if parameter not in arguments)]
        rows = [(_write_name(parameter), *_split_help(parameter)) for parameter in ordered]
        yield write_table(("argument or option", "default", "meaning"), rows)
    if settings:
        yield _write_settings(settings)


def _write_settings(parameters: list[click.Parameter]) -> str:
    """Return a sentence about the options that are settings."""
    names = {parameter.name for parameter in parameters}
    if names >= set(list_flags()):
        return "Every [setting](settings.md) is also an option of this command, and `--config FILE` names a file with settings."
    shared = {*WHERE, "config"}
    also = ["the [options of the store](#options-of-the-store)"] if names >= shared else []
    further = [parameter for parameter in parameters if not also or parameter.name not in shared]
    if further:
        also.append(f"{', '.join(map(_write_name, further))} ([settings](settings.md))")
    return f"Also: {', '.join(also)}."


def _is_setting(parameter: click.Parameter) -> bool:
    """Whether an option is a setting, or --config. Some commands have own options with the name of a setting."""
    name = parameter.name or ""
    if not isinstance(parameter, click.Option):
        return False
    return parameter.help == (flag_help(name) if name in list_flags() else CONFIG_HELP)


def _write_name(parameter: click.Parameter) -> str:
    if isinstance(parameter, click.Argument):
        return f"`{parameter.metavar}`"
    value = f" {parameter.metavar}".replace("|", " or ") if parameter.metavar else ""
    return ", ".join(f"`{name}{value}`" for name in (*parameter.opts, *parameter.secondary_opts))


def _split_help(parameter: click.Parameter) -> tuple[str, str]:
    """Return the default and the meaning. The help text of some options says what the default is."""
    help = parameter.help if isinstance(parameter, click.Argument | click.Option) else None
    assert help, f"{parameter.name} has no help text"
    if isinstance(parameter, click.Option) and parameter.multiple and "repeat" not in help:
        help += " The option can be repeated."
    if said := _DEFAULT.search(help):
        return escape(said[1]), escape(_DEFAULT.sub("", help))
    return _find_default(parameter), escape(help)


def _find_default(parameter: click.Parameter) -> str:
    if parameter.required:
        return "required"
    if isinstance(parameter, click.Option) and parameter.is_flag and not parameter.secondary_opts:
        return "off"
    default = parameter.to_info_dict()["default"]
    return "none" if default in (None, "") else f"`{print_default(default)}`"
