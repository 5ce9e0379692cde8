"""The disk of the database is full or refuses writes while the gateway runs: a clear refusal, and nothing is lost."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from domogate.stores.backup_folder import list_backup_files
from support.estate_view import EstateView
from support.failing_disk import failing_disk
from support.fault_rounds import ShiftedGateway
from support.gateway import Gateway, import_estate, run_command
from support.http import KEY_HEADER
from support.kill_rounds import all_plugs, check_database
from support.plug_estate import KEY, OWNER, plug_estate
from support.restartable import kill
from support.shifted_gateway import CHECKS, write_shift
from support.small_disk import limit_files, small_disk
from support.spec_operations import E1
from support.store_access import add_credentials

pytestmark = pytest.mark.slow

EVERY = 600.0
PATIENCE = 120.0
PLANT = EstateView(plug_estate()).plants[0]


@dataclass
class Running:
    """A gateway, and the plugs that it has switched on."""

    gateway: ShiftedGateway
    served: Gateway
    on: set[str]

    def switch_on(self, room: int) -> int:
        """Switch the plugs of a room on and return the status. A plug counts only if the order was acknowledged."""
        ambient = PLANT.plug_ambients[room]
        target = {"plant": PLANT.id, "ambient": str(ambient["id"])}
        answer = self.served.send(E1, target, who=OWNER, body=b'{"status": "on"}')
        if answer.status_code == 200:
            self.on |= {str(module["id"]) for module in ambient["modules"]}
        return answer.status_code

    def register_webhook(self) -> httpx.Response:
        headers = {KEY_HEADER: KEY, "Authorization": f"Bearer {self.served.people[OWNER].id_token}"}
        body = {"plantId": PLANT.id, "url": "http://127.0.0.1:9/hook"}
        return self.served.api.http.post("/webhooks", json=body, headers=headers)

    def read_warnings(self) -> list[str]:
        """The kinds of warnings that /readyz shows to everybody."""
        answer = httpx.get(f"{self.served.base_url}/readyz", timeout=60)
        assert answer.status_code == 200, answer.text
        assert str(self.gateway.data) not in answer.text
        return list(answer.json().get("warnings", ()))

    def plugs_on(self) -> set[str]:
        return {plug for plug, status in all_plugs(self.served).items() if status == [True]}


def wait_until(holds: Callable[[], object], what: str) -> None:
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end, what
        time.sleep(0.05)


@contextmanager
def serving(directory: Path) -> Iterator[Running]:
    settings = {
        "DOMOGATE_BACKUP_EVERY": str(EVERY),
        "DOMOGATE_WEBHOOK_NETWORKS": "127.0.0.0/8",
        "DOMOGATE_SIMULATOR_TICK": "3600",
        "DOMOGATE_STATE_MAX_AGE": "3600",
        CHECKS: "0.2",
    }
    gateway = ShiftedGateway(directory, settings)
    write_shift(gateway.shift_file, 0.0)
    import_estate(plug_estate(), directory, gateway.data, gateway.environment)
    served = gateway.start()
    try:
        gateway.known = {name: add_credentials(served, KEY).ready[name] for name in ("subscription_key", "users")}
        yield Running(gateway, served, set())
    finally:
        kill(served.process)
        served.stop()


class TestAFullDisk:
    def test_writes_are_refused_reads_go_on_and_nothing_is_lost(self, tmp_path: Path) -> None:
        with small_disk(tmp_path / "data") as disk, serving(tmp_path) as running:
            backups, process = running.gateway.data / "backups", running.served.process
            wait_until(lambda: len(list_backup_files(backups)) == 1, "no backup")
            assert running.switch_on(0) == 200
            disk.fill(process.pid)
            assert running.switch_on(1) == 500
            assert running.plugs_on() == running.on
            refused = running.register_webhook()
            assert (refused.status_code, "Retry-After" in refused.headers) == (503, True)
            assert "cannot write to its disk" in refused.text
            assert running.read_warnings() == ["writes"]
            # A backup that is due does not make it worse.
            write_shift(running.gateway.shift_file, EVERY)
            wait_until(lambda: "backup" in running.read_warnings(), "the backup did not fail")
            assert [path.name for path in backups.iterdir()] == [list_backup_files(backups)[0].name]
            if disk.is_mounted:
                examined = run_command(["doctor", "--data", str(running.gateway.data)], running.gateway.environment)
                assert "problem  disk: 0 MB are free" in examined.stdout
            disk.free(process.pid)
            wait_until(lambda: running.switch_on(2) == 200, "no write succeeded after space was free")
            assert "writes" not in running.read_warnings()
            assert running.register_webhook().status_code == 201
            log = running.served.log
            assert "Traceback" not in log
            if disk.is_mounted:  # The limit for the process also stops its log.
                assert log.count("nothing can be written") == log.count("the database can be written again") == 1
            kill(process)
            check_database(running.gateway.database)
            running.served = running.gateway.start()
            try:
                assert running.plugs_on() == running.on
            finally:
                running.served.stop()


class TestADiskThatRefusesWrites:
    def test_the_gateway_notices_it_without_a_request_and_recovers(self, tmp_path: Path) -> None:
        with serving(tmp_path) as running:
            assert running.switch_on(0) == 200
            limit_files(running.served.process.pid, 0)
            wait_until(lambda: "writes" in running.read_warnings(), "the heartbeat did not notice it")
            assert running.switch_on(1) == 500
            assert running.plugs_on() == running.on
            limit_files(running.served.process.pid, None)
            wait_until(lambda: "writes" not in running.read_warnings(), "the heartbeat did not notice the end")
            assert running.switch_on(2) == 200
            assert running.plugs_on() == running.on


class TestADiskThatBecomesReadOnly:
    def test_writes_are_refused_until_the_disk_is_repaired_and_nothing_is_lost(self, tmp_path: Path) -> None:
        with failing_disk(tmp_path / "data") as disk, serving(tmp_path) as running:
            wait_until(lambda: len(list_backup_files(running.gateway.data / "backups")) == 1, "no backup")
            assert running.switch_on(0) == 200
            disk.fail()
            wait_until(lambda: "writes" in running.read_warnings(), "the heartbeat did not notice it")
            assert running.switch_on(1) == 500
            assert running.plugs_on() == running.on
            refused = running.register_webhook()
            assert (refused.status_code, "Retry-After" in refused.headers) == (503, True)
            assert "cannot write to its disk" in refused.text
            examined = run_command(["doctor", "--data", str(running.gateway.data)], running.gateway.environment)
            assert "problem  database: it cannot be used: [Errno 30] Read-only file system" in examined.stdout
            assert not disk.allow_writes()
            running.served.stop()
            log = running.served.log
            assert "cannot be written: its disk refuses writes. Check the disk, its free space and the log of the system" in log
            assert (
                "this is not enough: stop the gateway, unmount the disk, run fsck, mount the disk, and start the gateway" in log
            )
            assert (log.count("nothing can be written"), "Traceback" in log) == (1, False), log
            disk.unmount()
            disk.repair()
            assert disk.mount()
            check_database(running.gateway.database)
            running.served = running.gateway.start()
            try:
                assert running.plugs_on() == running.on
                assert running.read_warnings() == []
                assert running.switch_on(2) == 200
                assert running.plugs_on() == running.on
            finally:
                running.served.stop()
