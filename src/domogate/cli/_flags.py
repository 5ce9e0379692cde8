"""Settings as flags: one row per setting, so that `serve` and `demo` take them all and no other command repeats them.

A flag is text here, as an environment variable is; `settings/` parses and judges both.
"""

import inspect
from collections.abc import Sequence
from typing import Annotated

import msgspec
import typer

from domogate.drivers import SETTINGS

WHERE = ("data", "database")
"""What every command that opens the store takes."""


class Flag(msgspec.Struct, frozen=True):
    """How a setting is shown in --help."""

    metavar: str
    help: str
    panel: str
    also: str | None = None
    """A shorter spelling."""


_PLACE, _GUARDS, _DEVICES = "Where", "Protocol guards", "Devices"
_IDENTITY, _FAMILIES, _EVENTS = "Identity", "Families", "Events"
_RETENTION, _LOGS = "Memory and retention", "Logs"

FLAGS: dict[str, Flag] = {
    "data": Flag("DIR", "Where the gateway keeps what is its own.", _PLACE),
    "database": Flag("URL", "A SQLAlchemy URL, for PostgreSQL; without one it is SQLite in the data folder.", _PLACE),
    "host": Flag("ADDRESS", "Where to listen; loopback by default.", _PLACE),
    "port": Flag("PORT", "0 picks a free one.", _PLACE),
    "public_url": Flag("URL", "What clients call this gateway, behind a proxy for instance.", _PLACE),
    "tls_certificate": Flag("FILE", "Certificate chain (PEM); with --tls-key the gateway speaks HTTPS.", _PLACE),
    "tls_key": Flag("FILE", "Private key of the certificate (PEM).", _PLACE),
    "trusted_proxies": Flag("LIST", "Addresses or networks, parted by commas, whose forwarded headers are believed.", _PLACE),
    "metrics_host": Flag("ADDRESS", "Where /metrics listens.", _PLACE),
    "metrics_port": Flag("PORT", "Port of /metrics; without one there is none.", _PLACE),
    "max_body": Flag("BYTES", "Longest request body.", _GUARDS),
    "max_header": Flag("BYTES", "Longest request head.", _GUARDS),
    "header_deadline": Flag("SECONDS", "Within which a request's head must have come.", _GUARDS),
    "body_deadline": Flag("SECONDS", "Within which a request's body must have come.", _GUARDS),
    "keep_alive": Flag("SECONDS", "How long an idle connection is kept.", _GUARDS),
    "drain": Flag("SECONDS", "How long requests under way may go on after SIGTERM.", _GUARDS),
    "device_deadline": Flag("SECONDS", "Within which a device must answer (408).", _DEVICES),
    "state_max_age": Flag("SECONDS", "How old a state may be before the device is asked again.", _DEVICES),
    "state_max_ages": Flag("KIND=SECONDS,…", "The same for some kinds of devices.", _DEVICES),
    "simulator_awake_plants": Flag("NUMBER", "How many purely simulated plants move at once.", _DEVICES),
    "access_token_lifetime": Flag("SECONDS", "Life of an access token.", _IDENTITY),
    "id_token_lifetime": Flag("SECONDS", "Life of an id token.", _IDENTITY),
    "ticket_lifetime": Flag("SECONDS", "Life of a door-entry ticket.", _IDENTITY),
    "code_lifetime": Flag("SECONDS", "Life of an authorization code.", _IDENTITY),
    "refresh_token_lifetime": Flag("SECONDS", "Life of a refresh token that is not used.", _IDENTITY),
    "refresh_grace": Flag("SECONDS", "For so long a repeated refresh gets the same answer.", _IDENTITY),
    "session_lifetime": Flag("SECONDS", "Longest life of a login in a browser.", _IDENTITY),
    "session_idle_lifetime": Flag("SECONDS", "After so long without use a login ends.", _IDENTITY),
    "link_lifetime": Flag("SECONDS", "Life of a link to set a password.", _IDENTITY),
    "signing_algorithm": Flag("NAME", "ES256 or RS256.", _IDENTITY),
    "issuers": Flag("JSON", "Other issuers whose tokens are accepted; easier in the TOML file.", _IDENTITY),
    "own_issuer": Flag("true|false", "false: only tokens of other issuers are accepted.", _IDENTITY),
    "implicit_enabled": Flag("true|false", "Allow the implicit grant to clients registered for it.", _IDENTITY),
    "second_factor_required": Flag("true|false", "Everybody needs a second factor to log in.", _IDENTITY),
    "smtp_host": Flag("ADDRESS", "Mail server for links; without one they are printed.", _IDENTITY),
    "smtp_port": Flag("PORT", "Port of the mail server.", _IDENTITY),
    "smtp_security": Flag("WORD", "starttls, tls or none.", _IDENTITY),
    "smtp_user": Flag("NAME", "User at the mail server.", _IDENTITY),
    "smtp_password": Flag("TEXT", "Password at the mail server; better given as DOMOGATE_SMTP_PASSWORD.", _IDENTITY),
    "smtp_sender": Flag("E-MAIL", "From whom the mails are.", _IDENTITY),
    "terms_url": Flag("URL", "Where people can read the terms of use that they accept.", _IDENTITY),
    "echo_url": Flag("URL", "The echo backend; without one it is embedded.", _FAMILIES),
    "echo_deadline": Flag("SECONDS", "Within which the echo backend must answer.", _FAMILIES),
    "sunset": Flag("NAME=DATE,…", "Removal dates of families or operations (touchpanel=2030-01-31,E11=2029-12-31).", _FAMILIES),
    "streams_most": Flag("NUMBER", "How many event streams may be open at once.", _EVENTS),
    "webhook_networks": Flag("LIST", "Private networks, parted by commas, that webhooks may call.", _EVENTS),
    "webhook_deadline": Flag("SECONDS", "Within which the receiver of a webhook must answer.", _EVENTS),
    "webhook_given_up_days": Flag("DAYS", "By which age an event that a receiver did not take is a dead letter.", _EVENTS),
    "dead_letters_kept_days": Flag("DAYS", "How long dead letters are kept.", _EVENTS),
    "world_modules": Flag("NUMBER", "How many modules the read model may hold at once.", _RETENTION),
    "changes_kept_days": Flag("DAYS", "How long changes are kept.", _RETENTION),
    "readings_raw_days": Flag("DAYS", "How long readings are kept as measured; then one summary an hour.", _RETENTION),
    "readings_kept_days": Flag("DAYS", "How long the summaries of readings are kept.", _RETENTION),
    "readings_most": Flag("NUMBER", "How many readings and summaries are kept at most.", _RETENTION),
    "orders_kept_days": Flag("DAYS", "How long it is kept what became of a command.", _RETENTION),
    "removed_plants_kept_days": Flag("DAYS", "How long a removed plant is still listed as Removed.", _RETENTION),
    "audit_kept_days": Flag("DAYS", "How long the audit log is kept; for ever when not given.", _RETENTION),
    "log_level": Flag("LEVEL", "debug, info, warning or error.", _LOGS),
    "log_format": Flag("FORMAT", "text or json.", _LOGS),
    "access_log": Flag("true|false", "A line for every request; it costs half the throughput.", _LOGS),
} | {name: Flag(one.setting.metavar, one.setting.help, _DEVICES, also=one.setting.short_flag) for name, one in SETTINGS.items()}

CONFIG_HELP = "A TOML file with settings; flags and DOMOGATE_* variables go before it."


def flag_parameters(names: Sequence[str]) -> list[inspect.Parameter]:
    """Typer options for these settings, and --config."""

    def option(name: str, flag: Flag) -> inspect.Parameter:
        spelled = [f"--{name.replace('_', '-')}", *([flag.also] if flag.also else [])]
        shown = typer.Option(*spelled, metavar=flag.metavar, help=flag.help, rich_help_panel=flag.panel, show_default=False)
        return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[str | None, shown])

    return [*(option(name, FLAGS[name]) for name in names), option("config", Flag("FILE", CONFIG_HELP, _PLACE))]
