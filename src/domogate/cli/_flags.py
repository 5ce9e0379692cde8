"""Settings as flags. Commands that run or check a gateway have flags for all settings, most other commands for some settings.

A secret has a flag for a file with its value. Only a secret URL also has a flag for the value itself.

In this module a flag is only text, like an environment variable. `settings/` parses and checks flags and variables.
"""

import inspect
from collections.abc import Sequence
from typing import Annotated, Any

from domogate.cli._options import Declared, option
from domogate.settings.declared import DECLARED, FILES, print_default

WHERE = ("data", "database", "database_file", "secret_key_file")
"""The flags of every command that opens the store."""

CONFIG_HELP = "TOML file with settings; flags and DOMOGATE_* variables have precedence."


def flag_help(name: str) -> str:
    """Return the help text of the flag for a setting, or for a file with the value of a setting.

    `name` is the name of the flag with underscores, for example `public_url`.
    """
    if name in FILES:
        about = f" {DECLARED[FILES[name]].setting.help}" if DECLARED[FILES[name]].setting.metavar == "JSON" else ""
        flag = FILES[name].replace("_", "-")
        return f"File with the value of --{flag}. Use it if the value contains a password or key.{about}"
    setting = DECLARED[name]
    return f"{setting.setting.help} Default: {print_default(setting.default)}."


def flag_parameters(names: Sequence[str]) -> list[inspect.Parameter]:
    """Return the options for these settings, and the option --config."""

    def build(name: str, declared: Declared, kind: type = str) -> inspect.Parameter:
        optional: Any = kind | None
        return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[optional, declared])

    def of_setting(name: str) -> inspect.Parameter:
        setting = DECLARED[FILES.get(name, name)].setting
        spelled = [f"--{name.replace('_', '-')}"]
        if setting.short_flag and name in DECLARED:
            spelled.append(setting.short_flag)
        metavar = "FILE" if name in FILES else setting.metavar
        declared = option(metavar, flag_help(name), *spelled, panel=setting.panel)
        return build(name, declared, bool if setting.bare_flag else str)

    return [*map(of_setting, names), build("config", option("FILE", CONFIG_HELP, panel="Where"))]
