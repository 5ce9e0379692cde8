"""A forked `domogate` behaves like a started one."""

import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.gateway import Gateway, _environment, running, start
from support.http import PATIENCE
from support.processes import ForkedProcess, launch, run


@pytest.fixture
def serving(tmp_path: Path) -> Iterator[Gateway]:
    with running(start("serve", tmp_path)) as gateway:
        yield gateway


class TestACommand:
    @pytest.mark.parametrize("arguments", [["version"], ["no-such-command"], ["key", "list", "--data", "/dev/null/x"]], ids=str)
    def test_prints_and_ends_like_a_newly_started_one(self, arguments: list[str], tmp_path: Path) -> None:
        environment = _environment({})
        with (tmp_path / "stdout").open("wb") as stdout, (tmp_path / "stderr").open("wb") as stderr:
            started = launch(arguments, environment, stdout, stderr, new_interpreter=True)
            forked = run(arguments, environment, PATIENCE)
            assert isinstance(started, subprocess.Popen)
            assert started.wait(PATIENCE) == forked.returncode
        assert ((tmp_path / "stdout").read_text(), (tmp_path / "stderr").read_text()) == (forked.stdout, forked.stderr)
        assert forked.stdout or forked.stderr

    def test_has_only_the_environment_that_it_is_given(self, tmp_path: Path) -> None:
        done = run(["init", "--email", "a@example.com"], _environment({"DOMOGATE_DATA": str(tmp_path / "here")}), PATIENCE)
        assert (done.returncode, (tmp_path / "here").is_dir()) == (0, True)
        again = run(["init", "--email", "a@example.com", "--data", str(tmp_path / "there")], _environment({}), PATIENCE)
        assert (again.returncode, (tmp_path / "there").is_dir()) == (0, True)

    def test_that_takes_too_long_is_ended(self, tmp_path: Path) -> None:
        with pytest.raises(subprocess.TimeoutExpired):
            run(["serve", "--port", "0", "--data", str(tmp_path)], _environment({}), 0.01)


class TestAProcess:
    def test_is_a_separate_process_that_runs_until_it_is_stopped(self, serving: Gateway) -> None:
        process = serving.process
        assert isinstance(process, ForkedProcess)
        assert process.poll() is None
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.01)
        process.terminate()
        assert process.wait(PATIENCE) == process.poll() == 0
        process.kill()  # the number of the process may belong to another process now

    def test_that_is_killed_says_by_what(self, serving: Gateway) -> None:
        serving.process.kill()
        assert serving.process.wait(PATIENCE) == -signal.SIGKILL
