"""The list of all settings, of the gateway and of its drivers. --help, docs/settings.md and `loading.py` use it."""

from typing import Any, get_args

import msgspec

from domogate.drivers import SETTINGS
from domogate.drivers.declaration import DeclaredSetting
from domogate.settings.descriptions import PANELS
from domogate.settings.values import Settings


def _declare() -> dict[str, DeclaredSetting]:
    described = {
        name: msgspec.structs.replace(setting, panel=panel)
        for panel, settings in PANELS.items()
        for name, setting in settings.items()
    }
    own = {}
    for field in msgspec.structs.fields(Settings):
        if field.name not in ("drivers", "sources"):
            default = field.default if field.default_factory is msgspec.NODEFAULT else field.default_factory()
            kind = without_none(field.type)
            own[field.name] = DeclaredSetting(field.name, field.name, kind, default, described.pop(field.name))
    assert not described, f"descriptions without a setting: {', '.join(described)}"
    return own | SETTINGS


def without_none(kind: Any) -> Any:
    """Return the type without None: `Path | None` becomes Path. None only means that the setting is not given."""
    others = [argument for argument in get_args(kind) if argument is not type(None)]
    return others[0] if type(None) in get_args(kind) else kind


DECLARED: dict[str, DeclaredSetting] = _declare()
"""Every setting by its name: the settings of the gateway and of its drivers."""

FILES: dict[str, str] = {
    f"{name}_file": name for name, one in DECLARED.items() if one.setting.secret and f"{name}_file" not in DECLARED
}
"""For each setting that names a file with a secret, except `secret_key_file`: the setting that gets the content of this file.

For example, `smtp_password_file` names a file, and `loading.py` sets `smtp_password` to its content.
"""


SECRETS: dict[str, str] = {**FILES, "secret_key_file": "secret_key"}
"""All settings that name a file with a secret: the settings in `FILES`, and `secret_key_file`.

No setting gets the content of `secret_key_file`: `identity/secret_keys.py` reads this file.
"""


def name_credential(secret: str) -> str:
    """Return the name of the systemd credential of a secret setting.

    The name for `secret_key` must be the same as `identity.secret_keys.CREDENTIAL`.
    """
    return f"domogate-{secret.replace('_', '-')}"


def list_flags() -> tuple[str, ...]:
    """Return the names of all settings that can be given as flags.

    A secret has only a flag for the file with the secret, because other users can read the command line of a process. A URL
    that may contain a password has two flags, one for the URL and one for a file with the URL: most URLs contain no password.
    """
    hidden = {name for name, one in DECLARED.items() if one.setting.secret and not one.setting.metavar.startswith("URL")}
    return tuple(name for name in (*DECLARED, *FILES) if name not in hidden)


def print_default(default: object) -> str:
    """Return a default value as text, as help and documentation show it."""
    if default is None or default in ((), {}):
        return "none"
    if isinstance(default, bool):
        return str(default).lower()
    return f"{default:.12g}" if isinstance(default, float) else str(default)
