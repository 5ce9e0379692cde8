"""The blocks that `./dev test` only checks: programs accept their arguments, and messages of a broker match their topics."""

import argparse
import re
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import pytest

import benchmarks.__main__
import release.__main__
import soak.__main__
from docsite.building import ROOT
from support.gateway import eventually
from support.mosquitto import DeviceClient, mosquitto
from support.page_blocks import read_blocks, read_commands
from support.page_marks import is_checked, pages_with_commands
from support.page_stage import announce_devices

CHECKED = [(page, block.script) for page in pages_with_commands() for block in read_blocks(page) if is_checked(block)]


def check_tests(words: list[str]) -> None:
    """The arguments go to pytest: here they are paths."""
    assert [word for word in words if word != "fast" and not (ROOT / word).exists()] == []


PARSERS: dict[str, Callable[[list[str]], object]] = {
    "bench": benchmarks.__main__.parse_arguments,
    "soak": soak.__main__.parse_arguments,
    "package": release.__main__.parse_arguments,
    "test": check_tests,
}


def check(words: list[str]) -> str:
    """Check one command. Return the program that was checked."""
    if words[0] == "./dev":
        PARSERS[words[1]](words[2:])
    elif "-m" in words:
        assert find_spec(words[words.index("-m") + 1]) is not None, words
    else:
        assert words[0] in ("cd", "git", "sha256sum", "mosquitto_sub"), words
    return words[0]


@pytest.mark.parametrize(("page", "script"), CHECKED, ids=lambda value: value.stem if isinstance(value, Path) else "")
def test_each_program_accepts_its_arguments(page: Path, script: str) -> None:
    assert {check(words) for words in read_commands(re.sub(" +#.*", "", script))}


@pytest.mark.parametrize(
    "words", [["bench", "reeds"], ["soak", "--minutes", "0"], ["package", "--uot", "x"], ["test", "tests/crsh"]]
)
def test_a_wrong_argument_is_noticed(words: list[str]) -> None:
    with pytest.raises((SystemExit, AssertionError)):
        check(["./dev", *words])


def has_received(client: DeviceClient) -> bool:
    return bool(client.received)


@pytest.mark.slow
def test_each_mosquitto_sub_shows_messages_of_devices(tmp_path: Path) -> None:
    """The same topics, with an independent client: the tests do not install mosquitto-clients."""
    parser = argparse.ArgumentParser(add_help=False)
    for flag in ("-h", "-W"):
        parser.add_argument(flag)
    parser.add_argument("-v", action="store_true")
    parser.add_argument("-t", action="append", dest="topics")
    commands = [words[1:] for _, script in CHECKED for words in read_commands(script) if words[0] == "mosquitto_sub"]
    assert len(commands) == 2
    with mosquitto(tmp_path) as broker:
        announce_devices(broker)
        for words in commands:
            client = DeviceClient(broker.port)
            client.listen(*parser.parse_args(words).topics)
            eventually(partial(has_received, client), f"a message for {words}")
            client.close()
