"""The alert rules in deploy/prometheus: valid, tested, each explained on the site, and sent to people by Alertmanager."""

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from domogate.cli.commands import cli
from support.examples import is_long
from support.markdown import headings
from support.promql import ALERTS, PROMETHEUS, ROOT, read_rules

SITE = "https://gateway.example.com/docs/"
TESTS = PROMETHEUS / "alerts_test.yml"


def promtool(*arguments: str, folder: Path = PROMETHEUS) -> None:
    done = subprocess.run(["promtool", *arguments], cwd=folder, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def write_small_tests(folder: Path) -> list[str]:
    """Write a file of tests for each alert, with a file of its rule only. Return the names of the files of tests.

    With `alerts_test.yml` itself, promtool evaluates all rules in each test. The name of a test begins with that of its alert.
    """
    document, made = yaml.safe_load(TESTS.read_text()), []
    rules = {rule["alert"]: rule for rule in read_rules()}
    own: dict[str, list[Any]] = {name: [] for name in rules}
    for test in document["tests"]:
        own[test["name"].partition(" ")[0]].append(test)
    for name, tests in own.items():
        (folder / f"{name}.yml").write_text(yaml.safe_dump({"groups": [{"name": "own", "rules": [rules[name]]}]}))
        made.append(f"{name}_test.yml")
        (folder / made[-1]).write_text(yaml.safe_dump(document | {"rule_files": [f"{name}.yml"], "tests": tests}))
    return made


@pytest.mark.slow
class TestPromtool:
    def test_the_rules_are_valid(self) -> None:
        promtool("check", "rules", "--lint=all", "--lint-fatal", ALERTS.name)

    def test_the_example_of_the_settings_of_prometheus_is_valid(self) -> None:
        promtool("check", "config", "prometheus.yml")

    @pytest.mark.slow
    def test_each_alert_fires_for_the_bad_gateway_and_not_for_the_good_one(self, tmp_path: Path) -> None:
        """The long form runs the file of the tests as it is: then all rules see the series of each test."""
        if is_long():
            promtool("test", "rules", TESTS.name)
        else:
            promtool("test", "rules", *write_small_tests(tmp_path), folder=tmp_path)

    def test_each_alert_has_such_a_test(self) -> None:
        tests = TESTS.read_text()
        assert [rule["alert"] for rule in read_rules() if f"- name: {rule['alert']}\n" not in tests] == []


@pytest.mark.parametrize("rule", read_rules(), ids=lambda rule: rule["alert"])
class TestEachAlert:
    def test_it_says_what_happened_and_what_to_do(self, rule: dict[str, Any]) -> None:
        assert rule["annotations"]["summary"].endswith(".")
        assert rule["annotations"]["description"].endswith(".")
        assert rule["labels"]["severity"] in ("warning", "critical")

    def test_its_link_leads_to_its_section_on_the_site_of_the_gateway(self, rule: dict[str, Any]) -> None:
        url, _, anchor = rule["annotations"]["runbook_url"].partition("#")
        assert url.startswith(SITE), "the comment of the file says how to replace this host"
        page = ROOT / "docs" / url.removeprefix(SITE).replace(".html", ".md")
        assert anchor == rule["alert"].lower()
        assert rule["alert"] in [heading.text for heading in headings(page.read_text())]

    def test_its_commands_have_the_arguments_that_they_need(self, rule: dict[str, Any]) -> None:
        for line in re.findall(r"`domogate ([^`]+)`", rule["annotations"]["description"]):
            words, command = line.split(), cli.load(line.split()[0])
            given = words[1:]
            if isinstance(command, click.Group):
                command, given = command.commands[words[1]], words[2:]
            needed = [one for one in command.params if isinstance(one, click.Argument) and one.required]
            assert len(given) == len(needed), line


class TestCertificate:
    def test_its_alert_does_not_ask_for_a_restart(self) -> None:
        (rule,) = [rule for rule in read_rules() if rule["alert"] == "DomogateCertificateEnds"]
        assert "without a restart" in rule["annotations"]["description"]


class TestHost:
    def test_the_command_of_the_comment_sets_the_host_of_all_links(self, tmp_path: Path) -> None:
        shutil.copy(ALERTS, tmp_path)
        (command,) = re.findall(r"sed -i .*", ALERTS.read_text())
        subprocess.run(["sh", "-c", command.replace("YOUR-HOST", "hotel.test")], cwd=tmp_path, check=True, timeout=60)
        urls = re.findall(r"runbook_url: '(.+)'", (tmp_path / ALERTS.name).read_text())
        assert len(urls) == len(read_rules())
        assert all(url.startswith("https://hotel.test/docs/") for url in urls)


@pytest.mark.slow
class TestAlertmanager:
    def amtool(self, *arguments: str) -> str:
        done = subprocess.run(["amtool", *arguments], cwd=PROMETHEUS, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def test_the_example_is_valid(self) -> None:
        told = self.amtool("check-config", "alertmanager.yml")
        assert " - 2 receivers" in told, told

    @pytest.mark.parametrize(("severity", "receiver"), [("critical", "on-call"), ("warning", "operators")])
    def test_each_severity_of_the_rules_reaches_its_people(self, severity: str, receiver: str) -> None:
        names = [rule["alert"] for rule in read_rules() if rule["labels"]["severity"] == severity]
        assert names
        labels = [f"severity={severity}", f"alertname={names[0]}", "job=domogate"]
        assert self.amtool("config", "routes", "test", "--config.file=alertmanager.yml", *labels).strip() == receiver

    def test_people_get_mails_and_a_program_gets_a_request(self) -> None:
        document = yaml.safe_load((PROMETHEUS / "alertmanager.yml").read_text())
        kinds = {one["name"]: set(one) - {"name"} for one in document["receivers"]}
        assert kinds == {"operators": {"email_configs"}, "on-call": {"email_configs", "webhook_configs"}}
        assert "smtp_auth_password" not in document["global"]

    @pytest.mark.parametrize(("file", "target"), [("prometheus", "127.0.0.1:9093"), ("compose", "alertmanager:9093")])
    def test_prometheus_sends_its_alerts_to_it(self, file: str, target: str) -> None:
        document = yaml.safe_load((PROMETHEUS.parent / file / "prometheus.yml").read_text())
        (manager,) = document["alerting"]["alertmanagers"]
        assert manager["static_configs"] == [{"targets": [target]}]
