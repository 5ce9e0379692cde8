"""Settings as flags: `serve` and `demo` have a flag for every setting, and other commands have flags for some settings.

In this module a flag is only text, like an environment variable. `settings/` parses and checks flags and variables.
"""

import inspect
import re
from collections.abc import Sequence
from typing import Annotated

import typer

from domogate.settings.declared import DECLARED, FILES, print_default

WHERE = ("data", "database", "database_file", "secret_key_file")
"""The flags of every command that opens the store."""

CONFIG_HELP = "TOML file with settings; flags and DOMOGATE_* variables have precedence."


def flag_help(name: str) -> str:
    """The text of an option. Square brackets in it are not markup."""
    if name in FILES:
        about = f" {DECLARED[FILES[name]].setting.help}" if DECLARED[FILES[name]].setting.metavar == "JSON" else ""
        flag = FILES[name].replace("_", "-")
        return _escape(f"File with the value of --{flag}. Use it if the value contains a password or key.{about}")
    setting = DECLARED[name]
    return _escape(f"{setting.setting.help} Default: {print_default(setting.default)}.")


def _escape(text: str) -> str:
    """Return the text so that the help prints its square brackets. Otherwise rich would read them as markup."""
    return re.sub(r"(\[[a-z#/@][^\[]*?\])", r"\\\1", text)


def flag_parameters(names: Sequence[str]) -> list[inspect.Parameter]:
    """The typer options for these settings, and --config."""

    def option(name: str, shown: object, kind: type = str) -> inspect.Parameter:
        return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[kind | None, shown])

    def of_setting(name: str) -> inspect.Parameter:
        declared = DECLARED[FILES.get(name, name)].setting
        spelled = [f"--{name.replace('_', '-')}"]
        if declared.short_flag and name in DECLARED:
            spelled.append(declared.short_flag)
        metavar = "FILE" if name in FILES else None if declared.bare_flag else declared.metavar
        shown = typer.Option(
            *spelled, metavar=metavar, help=flag_help(name), rich_help_panel=declared.panel, show_default=False
        )
        return option(name, shown, bool if declared.bare_flag else str)

    config = typer.Option(metavar="FILE", help=CONFIG_HELP, rich_help_panel="Where", show_default=False)
    return [*map(of_setting, names), option("config", config)]
