"""Flags, DOMOGATE_* and a TOML file become one frozen Settings; a bad one stops the start and is named."""

from pathlib import Path

import msgspec

from domogate.domain.devices import DeviceKind


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
    simulator_seed: int = 1
    simulator_tick: float = 5.0
    simulator_awake_plants: int = 100

    # identity
    access_token_lifetime: float = 3600.0
    id_token_lifetime: float = 3600.0
    ticket_lifetime: float = 60.0

    # families
    echo_url: str | None = None
    """The echo backend; None is the embedded one."""
    echo_deadline: float = 5.0
    sunset: dict[str, str] = {}
    """Removal dates by family name or operation ('touchpanel' or 'E11'), ISO 8601 dates."""

    # memory and retention
    world_modules: int = 200_000
    """How many modules the read model may hold at once."""
    changes_kept_days: float = 7.0
    readings_kept_days: float = 30.0
    removed_plants_kept_days: float = 30.0

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
