"""Checks that the settings of a cluster are complete and fit together."""

from collections.abc import Iterator

from domogate.settings.loading import BadSettings, Mistake
from domogate.settings.values import Settings

_WAYS = ("nats_user", "nats_token", "nats_nkey", "nats_credentials")
"""The settings with which a gateway proves its identity to NATS. At most one of them may be given."""


def check_cluster(settings: Settings) -> None:
    """Raises BadSettings if a setting of a cluster is missing, has no effect, or cannot be used with another setting."""
    if mistakes := list(_find_mistakes(settings)):
        raise BadSettings(mistakes)


def _find_mistakes(settings: Settings) -> Iterator[Mistake]:
    on_server = settings.database is not None and settings.database.startswith("postgres")
    given = {"database": on_server, "nats": bool(settings.nats), "cluster": settings.cluster is not None}
    missing = [name for name, is_given in given.items() if not is_given]
    if missing and any(given.values()):
        for name in (name for name, is_given in given.items() if is_given):
            yield Mistake(
                name,
                _source(settings, name),
                "a gateway on PostgreSQL is a member of a cluster, also if it is the only one. It needs database (a PostgreSQL"
                f" URL), nats and cluster. Set {' and '.join(missing)} too, or remove {name}.",
            )
    if on_server and settings.backup_every is not None:
        yield Mistake(
            "backup_every",
            _source(settings, "backup_every"),
            "the gateway does not back up PostgreSQL. Remove this setting, and let the server archive its log (WAL) and run"
            " pg_basebackup, or run pg_dump: docs/operations/backups.md, section Backups of PostgreSQL.",
        )
    if not settings.nats:
        for name in (*_WAYS, "nats_password", "nats_tls_ca", "nats_tls_certificate", "nats_tls_key"):
            if getattr(settings, name) is not None:
                yield Mistake(name, _source(settings, name), "it has no effect, because nats is not set.")
    ways = [name for name in _WAYS if getattr(settings, name) is not None]
    if len(ways) > 1:
        yield Mistake(ways[1], _source(settings, ways[1]), f"{ways[0]} is given too; give only one of {', '.join(_WAYS)}.")
    for one, other in (("nats_user", "nats_password"), ("nats_tls_certificate", "nats_tls_key")):
        present = [name for name in (one, other) if getattr(settings, name) is not None]
        if len(present) == 1:
            absent = other if present == [one] else one
            yield Mistake(present[0], _source(settings, present[0]), f"{absent} is missing; set both, or neither.")


def _source(settings: Settings, name: str) -> str:
    return settings.sources.get(name, "settings")
