"""Each block of commands in docs/ is run or marked, and names only commands, flags, settings and paths that exist."""

import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from docsite.building import ROOT
from docsite.deploy_files import make_downloads
from domogate.app.slow_requests import list_routes
from domogate.cli.commands import cli
from domogate.settings import Settings, load_settings
from domogate.test_api.surface import SURFACE as TEST_KIT
from support.page_blocks import Block, read_blocks, read_commands
from support.page_marks import DOCS, READMES, find_wrong_marks, is_checked, is_run, pages_with_commands

PAGES = pages_with_commands()
_DOWNLOADS = [f"/docs/{name}" for name in make_downloads()]
_OUTSIDE_SURFACES = ("/auth/token", "/auth/revoke", "/auth/introspect", "/auth/userinfo", "/readyz", *_DOWNLOADS)
_OUR_HOSTS = r"(?:\$BASE|https?://(?:127\.0\.0\.1:8080|gateway\.example\.com(?::\d+)?))"


def shell_blocks(page: Path) -> list[Block]:
    """Return the blocks of commands, without those for a program that the reader writes on this page."""
    return [block for block in read_blocks(page) if block.is_shell and not block.mark.startswith("run by: tests/extending/")]


def parse(words: list[str]) -> str:
    """Read a command line with the parser of the program, without running it. Returns what is wrong."""
    command: click.Command = cli
    context = click.Context(cli, info_name="domogate")
    try:
        while isinstance(command, click.Group):
            _, rest, _ = command.make_parser(context).parse_args(words)
            name, found, words = command.resolve_command(context, rest)
            assert found is not None
            command, context = found, click.Context(found, info_name=name, parent=context)
        command.make_context(context.info_name, words)
    except click.ClickException as error:
        return error.format_message()
    return ""


def find_calls(script: str, program: str) -> Iterator[list[str]]:
    """Yield the arguments of each call of the program, also behind `sudo`, `docker compose exec SERVICE` or a path."""
    for words in read_commands(script):
        called = words[words.index("exec") + 2 :] if "exec" in words else words[words[0] == "sudo" :]
        if called[0].rpartition("/")[2] == program:
            yield called[1:]


def find_paths(blocks: list[Block]) -> Iterator[str]:
    """Yield the path of each URL of ours that curl asks for. The variables of the page have their values."""
    values: dict[str, str] = {}

    def value_of(match: re.Match[str]) -> str:
        return values.get(match[1], match[0])

    for block in blocks:
        assigned: list[tuple[str, str]] = re.findall(r"^(\w+)=(\S+?/\S+)$", block.script, re.MULTILINE)
        values |= {name: text.replace("$(field base_url)", "$BASE") for name, text in assigned}
        for words in find_calls(block.script, "curl"):
            for word in words:
                if found := re.match(rf"{_OUR_HOSTS}(/[^?#]*)", re.sub(r"\$(\w+)", value_of, word)):
                    yield found[1]


def is_route(path: str) -> bool:
    of_the_kit = [f"{TEST_KIT.prefix}{operation.path}" for operation in TEST_KIT.operations]
    routes = [*(route for _, route in list_routes()), *of_the_kit, *_OUTSIDE_SURFACES]
    return any(re.fullmatch(re.sub(r"\\{\w+\\}", "[^/]+", re.escape(route)), path) for route in routes)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
