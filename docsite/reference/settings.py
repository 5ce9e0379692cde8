"""The tables of docs/settings.md: each setting with its variable, flag, default and help text."""

from collections.abc import Iterator

from docsite.reference.markdown import escape, write_table
from docsite.reference.parts import Writer
from domogate.drivers.declaration import DeclaredSetting
from domogate.settings.declared import DECLARED, list_flags, print_default

LINKS: dict[str, tuple[str, str]] = {
    "secret_key_file": ("secrets in the database", "operations/data.md#the-secret-key"),
    "simulator_speed": ("simulated plants", "simulator.md"),
    "mqtt_brokers": ("driver mqtt", "mqtt.md"),
    "mqtt_bridges": ("Bridges", "mqtt-bridge.md"),
    "openwebnet_gateways": ("driver openwebnet", "openwebnet.md"),
    "issuers": ("External issuers", "external-issuers.md"),
    "webhook_networks": ("webhooks", "webhooks.md#addresses"),
    "audit_kept_days": ("audit log", "audit.md#how-long-it-is-kept"),
    "trace_endpoint": ("OpenTelemetry traces", "operations/monitoring.md#traces"),
}
"""Words of a help text that lead to a page."""


def list_setting_tables() -> dict[str, Writer]:
    """Return a writer for each heading of the page."""
    return {panel: _writer_of(panel) for panel in dict.fromkeys(one.setting.panel for one in DECLARED.values())}


def _writer_of(panel: str) -> Writer:
    def write(_: str) -> str:
        rows = [tuple(_write_row(one)) for one in DECLARED.values() if one.setting.panel == panel]
        return write_table(("variable", "flag", "default", "meaning"), rows)

    return write


def _write_row(one: DeclaredSetting) -> Iterator[str]:
    flag = one.name if one.name in list_flags() else f"{one.name}_file"
    default = print_default(one.default)
    yield f"`DOMOGATE_{one.name.upper()}`"
    yield f"`--{flag.replace('_', '-')}`"
    yield default if default == "none" else f"`{default}`"
    yield _write_help(one)


def _write_help(one: DeclaredSetting) -> str:
    text = escape(one.setting.help)
    if one.name not in LINKS:
        return text
    words, target = LINKS[one.name]
    if words not in text:
        raise ValueError(f"the help text of {one.name} does not have the words {words!r}")
    return text.replace(words, f"[{words}]({target})", 1)
