"""The data folder is lost. The newest backup that the gateway made by itself brings everything back, as documented."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from domogate.stores.backup_folder import list_backup_files
from support.estate_view import EstateView
from support.fault_rounds import ShiftedGateway
from support.gateway import Gateway, eventually, import_estate, run_command
from support.http import KEY_HEADER
from support.kill_rounds import all_plugs, check_database
from support.plug_estate import KEY, OWNER, plug_estate
from support.restartable import kill
from support.shifted_gateway import CHECKS, write_shift
from support.spec_operations import E1
from support.store_access import add_credentials

pytestmark = pytest.mark.slow

EVERY = 600.0
"""In seconds. The tokens of the test are valid for an hour, so all leaps of the clock together must be shorter."""


@pytest.fixture
def gateway(tmp_path: Path) -> ShiftedGateway:
    settings = {
        "DOMOGATE_BACKUP_EVERY": str(EVERY),
        "DOMOGATE_BACKUP_KEEP": "2",
        "DOMOGATE_BACKUP_FOLDER": str(tmp_path / "backups"),
        "DOMOGATE_WEBHOOK_NETWORKS": "127.0.0.0/8",
        "DOMOGATE_SIMULATOR_TICK": "3600",
        CHECKS: "0.1",
    }
    gateway = ShiftedGateway(tmp_path, settings)
    write_shift(gateway.shift_file, 0.0)
    import_estate(plug_estate(), tmp_path, gateway.data, gateway.environment)
    return gateway


class TestDrill:
    def test_all_that_was_acknowledged_before_the_newest_backup_comes_back(
        self, gateway: ShiftedGateway, tmp_path: Path
    ) -> None:
        served = gateway.start()
        try:
            gateway.known = {name: add_credentials(served, KEY).ready[name] for name in ("subscription_key", "users")}
            self.wait_for_backups(tmp_path, [1])
            on = self.switch_on(served, [0, 1])
            webhook = self.register_webhook(served)
            for number in (1, 2):
                write_shift(gateway.shift_file, number * EVERY)
                self.wait_for_backups(tmp_path, [number, number + 1])
            too_late = self.switch_on(served, [2])
        finally:
            kill(served.process)
            served.stop()

        # The documented steps. The key was copied to a safe place before.
        shutil.copy(gateway.data / "secret-key", tmp_path / "copy-of-the-key")
        shutil.rmtree(gateway.data)
        newest = tmp_path / "backups" / list_backup_files(tmp_path / "backups")[-1].name
        gateway.data.mkdir(mode=0o700)
        refused = run_command(["restore", str(newest), "--data", str(gateway.data)], gateway.environment)
        assert refused.returncode == 1
        assert "secret key" in refused.stderr
        shutil.copy(tmp_path / "copy-of-the-key", gateway.data / "secret-key")
        restored = run_command(["restore", str(newest), "--data", str(gateway.data)], gateway.environment)
        assert restored.returncode == 0, restored.stderr

        served = gateway.start()
        try:
            # The key, the token and the encrypted secret of the webhook work as before.
            seen = all_plugs(served)
            assert {plug for plug, status in seen.items() if status == [True]} == on
            assert too_late.isdisjoint(on)
            assert self.list_webhooks(served) == [webhook]
            assert self.switch_on(served, [2]) == too_late
            # The schedule continues.
            write_shift(gateway.shift_file, 3 * EVERY)
            self.wait_for_backups(tmp_path, [3, 4])
        finally:
            served.stop()
        check_database(gateway.database)
        assert served.log.count("backup written and checked") == 4

    def wait_for_backups(self, tmp_path: Path, numbers: list[int]) -> None:
        eventually(
            lambda: [one.number for one in list_backup_files(tmp_path / "backups")] == numbers, f"the backups are {numbers}"
        )

    def switch_on(self, served: Gateway, rooms: list[int]) -> set[str]:
        """Switch the plugs of these rooms of the first plant on. Returns the ids of the plugs."""
        plant = EstateView(plug_estate()).plants[0]
        switched = set()
        for room in [plant.plug_ambients[number] for number in rooms]:
            target = {"plant": plant.id, "ambient": str(room["id"])}
            answer = served.send(E1, target, who=OWNER, body=b'{"status": "on"}')
            assert answer.status_code == 200, answer.text
            switched |= {str(module["id"]) for module in room["modules"]}
        return switched

    def register_webhook(self, served: Gateway) -> Any:
        plant = EstateView(plug_estate()).plants[0]
        body = {"plantId": plant.id, "url": "http://127.0.0.1:9/hook"}
        made = served.api.http.post("/webhooks", json=body, headers=self.headers(served))
        assert made.status_code == 201, made.text
        return made.json()["id"]

    def list_webhooks(self, served: Gateway) -> list[Any]:
        answer = served.api.http.get("/webhooks", headers=self.headers(served))
        assert answer.status_code == 200, answer.text
        found = answer.json()
        return [one["id"] for one in (found if isinstance(found, list) else next(iter(found.values())))]

    def headers(self, served: Gateway) -> dict[str, str]:
        return {KEY_HEADER: KEY, "Authorization": f"Bearer {served.people[OWNER].id_token}"}
