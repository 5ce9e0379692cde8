"""The alert rules in deploy/prometheus: valid, tested, and each explained in docs/operations.md."""

import subprocess
from typing import Any

import pytest

from support.markdown import headings
from support.promql import ALERTS, PROMETHEUS, ROOT, read_rules


def promtool(*arguments: str) -> None:
    done = subprocess.run(["promtool", *arguments], cwd=PROMETHEUS, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


class TestPromtool:
    def test_the_rules_are_valid(self) -> None:
        promtool("check", "rules", "--lint=all", "--lint-fatal", ALERTS.name)

    def test_the_example_of_the_settings_of_prometheus_is_valid(self) -> None:
        promtool("check", "config", "prometheus.yml")

    @pytest.mark.slow
    def test_each_alert_fires_for_the_bad_gateway_and_not_for_the_good_one(self) -> None:
        promtool("test", "rules", "alerts_test.yml")

    def test_each_alert_has_such_a_test(self) -> None:
        tests = (PROMETHEUS / "alerts_test.yml").read_text()
        assert [rule["alert"] for rule in read_rules() if f"- name: {rule['alert']}\n" not in tests] == []


@pytest.mark.parametrize("rule", read_rules(), ids=lambda rule: rule["alert"])
class TestEachAlert:
    def test_it_says_what_happened_and_what_to_do(self, rule: dict[str, Any]) -> None:
        assert rule["annotations"]["summary"].endswith(".")
        assert rule["annotations"]["description"].endswith(".")
        assert rule["labels"]["severity"] in ("warning", "critical")

    def test_its_link_leads_to_its_section(self, rule: dict[str, Any]) -> None:
        page, _, anchor = rule["annotations"]["runbook_url"].partition("#")
        assert anchor == rule["alert"].lower()
        assert rule["alert"] in [heading.text for heading in headings((ROOT / page).read_text())]
