"""In the shell of a page, `domogate` behaves as the real program: output, exit status, folder, variables and signals."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from domogate import __version__
from support.page_shell import Reader

pytestmark = pytest.mark.slow


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[Reader]:
    reader = Reader(tmp_path)
    yield reader
    reader.stop()


def test_output_and_exit_status_are_those_of_the_command(reader: Reader) -> None:
    assert f"domogate {__version__} " in reader.run("domogate version | cat")
    assert "status 2" in reader.run("domogate versoin 2>message || echo status $?")
    assert "versoin" in reader.run("cat message")


def test_it_runs_in_the_folder_and_with_the_variables_of_the_shell(reader: Reader) -> None:
    reader.run("mkdir inner; cd inner; export DOMOGATE_DATA=here; domogate init --email anna@example.com")
    assert "inner/here" in reader.run("ls -d $HOME/inner/here")


def test_a_signal_ends_the_process(reader: Reader) -> None:
    printed = reader.run("""
        domogate demo --port 0 >log 2>&1 &
        until grep -q Ctrl-C log; do sleep 0.1; done
        kill $!
        wait $! && echo ended with $?
    """)
    assert "ended with 0" in printed
