"""What can be set, except what drivers declare themselves. How it is set, and what is said of mistakes, is in `loading.py`."""

from pathlib import Path

import msgspec

from domogate.domain.devices import DeviceKind
from domogate.drivers import make_settings
from domogate.drivers.declaration import DriverSettings
from domogate.identity.profiles import IssuerProfile


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """Everything an operator can set. The environment variable of `max_body` is DOMOGATE_MAX_BODY, its flag --max-body."""

    # where
    data: Path = Path("domogate-data")
    database: str | None = None
    """A SQLAlchemy URL; None is SQLite in `data`."""
    host: str = "127.0.0.1"
    port: int = 8080
    public_url: str | None = None
    """What clients call this gateway; None is http(s)://host:port."""
    tls_certificate: Path | None = None
    tls_key: Path | None = None
    trusted_proxies: tuple[str, ...] = ()
    """Addresses or networks whose forwarded headers are believed; none by default."""
    metrics_host: str = "127.0.0.1"
    metrics_port: int | None = None
    """None: no /metrics at all; it never shares a bind with the API."""

    # protocol guards
    max_body: int = 65_536
    max_header: int = 32_768
    header_deadline: float = 10.0
    body_deadline: float = 30.0
    keep_alive: float = 75.0
    drain: float = 10.0

    # devices
    device_deadline: float = 5.0
    state_max_age: float = 60.0
    """How old a state may be before the device is asked again; `state_max_ages` says otherwise for a kind."""
    state_max_ages: dict[DeviceKind, float] = {}
    drivers: dict[str, DriverSettings] = msgspec.field(default_factory=lambda: make_settings({}))
    """The settings that each driver declares, by driver; an operator sets them one by one (simulator_seed)."""
    simulator_awake_plants: int = 100
    """How many purely simulated plants are kept moving at once; a plant with a real device always is."""

    # identity
    access_token_lifetime: float = 3600.0
    id_token_lifetime: float = 3600.0
    ticket_lifetime: float = 60.0
    code_lifetime: float = 60.0
    refresh_token_lifetime: float = 90 * 86_400.0
    refresh_grace: float = 10.0
    """For so long after a refresh the same refresh token gets the same answer again: a lost response logs nobody out."""
    session_lifetime: float = 30 * 86_400.0
    session_idle_lifetime: float = 7 * 86_400.0
    link_lifetime: float = 3 * 86_400.0
    signing_algorithm: str = "ES256"
    issuers: tuple[IssuerProfile, ...] = ()
    """Other issuers whose tokens are accepted; in the TOML file as [[issuers]]."""
    own_issuer: bool = True
    """False: only tokens of `issuers` are accepted."""
    implicit_enabled: bool = False
    second_factor_required: bool = False
    smtp_host: str | None = None
    """None: links are printed, nothing is mailed."""
    smtp_port: int = 587
    smtp_security: str = "starttls"
    """starttls, tls or none"""
    smtp_user: str | None = None
    smtp_password: str | None = None
    smtp_sender: str | None = None
    terms_url: str | None = None
    """Where the terms of use can be read; None: no link to them."""

    # families
    echo_url: str | None = None
    """The echo backend; None is the embedded one."""
    echo_deadline: float = 5.0
    sunset: dict[str, str] = {}
    """Removal dates by family name or operation ('touchpanel' or 'E11'), ISO 8601 dates."""

    # events
    streams_most: int = 5_000
    """How many event streams may be open at once."""
    webhook_networks: tuple[str, ...] = ()
    """Private addresses or networks that webhooks may call, without TLS too; none by default."""
    webhook_deadline: float = 15.0
    webhook_given_up_days: float = 3.0
    """An event that a receiver has not taken by this age is a dead letter; less than `changes_kept_days`."""
    dead_letters_kept_days: float = 30.0

    # memory and retention
    world_modules: int = 200_000
    """How many modules the read model may hold at once."""
    changes_kept_days: float = 7.0
    readings_raw_days: float = 7.0
    """For so long readings are kept as they were measured; then one summary an hour, until `readings_kept_days`."""
    readings_kept_days: float = 365.0
    readings_most: int = 20_000_000
    """How many readings and summaries are kept at most; the oldest go first."""
    orders_kept_days: float = 30.0
    removed_plants_kept_days: float = 30.0
    audit_kept_days: float | None = None
    """None: the audit log is kept for ever."""

    # logs
    log_level: str = "info"
    log_format: str = "text"
    """text or json"""
    access_log: bool = False

    @property
    def base_url(self) -> str:
        if self.public_url is not None:
            return self.public_url.rstrip("/")
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https' if self.tls_certificate else 'http'}://{host}:{self.port}"

    @property
    def auth_url(self) -> str:
        return f"{self.base_url}/auth"
