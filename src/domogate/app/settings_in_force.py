"""Shows operators the settings of the running gateway, without secrets."""

from collections.abc import Sequence
from typing import Any

import msgspec

from domogate import management
from domogate.drivers import SETTINGS
from domogate.drivers.declaration import DeclaredSetting
from domogate.edge.logs import redact_value
from domogate.settings import Settings
from domogate.settings.declared import DECLARED, print_default


def list_settings(settings: Settings) -> Sequence[management.SettingOut]:
    """Return all settings in the order of the documentation."""
    return [_describe(settings, declared) for declared in DECLARED.values()]


def _describe(settings: Settings, declared: DeclaredSetting) -> management.SettingOut:
    value = _find_value(settings, declared)
    source, place = _find_source(settings, declared, is_default=value == declared.default)
    return management.SettingOut(
        name=declared.name,
        panel=declared.setting.panel,
        help=declared.setting.help,
        secret=declared.setting.secret,
        value=None if declared.setting.secret else _print(value),
        default=_print(declared.default),
        source=source,
        place=place,
    )


def _find_source(settings: Settings, declared: DeclaredSetting, *, is_default: bool) -> tuple[management.SettingSource, str]:
    given = settings.sources.get(declared.name)
    if given is None:
        return "default" if is_default else "gateway", ""
    kind, _, place = given.partition(" ")
    if kind == "flag":
        return "command line", place
    return ("environment", place) if kind == "variable" else ("file", given)


def _find_value(settings: Settings, declared: DeclaredSetting) -> Any:
    if declared.name not in SETTINGS:
        return getattr(settings, declared.name)
    driver = next(one for name, one in settings.drivers.items() if declared.name.startswith(f"{name.replace('-', '_')}_"))
    return getattr(driver, declared.field)


def _print(value: Any) -> str:
    """Return the value as text: lists and tables as JSON, other values as in docs/settings.md. Passwords are redacted."""
    if not value or isinstance(value, bool | int | float | str):
        return print_default(value)
    plain = redact_value(msgspec.to_builtins(value, enc_hook=str, str_keys=True))
    return plain if isinstance(plain, str) else msgspec.json.encode(plain).decode()
