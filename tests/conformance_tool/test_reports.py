"""The reports of a run that found texts which a terminal, XML or HTML must not get as they are."""

import json
from xml.etree import ElementTree

import pytest

from conformance_tool.mock_runs import check, named
from domogate.conformance.reports import REPORTS
from domogate.conformance.run import Outcome
from support.mock_bodies import PLANT
from support.mock_families import ACCESS, KEY, NARROW, OTHER, SECRET, TOKEN, Ask, Reply

HOSTILE = "\ud800\x00\x1b[2J<script>alert(1)</script>]]>&\uffff"


def _put_hostile_texts(ask: Ask, reply: Reply) -> Reply:
    """Put the text into each place whose value is in a finding or is used in a request."""
    if reply.status != 200 or ask.operation is None:
        return reply
    text = json.dumps(reply.body)
    for right in ('"House"', '"on"', '"Battery"', '"LU-100"', '"20100"', '"BLOCK.FAULTY_BATTERY"', '"2026-01-01T10:00:00Z"'):
        text = text.replace(right, json.dumps(HOSTILE))
    return reply._replace(body=text.encode(), content_type="text/<script>")


@pytest.fixture(scope="module")
def outcome() -> Outcome:
    return check(_put_hostile_texts, *named(PLANT))


@pytest.mark.parametrize("form", REPORTS)
def test_a_report_can_be_written_and_shows_no_raw_control_character(outcome: Outcome, form: str) -> None:
    report = REPORTS[form](outcome)
    assert {"2.2.type", "2.7.status", "2.15.spare-part.type", "2.15.failure.failureType"} <= {
        one.rule.id for one in outcome.findings
    }
    report.encode("utf-8")
    assert not set(report) & set("\x00\x1b\ud800")
    if form == "html":
        assert "<script" not in report
    if form == "junit":
        assert ElementTree.fromstring(report).get("failures") == str(len({one.rule for one in outcome.findings}))


@pytest.mark.parametrize("form", REPORTS)
def test_a_report_contains_no_secret(outcome: Outcome, form: str) -> None:
    report = REPORTS[form](outcome)
    assert not [secret for secret in (KEY, TOKEN, ACCESS, OTHER, NARROW, SECRET) if secret in report]


def test_the_junit_report_has_every_entry_that_was_not_checked() -> None:
    """Rule 1 is checked with each request, and the end of the run is an unchecked entry of rule 1."""
    requests = iter(range(1_000))
    outcome = check(lambda _ask, reply: reply._replace(lost=0) if next(requests) >= 10 else reply, *named(PLANT))
    suite = ElementTree.fromstring(REPORTS["junit"](outcome))
    names = [case.get("name", "") for case in suite]
    reasons = {case.get("name", ""): skipped.get("message", "") for case in suite for skipped in case.iter("skipped")}
    for one in outcome.unchecked:
        assert one.why in reasons[f"{one.rule.id}: {one.rule.sentence} ({one.operation})"]
    assert any(name.startswith("1: ") and "the run ended early" in reason for name, reason in reasons.items())
    assert (suite.get("tests"), suite.get("skipped")) == (str(len(set(names))), str(len(reasons)))
    assert len(names) == len(set(names))
