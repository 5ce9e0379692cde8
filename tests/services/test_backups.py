"""When backups are made and removed: after restarts, after failures, and with a clock that is set."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest

from domogate.ports import BackupFile
from domogate.services.backups import CHECK_EVERY, RETRY_AFTER, RegularBackups
from support.clocks import NOW, LoopClock
from support.log_lines import capture_logs

pytestmark = pytest.mark.usefixtures("virtual_time")

MINUTE, HOUR, DAY, YEAR = 60.0, 3600.0, 86_400.0, 365 * 86_400.0


@dataclass
class Folder:
    """A folder in memory. Implements BackupFolder."""

    files: list[BackupFile] = field(default_factory=list)
    error: Exception | None = None
    removal_error: Exception | None = None
    attempts: int = 0

    async def list_backups(self) -> Sequence[BackupFile]:
        return list(self.files)

    async def add_backup(self, at: float) -> BackupFile:
        self.attempts += 1
        if self.error is not None:
            raise self.error
        number = self.files[-1].number + 1 if self.files else 1
        self.files.append(BackupFile(number, at, 1_000 + number, f"backup {number}"))
        return self.files[-1]

    async def remove_old(self, keep: int) -> Sequence[str]:
        if self.removal_error is not None:
            raise self.removal_error
        del self.files[:-keep]
        return []

    @property
    def times(self) -> list[float]:
        return [one.at for one in self.files]


class Audit:
    """Keeps the entries."""

    def __init__(self) -> None:
        self.entries: list[tuple[str, str, Mapping[str, str] | None]] = []

    def note(
        self, action: str, *, who: str, what: str, result: str, address: str = "", detail: Mapping[str, str] | None = None
    ) -> None:
        self.entries.append((action, who, detail))


@asynccontextmanager
async def running(folder: Folder, clock: LoopClock, *, every: float = DAY, keep: int = 3) -> AsyncIterator[RegularBackups]:
    backups = RegularBackups(folder, clock, Audit(), every=every, keep=keep)
    await backups.start()
    yield backups
    await backups.stop()


@pytest.fixture
def folder() -> Folder:
    return Folder()


@pytest.fixture
def clock() -> LoopClock:
    return LoopClock(NOW)


class TestSchedule:
    async def test_the_first_is_a_minute_after_the_start_and_then_one_each_day(self, folder: Folder, clock: LoopClock) -> None:
        async with running(folder, clock, keep=10):
            await asyncio.sleep(CHECK_EVERY - 1)
            assert folder.files == []
            await asyncio.sleep(3 * DAY)
        assert folder.times == [NOW + CHECK_EVERY + day * DAY for day in range(3)]

    async def test_a_gateway_that_restarts_each_hour_makes_one_each_day(self, folder: Folder, clock: LoopClock) -> None:
        for _ in range(72):
            async with running(folder, clock, keep=10):
                await asyncio.sleep(HOUR)
        assert len(folder.files) == 3

    async def test_the_newest_are_kept(self, folder: Folder, clock: LoopClock) -> None:
        async with running(folder, clock, keep=2) as backups:
            await asyncio.sleep(5 * DAY)
            assert backups.newest == folder.files[-1]
        assert [one.number for one in folder.files] == [4, 5]

    async def test_each_is_in_the_audit_log_and_in_the_log(self, folder: Folder, clock: LoopClock) -> None:
        audit = Audit()
        backups = RegularBackups(folder, clock, audit, every=DAY, keep=1)
        with capture_logs() as logs:
            await backups.start()
            await asyncio.sleep(2 * MINUTE)
            await backups.stop()
        assert audit.entries == [("backup", "gateway", {"file": "backup 1"})]
        assert [(line["event"], line["file"], line["bytes"]) for line in logs] == [
            ("backup written and checked", "backup 1", 1_001)
        ]


class TestClock:
    @pytest.mark.parametrize("leap", [-YEAR, -2 * HOUR, -1.0, 1.0, 2 * HOUR])
    async def test_a_clock_that_is_set_between_two_backups_makes_no_additional_one(
        self, folder: Folder, clock: LoopClock, leap: float
    ) -> None:
        async with running(folder, clock, keep=10):
            await asyncio.sleep(HOUR)
            clock.at += leap
            await asyncio.sleep(HOUR)
        assert len(folder.files) == (2 if leap == -YEAR else 1)

    @pytest.mark.slow
    @pytest.mark.parametrize("leap", [-YEAR, -2 * HOUR, 2 * HOUR, YEAR])
    async def test_after_a_leap_there_is_still_one_each_day(self, folder: Folder, clock: LoopClock, leap: float) -> None:
        async with running(folder, clock, keep=100):
            await asyncio.sleep(HOUR)
            clock.at += leap
            await asyncio.sleep(10 * DAY)
        assert 10 <= len(folder.files) <= 12

    async def test_a_clock_that_leaps_to_and_fro_does_not_replace_all_backups(self, folder: Folder, clock: LoopClock) -> None:
        async with running(folder, clock, keep=100):
            await asyncio.sleep(HOUR)
            for _ in range(20):
                clock.at += YEAR
                await asyncio.sleep(2 * MINUTE)
                clock.at -= YEAR
                await asyncio.sleep(2 * MINUTE)
        assert len(folder.files) == 2

    async def test_a_backup_from_the_future_does_not_delay_the_next_one(self, folder: Folder, clock: LoopClock) -> None:
        folder.files = [BackupFile(1, NOW + YEAR, 1, "of a wrong clock")]
        for _ in range(3):
            async with running(folder, clock, keep=10):
                await asyncio.sleep(HOUR)
        assert [one.number for one in folder.files] == [1, 2]


class TestFailures:
    async def test_old_backups_stay_and_it_is_tried_again(self, folder: Folder, clock: LoopClock) -> None:
        async with running(folder, clock, keep=1) as backups:
            await asyncio.sleep(HOUR)
            folder.error = OSError("disk full")
            with capture_logs() as logs:
                await asyncio.sleep(DAY)
            assert folder.times == [NOW + CHECK_EVERY]
            assert {line["event"] for line in logs} == {"no backup was made; will retry"}
            assert 2 <= len(logs) <= HOUR / RETRY_AFTER + 1
            problems = [backups.problem]
            folder.error = None
            await asyncio.sleep(RETRY_AFTER + CHECK_EVERY)
            assert [*problems, backups.problem] == ["the last backup failed: disk full", None]
        assert [one.number for one in folder.files] == [2]

    async def test_a_folder_that_cannot_be_read_does_not_stop_the_gateway(
        self, folder: Folder, clock: LoopClock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async def refuse() -> Sequence[BackupFile]:
            raise PermissionError("not allowed")

        with monkeypatch.context() as broken:
            broken.setattr(folder, "list_backups", refuse)
            async with running(folder, clock) as backups:
                problems = [backups.problem]
                broken.undo()
                await asyncio.sleep(HOUR)
                assert [*problems, backups.problem] == ["the folder of the backups cannot be read: not allowed", None]
        assert len(folder.files) == 1

    async def test_a_folder_that_can_be_read_again_is_no_problem_although_no_backup_is_due(
        self, folder: Folder, clock: LoopClock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async def refuse() -> Sequence[BackupFile]:
            raise PermissionError("not allowed")

        async with running(folder, clock):
            await asyncio.sleep(HOUR)
        with monkeypatch.context() as broken:
            broken.setattr(folder, "list_backups", refuse)
            async with running(folder, clock) as backups:
                broken.undo()
                await asyncio.sleep(RETRY_AFTER + CHECK_EVERY)
                assert (backups.problem, backups.newest) == (None, folder.files[0])
        assert len(folder.files) == 1

    @pytest.mark.parametrize("error", [PermissionError("not allowed"), ValueError("not allowed")])
    async def test_an_old_backup_that_cannot_be_removed_is_logged(
        self, folder: Folder, clock: LoopClock, error: Exception
    ) -> None:
        folder.removal_error = error
        with capture_logs() as logs:
            async with running(folder, clock) as backups:
                await asyncio.sleep(HOUR)
                assert backups.problem is None
        assert [line["reason"] for line in logs if line["event"] == "an old backup was not removed"] == ["not allowed"]