class TestPage:
    def test_each_block_is_run_or_says_why_not(self, page: Path) -> None:
        assert find_wrong_marks(page) == []

    def test_each_command_line_is_one_that_the_program_accepts(self, page: Path) -> None:
        calls = [words for block in shell_blocks(page) for words in find_calls(block.script, "domogate")]
        assert [(words, problem) for words in calls if (problem := parse(words))] == []

    def test_each_command_of_the_repository_exists(self, page: Path) -> None:
        known = set(re.findall(r"^([a-z]+)\)$", (ROOT / "dev").read_text(), re.MULTILINE))
        calls = [words for block in shell_blocks(page) for words in find_calls(block.script, "dev")]
        assert [words for words in calls if words[0] not in known] == []

    def test_each_variable_is_a_setting(self, page: Path) -> None:
        named = {name for block in shell_blocks(page) for name in re.findall(r"\bDOMOGATE_\w+", block.script)}
        assert load_settings({}, dict.fromkeys(named, ""), None) == Settings()  # refuses any other name

    def test_each_url_of_curl_is_a_path_of_the_gateway(self, page: Path) -> None:
        assert [path for path in find_paths(shell_blocks(page)) if not is_route(path)] == []


def test_each_block_names_its_language() -> None:
    """A block of commands without a language would be run by no test."""
    pages = [*sorted(DOCS.rglob("*.md")), *READMES, *ROOT.glob("*.md")]
    assert [(page.name, block.text) for page in pages for block in read_blocks(page) if not block.language] == []


class TestMistakes:
    @pytest.mark.parametrize(
        "text",
        [
            "<!-- not run: needs Docker -->\n```sh\ndomogate key list\n```\n",
            "<!-- not run: it is late -->\n```sh\ndomogate key list\n```\n",
            "<!-- not run: needs Docker -->\nText.\n\n```sh\ndocker ps\n```\n",
            "<!-- not run: needs Docker (tests/no_test.py) -->\n```sh\ndocker ps\n```\n",
            "<!-- checked only: needs Docker -->\n```sh\ndocker ps\n```\n",
            "<!-- run in the soak: calls every operation -->\n```sh\ndomogate key list\n```\n",
            "<!-- run in the soak: takes long -->\n```sh\npython -m support.sdk_recording\n```\n",
            "<!-- run in the soak: calls every operation -->\nText.\n\n```sh\npython -m support.sdk_recording\n```\n",
            "<!-- run by: tests/docsite/test_site.py -->\n```sh\ndomogate key list\n```\n",
            '```sh linenums="1"\ndomogate key list\n```\n',
        ],
    )
    def test_a_wrong_mark_is_noticed(self, tmp_path: Path, text: str) -> None:
        page = tmp_path / "page.md"
        page.write_text("<!-- not run: needs Docker -->\n```sh\ndocker ps\n```\n\n```sh\ndomogate key list\n```\n")
        assert find_wrong_marks(page) == []
        page.write_text(text)
        assert len(find_wrong_marks(page)) == 1

    def test_a_block_for_the_soak_is_run_there_and_checked_by_all_tests(self) -> None:
        block = Block("sh", "", "python -m support.sdk_recording\n", "run in the soak: calls every operation")
        assert (is_run(block, in_soak=True), is_run(block, in_soak=False), is_checked(block)) == (True, False, True)

    @pytest.mark.parametrize(
        "script",
        [
            "domogate key lost",
            "KEY=$(domogate key issue app --dota DIR)",
            "sudo /opt/domogate/bin/domogate srv",
            "docker compose exec gateway domogate init --mail a",
            "true && domogate key issue 'two\nlines' \\\n  --dota DIR | cat",
        ],
    )
    def test_a_wrong_command_line_is_noticed(self, script: str) -> None:
        (words,) = find_calls(script, "domogate")
        assert parse(words)

    def test_a_wrong_path_is_noticed(self) -> None:
        block = Block("sh", "", 'M=http://127.0.0.1:8080/manage/v1\ncurl "$M/users?a=b"\ncurl -s "$M/uses" "$BASE/events"\n')
        assert [(path, is_route(path)) for path in find_paths([block])] == [
            ("/manage/v1/users", True),
            ("/manage/v1/uses", False),
            ("/events", True),
        ]

    def test_a_console_has_commands_and_output(self) -> None:
        block = Block("console", "", "$ domogate key list\nNAME\n")
        assert (block.script, block.shown) == ("domogate key list\n", "NAME\n")
