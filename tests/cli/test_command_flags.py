"""Settings as flags, and how wrong ones are refused."""

import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from domogate import __version__
from domogate.cli._command import Mistake, _given
from domogate.cli._words import parse_duration
from domogate.cli.commands import cli
from domogate.settings.declared import DECLARED
from support.command_line import CommandLine


def list_commands() -> Iterator[tuple[tuple[str, ...], click.Command]]:
    for name, command in cli.load_all():
        if isinstance(command, click.Group):
            yield from (((name, verb), one) for verb, one in command.commands.items())
        else:
            yield (name,), command


def has_required_option(command: click.Command) -> bool:
    return any(isinstance(one, click.Option) and one.required for one in command.params)


EVERY_COMMAND = list(list_commands())


class TestFlags:
    @pytest.mark.parametrize("command", ["serve", "demo"])
    def test_serve_and_demo_show_them_all(self, domogate: CommandLine, command: str) -> None:
        shown = domogate.bare(command, "--help").stdout
        assert [name for name in DECLARED if f"--{name.replace('_', '-')}" not in shown] == []

    def test_a_bad_one_is_named_and_nothing_starts(self, domogate: CommandLine) -> None:
        said = domogate.refused("serve", "--port", "seventy", "--drain", "-1", code=2)
        assert "--port" in said
        assert "seventy" in said
        assert "--drain" in said
        assert not domogate.data.exists()

    @pytest.mark.parametrize("path", [path for path, one in EVERY_COMMAND if has_required_option(one)], ids=" ".join)
    def test_a_missing_required_option_is_named(self, domogate: CommandLine, path: tuple[str, ...]) -> None:
        result = domogate.bare(*path)
        assert result.exit_code == 2
        assert re.search("Missing (option|argument)", result.stderr)

    def test_some_commands_have_a_required_option(self) -> None:
        assert {("record",), ("conformance",)} <= {path for path, one in EVERY_COMMAND if has_required_option(one)}

    def test_one_of_an_unknown_family_is_refused(self, domogate: CommandLine) -> None:
        assert "touchpannel" in domogate.refused("serve", "--sunset", "touchpannel=2030-01-31", code=2)

    def test_a_variable_that_is_no_setting_is_refused(self, domogate: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("DOMOGATE_PROT", "8081")
        assert "DOMOGATE_PORT" in domogate.refused("key", "list", code=2)

    def test_variables_of_the_developer_script_are_no_settings(
        self, domogate: CommandLine, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("DOMOGATE_PYTHON", "python3")
        monkeypatch.setenv("DOMOGATE_TEST_PROCESSES", "2")
        domogate.create()
        assert domogate.read("key", "list") == []

    def test_the_data_folder_may_stand_before_the_command(self, domogate: CommandLine) -> None:
        domogate.create()
        assert domogate.bare("--data", str(domogate.data), "user", "list", "--json").stdout.strip() == "[]"

    def test_the_flag_of_the_command_counts_more(self, domogate: CommandLine, tmp_path: Path) -> None:
        domogate.create()
        result = domogate.bare("--data", str(tmp_path / "other"), "user", "list", "--data", str(domogate.data))
        assert result.exit_code == 0
        assert not (tmp_path / "other").exists()

    def test_a_file_of_settings_is_read(self, domogate: CommandLine, tmp_path: Path) -> None:
        file = tmp_path / "gateway.toml"
        file.write_text(f"data = {str(domogate.data)!r}\n")
        domogate.create()
        assert domogate.bare("user", "list", "--config", str(file)).exit_code == 0

    def test_a_file_that_is_not_there_is_a_wrong_setting(self, domogate: CommandLine, tmp_path: Path) -> None:
        assert "gone.toml" in domogate.refused("user", "list", "--config", str(tmp_path / "gone.toml"), code=2)

    @pytest.mark.parametrize("setting", ["tls_certificate", "tls_key", "terms_file", "operator_logo"])
    def test_a_file_that_only_a_running_gateway_uses_is_not_checked_by_other_commands(
        self, domogate: CommandLine, tmp_path: Path, setting: str
    ) -> None:
        config = tmp_path / "domogate.toml"
        named = {"tls_certificate", "tls_key"} if setting.startswith("tls") else {setting}
        config.write_text("".join(f'{name} = "{tmp_path}/missing.png"\n' for name in sorted(named)))
        domogate.good("estate", "import", "-", "--config", str(config), input="plants: []\n")
        said = domogate.refused("serve", "--config", str(config), code=2)
        assert len(said.splitlines()) == len(named)
        for line, name in zip(said.splitlines(), sorted(named), strict=True):
            assert line.startswith(f"domogate: {name} (domogate.toml line ")
            assert "cannot be read: No such file or directory." in line


class TestDurations:
    @pytest.mark.parametrize(("text", "seconds"), [("45", 45), ("45s", 45), ("30m", 1800), ("12h", 43_200), ("90d", 7_776_000)])
    def test_they_are_seconds(self, text: str, seconds: float) -> None:
        assert parse_duration(text) == seconds

    @pytest.mark.parametrize("text", ["", "0", "0d", "-1s", "1.5h", "1w", "h", "１2s", "9999999999"])
    def test_anything_else_is_refused(self, text: str) -> None:
        with pytest.raises(Mistake, match="90d"):
            parse_duration(text)


class TestHelp:
    def every_help_page(self, domogate: CommandLine) -> list[str]:
        pages: list[tuple[str, ...]] = [()]
        pages += [(name,) for name in cli.about]
        pages += [(name, verb) for name, command in cli.load_all() for verb in getattr(command, "commands", ())]
        return [domogate.bare(*page, "--help").stdout for page in pages]

    @pytest.mark.slow
    def test_no_page_shows_a_python_type(self, domogate: CommandLine) -> None:
        pages = self.every_help_page(domogate)
        assert len(pages) > 60
        python_type = re.compile(r"<(bool|str|int|float|list|path)|\[\[(?!issuers|mqtt_brokers|mqtt_bridges)|x<=")
        assert [page for page in pages if python_type.search(page)] == []

    def test_the_names_of_tables_are_shown(self, domogate: CommandLine) -> None:
        assert "tables [[issuers]] in the TOML file" in " ".join(domogate.bare("serve", "--help").stdout.split())

    def test_the_summary_of_a_group_names_its_commands(self, domogate: CommandLine) -> None:
        summaries = " ".join(domogate.bare("--help").stdout.split()).replace("- ", "-")  # a line may end after a hyphen
        assert "Applications (OAuth clients): add, list, show, change, rotate-secret, delete." in summaries
        assert "Plants and who may use them: list, show, invite, withdraw, allow, limit, remove, restore." in summaries

    def test_the_list_of_commands_agrees_with_the_commands(self) -> None:
        for name, command in cli.load_all():
            verbs = list(getattr(command, "commands", ()))
            if verbs:
                assert cli.about[name].endswith(f": {', '.join(verbs)}.")
            else:
                assert " ".join((command.help or "").split()).startswith(cli.about[name])

    def test_a_setting_shows_its_default(self, domogate: CommandLine) -> None:
        page = " ".join(domogate.bare("serve", "--help").stdout.split())
        assert "How long an idle connection is kept open. Default: 75." in page

    def test_the_version_is_an_option_too(self, domogate: CommandLine) -> None:
        assert domogate.bare("--version").stdout == f"domogate {__version__}\n"

    def test_without_arguments_it_shows_the_commands(self, domogate: CommandLine) -> None:
        shown = domogate.bare()
        for name in (
            *("init", "serve", "demo", "clock", "estate", "user", "client", "plant", "key", "token", "signing-key", "audit"),
            *(
                "module",
                "order",
                "readings",
                "fault",
                "simulate",
                "discover",
                "openapi",
                "backup",
                "restore",
                "version",
                "clock",
            ),
        ):
            assert name in shown.output

    def test_an_unknown_command_is_wrong_usage(self, domogate: CommandLine) -> None:
        assert domogate.bare("sevre").exit_code == 2

    def test_the_version_is_the_packages(self, domogate: CommandLine) -> None:
        assert __version__ in domogate.bare("version").stdout
        assert __version__ in domogate.bare("version", "--json").stdout


def test_only_variables_with_our_prefix_count_as_given() -> None:
    assert _given({"port": "1", "host": None}, {"DATA": "/srv", "DOMOGATE_LOG_LEVEL": "debug", "DOMOGATE_DATABASE": ""}) == {
        "port",
        "log_level",
    }
