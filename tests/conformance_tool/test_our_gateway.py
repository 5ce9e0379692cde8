"""`domogate conformance` on a demo of our own gateway, by the command line."""

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from support.gateway import Gateway, run_command, start
from support.spec_operations import E8, E12
from support.store_access import issue_token

pytestmark = pytest.mark.slow

ANNA, DARIO, ELENA = "anna@example.com", "dario@example.com", "elena@example.com"


@pytest.fixture(scope="module")
def own_demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    gateway = start("demo", tmp_path_factory.mktemp("own"), {"DOMOGATE_DEVICE_DEADLINE": "3"})
    yield gateway
    gateway.stop()


def options(gateway: Gateway, who: str, folder: Path) -> list[str]:
    """The flags with all credentials, from files."""
    mine, other = gateway.people[who], gateway.people[DARIO]
    app = gateway.ready["clients"][0]
    refresh = next(user["refresh_token"] for user in gateway.ready["users"] if user["email"] == who)
    secrets = {
        "key": gateway.subscription_key,
        "token": mine.id_token,
        "access-token": mine.access_token,
        "other-token": other.id_token,
        "other-access-token": other.access_token,
        "narrow-token": issue_token(gateway, who, "id", ("openid",)),
        "narrow-access-token": issue_token(gateway, who, "access", ("openid",)),
        "client-secret": app["client_secret"],
        "refresh-token": refresh,
    }
    flags = ["--base-url", gateway.base_url, "--auth-url", gateway.auth_url, "--client-id", app["client_id"]]
    for name, secret in secrets.items():
        (folder / name).write_text(f"{secret}\n")
        flags += [f"--{name}", f"@{folder / name}"]
    return flags


def conformance(*flags: str) -> Any:
    return run_command(["conformance", *flags], os.environ)


@pytest.mark.parametrize("who", [ANNA, ELENA])
def test_has_no_finding(own_demo: Gateway, who: str, tmp_path: Path) -> None:
    thermostats = [target for person, target in own_demo.cases(E12) if person == who][:1]
    named = [flag for one in thermostats for flag in ("--module", f"thermostat={one['plant']}/{one['module']}")]
    report = tmp_path / "report.json"
    done = conformance(*options(own_demo, who, tmp_path), *named, "--write", "--report", "json", "--output", str(report))
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(report.read_text())
    assert found["findings"] == []
    checked = {rule["rule"].split(".")[1] for rule in found["checked"] if rule["rule"].endswith(".statuses")}
    theirs = {"E17", "E18", "E19"} if who == ELENA else {"E5", "E8", "E11", "E12", "E13", "E15"}
    assert theirs | {"E1", "E2", "E3", "E4", "E6", "E7", "E9", "E10", "E14", "E16"} <= checked
    assert {"5.4.scope", "5.4.rights", "7.401", "5.token.200", "3.E1"} <= {rule["rule"] for rule in found["checked"]}


@pytest.mark.parametrize(
    ("kind", "left_out", "flag"), [("id_token", "homectl", "--access-token"), ("access_token", "homeauto", "--token")]
)
def test_with_one_token_the_families_of_the_other_kind_are_not_checked(
    own_demo: Gateway, kind: str, left_out: str, flag: str, tmp_path: Path
) -> None:
    (tmp_path / "token").write_text(getattr(own_demo.people[ANNA], kind))
    flags = ["--base-url", own_demo.base_url, "--auth-url", own_demo.auth_url, "--key", own_demo.subscription_key]
    done = conformance(*flags, "--token", f"@{tmp_path / 'token'}", "--report", "json")
    found = json.loads(done.stdout)
    assert (found["findings"], done.returncode) == ([], 0)
    reasons = [one["why"] for one in found["unchecked"] if one["operation"] == left_out]
    assert len(reasons) == 1
    assert reasons[0].endswith(f"give {flag}")


