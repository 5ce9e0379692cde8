"""The settings of the gateway. Drivers declare their own settings."""

from pathlib import Path

import msgspec

from domogate.common.urls import normalize_url
from domogate.domain.devices import DeviceKind
from domogate.domain.languages import DEFAULT_LANGUAGE
from domogate.drivers import make_settings
from domogate.drivers.declaration import DriverSettings
from domogate.identity.profiles import IssuerProfile


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """All settings with their defaults. `descriptions.py` explains each setting.

    The environment variable of `max_body` is DOMOGATE_MAX_BODY, its flag is --max-body.
    """

    # Where
    data: Path = Path("domogate-data")
    database: str | None = None
    secret_key_file: Path | None = None
    secret_key: str | None = None
    host: str = "127.0.0.1"
    port: int = 8080
    public_url: str | None = None
    tls_certificate: Path | None = None
    tls_key: Path | None = None
    trusted_proxies: tuple[str, ...] = ()
    insecure_http: bool = False
    metrics_host: str = "127.0.0.1"
    metrics_port: int | None = None

    # Cluster
    cluster: str | None = None
    knowledge_bound: float = 2.0
    nats: tuple[str, ...] = ()
    nats_user: str | None = None
    nats_password: str | None = None
    nats_token: str | None = None
    nats_nkey: str | None = None
    nats_credentials: Path | None = None
    nats_tls_ca: Path | None = None
    nats_tls_certificate: Path | None = None
    nats_tls_key: Path | None = None

    # Protocol guards
    max_body: int = 65_536
    max_header: int = 32_768
    header_deadline: float = 10.0
    body_deadline: float = 30.0
    keep_alive: float = 75.0
    connections_most: int = 6_000
    connections_most_per_address: int = 256
    drain: float = 10.0

    # Devices
    device_deadline: float = 5.0
    state_max_age: float = 60.0
    state_max_ages: dict[DeviceKind, float] = {}
    drivers: dict[str, DriverSettings] = msgspec.field(default_factory=lambda: make_settings({}))
    """The settings of each driver, by the name of the driver.

    Operators use the full name of such a setting, for example `simulator_seed`.
    """
    simulator_awake_plants: int = 100

    # Identity
    access_token_lifetime: float = 3600.0
    id_token_lifetime: float = 3600.0
    ticket_lifetime: float = 60.0
    code_lifetime: float = 60.0
    refresh_token_lifetime: float = 90 * 86_400.0
    refresh_grace: float = 10.0
    session_lifetime: float = 30 * 86_400.0
    session_idle_lifetime: float = 7 * 86_400.0
    link_lifetime: float = 3 * 86_400.0
    signing_algorithm: str = "ES256"
    issuers: tuple[IssuerProfile, ...] = ()
    own_issuer: bool = True
    implicit_enabled: bool = False
    second_factor_required: bool = False
    smtp_host: str | None = None
    smtp_port: int = 587
    smtp_security: str = "starttls"
    smtp_user: str | None = None
    smtp_password: str | None = None
    smtp_sender: str | None = None
    operator_name: str | None = None
    default_language: str = DEFAULT_LANGUAGE
    terms_file: Path | None = None
    terms_url: str | None = None
    energy_price: str | None = None

    # Pages
    console: bool = True
    operator_logo: Path | None = None
    self_service: bool = False
    self_service_quota: int = 10_000
    self_service_rate: str = "10/second"

    # Families
    echo_url: str | None = None
    echo_deadline: float = 5.0
    sunset: dict[str, str] = {}

    # Events
    streams_most: int = 5_000
    streams_most_per_user: int = 50
    streams_most_per_key: int = 2_500
    webhook_networks: tuple[str, ...] = ()
    webhook_deadline: float = 15.0
    webhook_given_up_days: float = 3.0
    dead_letters_kept_days: float = 30.0

    # Memory and retention
    world_modules: int = 200_000
    changes_kept_days: float = 7.0
    readings_raw_days: float = 7.0
    readings_kept_days: float = 365.0
    readings_most: int = 20_000_000
    orders_kept_days: float = 30.0
    removed_plants_kept_days: float = 30.0
    audit_kept_days: float | None = None

    # Backups
    backup_every: float | None = None
    backup_keep: int = 7
    backup_folder: Path | None = None

    # Logs
    log_level: str = "info"
    log_format: str = "text"
    access_log: bool = False
    slow_request: float | None = None
    trace_endpoint: str | None = None
    trace_ratio: float = 1.0
    trust_traceparent: bool = False

    sources: dict[str, str] = {}
    """The place from which each given setting came, for operators: a flag, a variable, a file or a systemd credential.

    For example `flag --port` or `variable DOMOGATE_PORT`.
    """

    @property
    def base_url(self) -> str:
        """The URL that clients use, in the form of `normalize_url`. The pages compare its origin with their own origin."""
        if self.public_url is not None:
            return normalize_url(self.public_url)
        host = f"[{self.host}]" if ":" in self.host else self.host
        return normalize_url(f"{'https' if self.tls_certificate else 'http'}://{host}:{self.port}")

    @property
    def only_https(self) -> bool:
        """Whether clients always use HTTPS, either to the gateway itself or to a trusted proxy in front of the gateway."""
        return self.tls_certificate is not None or (bool(self.trusted_proxies) and self.base_url.startswith("https://"))

    @property
    def serves_pages(self) -> bool:
        """Whether the pages for people are served. They use the gateway's own tokens, so they need the setting `own_issuer`."""
        return self.console and self.own_issuer

    @property
    def auth_url(self) -> str:
        return f"{self.base_url}/auth"
