"""A second gateway on the same SQLite data, and a gateway on PostgreSQL that is not a member of a cluster, are refused.

Commands still work, and the data is free after the first gateway has ended.
"""

import subprocess
from pathlib import Path

import pytest

from support import processes
from support.command_line import CommandLine
from support.gateway import running, start
from support.restartable import clean_environment

pytestmark = pytest.mark.slow


def serve(data: Path, *flags: str) -> subprocess.CompletedProcess[str]:
    """A `domogate serve` that is expected to end by itself."""
    return processes.run(["serve", "--port", "0", "--data", str(data), *flags], clean_environment({}), 240)


def test_a_second_gateway_is_refused_until_the_first_has_ended(tmp_path: Path) -> None:
    with running(start("demo", tmp_path)) as first:
        for flags in ((), ("--database", f"sqlite:///{first.data / 'domogate.sqlite3'}")):
            second = serve(first.data, *flags)
            assert second.returncode == 1
            assert f"another gateway runs on the data in {first.data}" in second.stderr
            assert "They can be a cluster, with the settings database (a PostgreSQL URL), nats and cluster." in second.stderr
            assert "Traceback" not in second.stderr
        assert "anna" in first.domogate("user", "list")
        first.process.kill()
        first.process.wait()
    with running(start("demo", tmp_path)) as again:
        assert "anna" in again.domogate("user", "list")


def test_no_backup_is_restored_under_a_running_gateway(tmp_path: Path) -> None:
    """Otherwise the gateway would go on with the database that was moved away, and new connections would use the other one."""
    backup = tmp_path / "backup.db"
    with running(start("demo", tmp_path / "data")) as gateway:
        gateway.domogate("backup", str(backup))
        (tmp_path / "away").mkdir()
        for file in gateway.data.glob("domogate.sqlite3*"):
            file.rename(tmp_path / "away" / file.name)
        line = CommandLine(gateway.data)
        said = line.refused("restore", str(backup))
        assert f"another gateway runs on the data in {gateway.data}. Stop it first" in said
        assert not (gateway.data / "domogate.sqlite3").exists()
        gateway.process.kill()
        gateway.process.wait()
        line.good("restore", str(backup))


@pytest.mark.parametrize("command", ["serve", "demo"])
def test_a_gateway_on_postgresql_needs_nats_and_the_name_of_a_cluster(domogate: CommandLine, command: str) -> None:
    said = domogate.refused(command, "--database", "postgresql://gate@127.0.0.1:1/homes", code=2)
    assert "database (flag --database): a gateway on PostgreSQL is a member of a cluster" in said
    assert "Set nats and cluster too, or remove database." in said


def test_several_processes_need_a_cluster(domogate: CommandLine) -> None:
    said = domogate.refused("serve", "--processes", "2", code=2)
    assert "several processes are a cluster: set database (a PostgreSQL URL), nats and cluster." in said


def test_several_processes_need_several_ports_for_metrics(domogate: CommandLine) -> None:
    member = ("--database", "postgresql://gate@127.0.0.1:1/homes", "--nats", "nats://127.0.0.1:1", "--cluster", "north")
    said = domogate.refused("serve", "--processes", "3", *member, "--port", "9002", "--metrics-port", "9000", code=2)
    assert "each process has its own port for /metrics, here 9000 to 9002" in said
    said = domogate.refused("serve", "--processes", "3", *member, "--metrics-port", "65534", code=2)
    assert "65535 is the last port; choose a lower metrics_port." in said


def test_a_supervisor_ends_if_its_first_process_cannot_start(tmp_path: Path) -> None:
    member = ("--database", "postgresql://gate@127.0.0.1:1/homes", "--nats", "nats://127.0.0.1:1", "--cluster", "north")
    ended = serve(tmp_path, "--processes", "2", *member)
    assert ended.returncode == 1
    assert ended.stderr.count("domogate: the database postgresql://127.0.0.1:1/homes cannot be used") == 1
    assert "Traceback" not in ended.stderr