def test_an_injected_fault_is_found_and_reported(own_demo: Gateway, tmp_path: Path) -> None:
    """A plant that answers 500: the operations of home automation do not list this status."""
    target = next(target for who, target in own_demo.cases(E8) if who == ANNA)
    own_demo.domogate("fault", "inject", target["plant"], "500")
    try:
        flags = [*options(own_demo, ANNA, tmp_path), "--only", "homeauto"]
        text, junit, page = (conformance(*flags, "--report", form) for form in ("text", "junit", "html"))
    finally:
        own_demo.domogate("fault", "clear", target["plant"])
    assert text.returncode == junit.returncode == page.returncode == 1
    assert "Spec 4, rule 4.E7.statuses: E7 answers with one of the statuses 200, 401, 403, 404" in text.stdout
    cases = ElementTree.fromstring(junit.stdout).iter("testcase")
    failed = {case.get("name") for case in cases if case.find("failure") is not None}
    assert any(name is not None and name.startswith("4.E7.statuses") for name in failed)
    assert "4.E7.statuses" in page.stdout
    for report in (text, junit, page):
        for secret in (own_demo.subscription_key, own_demo.people[ANNA].id_token):
            assert secret not in report.stdout + report.stderr


def test_the_plan_says_what_would_change_and_changes_nothing(own_demo: Gateway, tmp_path: Path) -> None:
    before = own_demo.domogate("order", "list", "--json")
    done = conformance(*options(own_demo, ANNA, tmp_path), "--plan")
    assert done.returncode == 0
    assert "E1 switches all plugs" in done.stdout
    assert "E5 runs the scene" in done.stdout
    assert own_demo.domogate("order", "list", "--json") == before


def test_the_plan_promises_plugs_that_are_on_again_only_if_e16_is_called(own_demo: Gateway, tmp_path: Path) -> None:
    flags = [*options(own_demo, ANNA, tmp_path), "--plan"]
    reads, does_not_read = conformance(*flags), conformance(*flags, "--only", "homectl", "--only", "homeauto")
    assert "If E16 shows before the check that all of them are on, it switches them on again." in reads.stdout
    assert "on, then off. They stay off." in does_not_read.stdout


def test_the_new_refresh_token_is_printed_even_if_the_report_cannot_be_written(own_demo: Gateway, tmp_path: Path) -> None:
    """The earlier refresh token is used up."""
    flags = [*options(own_demo, DARIO, tmp_path), "--only", "multisocket", "--write", "--output", str(tmp_path)]
    done = conformance(*flags)
    assert done.returncode == 1
    assert "The new refresh token is " in done.stderr
    assert f"{tmp_path} cannot be used: Is a directory" in done.stderr


class TestWrongUse:
    @pytest.mark.parametrize(
        ("flags", "code", "message"),
        [
            (("--base-url", "gateway"), 2, "--base-url: 'gateway' is not a URL such as https://gateway.example.com."),
            (("--base-url", "http://a..b"), 2, "--base-url: 'http://a..b' is not a URL"),
            (("--base-url", "http://127.0.0.1:99999"), 2, "--base-url: 'http://127.0.0.1:99999' is not a URL"),
            (("--base-url", "http://127.0.0.1:9/a b"), 2, "--base-url: 'http://127.0.0.1:9/a b' is not a URL"),
            (("--base-url", "http://127.0.0.1:9", "--auth-url", "auth", "--client-id", "x"), 2, "--auth-url: 'auth' is not"),
            (("--base-url", "http://127.0.0.1:9", "--access-token", "a\nb"), 2, "--access-token: the value must be one line"),
            (("--base-url", "http://127.0.0.1:9"), 1, "cannot be checked"),
            (("--base-url", "http://127.0.0.1:9", "--only", "homes"), 2, "there is no family homes"),
            (("--base-url", "http://127.0.0.1:9", "--module", "thermostat=7"), 2, "write KIND=PLANT/ID"),
            (("--base-url", "http://127.0.0.1:9", "--access-token", "@/no/such/file"), 1, "/no/such/file cannot be used"),
            (("--base-url", "http://127.0.0.1:9", "--access-token", f"@{sys.executable}"), 1, "is not a text in UTF-8"),
            (("--base-url", "http://127.0.0.1:9", "--timeout", "nan"), 2, "'nan' is not a number"),
            (("--base-url", "http://127.0.0.1:9", "--output", "/no/such/folder/report"), 1, "there is no folder /no/such"),
        ],
    )
    def test_gets_a_message_and_no_traceback(self, flags: tuple[str, ...], code: int, message: str) -> None:
        done = conformance("--key", "k", "--token", "t", *flags)
        assert (done.returncode, done.stdout) == (code, "")
        assert message in done.stderr
        assert "Traceback" not in done.stderr
