"""The regular work of a gateway: ending injected faults, pruning, samples for the overview that operators see, backups."""

from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from domogate.app.parts import find_database_file
from domogate.edge.metrics import Metrics
from domogate.services.backups import RegularBackups
from domogate.services.monitoring.problems import ProblemKind
from domogate.settings import Settings
from domogate.stores.backup_folder import SqliteBackupFolder

if TYPE_CHECKING:
    from domogate.app.gateway import Gateway


def find_backup_folder(settings: Settings) -> Path:
    return settings.backup_folder or settings.data / "backups"


class _Work(Protocol):
    async def start(self) -> None: ...
    async def stop(self) -> None: ...


class Maintenance:
    """Starts and stops the regular work (pruning, backups and so on), and finds the problems that operators must know."""

    def __init__(self, gateway: "Gateway") -> None:
        self._store = gateway.store
        self._clock_check = gateway.clock_check
        self.backups = _build_backups(gateway)
        """The regular backups. None if the setting `backup_every` is not given, or if the database is on a server."""
        self._works: list[_Work] = [gateway.fault_expiry, gateway.history, gateway.monitor]
        if self.backups is not None:
            self._works.append(self.backups)

    async def start(self) -> None:
        for work in self._works:
            await work.start()

    async def stop(self) -> None:
        for work in reversed(self._works):
            await work.stop()

    def find_warnings(self) -> dict[ProblemKind, str]:
        """Return the problems that operators must know: the text of each problem, by its kind. The gateway is ready in spite
        of them.

        Only operators get the texts, because they name files. Everybody can read the kinds (`/readyz`).
        """
        backup_problem = None if self.backups is None else self.backups.problem
        found: dict[ProblemKind, str | None] = {
            "writes": self._store.write_problem,
            "clock": self._clock_check.problem,
            "backup": backup_problem,
        }
        return {kind: detail for kind, detail in found.items() if detail}


def register_backup_metrics(metrics: Metrics, backups: RegularBackups) -> None:
    metrics.gauge(
        "domogate_last_backup_timestamp_seconds",
        "seconds",
        "Time of the newest backup on a schedule, as seconds since 1970; 0 if there is none. "
        "Only with the setting `backup_every`.",
        lambda: 0 if backups.newest is None else backups.newest.at,
    )
    metrics.gauge(
        "domogate_last_backup_bytes",
        "bytes",
        "Size of the newest backup on a schedule; 0 if there is none. Only with the setting `backup_every`.",
        lambda: 0 if backups.newest is None else backups.newest.size,
    )


def _build_backups(gateway: "Gateway") -> RegularBackups | None:
    settings, file = gateway.settings, find_database_file(gateway.settings)
    if settings.backup_every is None or file is None:
        return None
    folder = SqliteBackupFolder(file, find_backup_folder(settings))
    return RegularBackups(folder, gateway.clock, gateway.audit, every=settings.backup_every, keep=settings.backup_keep)
