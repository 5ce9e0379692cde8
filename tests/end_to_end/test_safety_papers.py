"""The reports of the demo hospital agree with E18 and E19 of the running gateway."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from support.gateway import Gateway
from support.http import expect_ok
from support.safety_reports import read_pages
from support.spec_operations import E18, E19

pytestmark = pytest.mark.slow

HOSPITAL = "405b0001-0000-4000-8000-000000000000"
BATTERY, LAMP = "Battery", "Emergency lamp"
# Written by hand from Spec 2.15.
CALLS_FOR = {
    "BLOCK.FAULTY_BATTERY": BATTERY,
    "BLOCK.DISCONNECTED_BATTERY": BATTERY,
    "REMOTE.STATUS.BATTERY_FAULT": BATTERY,
    "BLOCK.FAULTY_EMERGENCY_LIGHT": LAMP,
}


def tally(records: list[dict[str, Any]]) -> str:
    of = Counter(record["status"] for record in records)
    return f"{len(records)} {of[0]} {of[1]} {of[2]}"


class AnswersAndReport:
    """The gateway's answers and the report at the same time."""

    def __init__(self, gateway: Gateway, folder: Path) -> None:
        self.gateway = gateway
        owner = gateway.estate.plant(HOSPITAL).owner
        out = folder / "report.pdf"
        # The simulator goes on. The two are compared when nothing has changed between them.
        for _ in range(20):
            self.controllers = expect_ok(E18, gateway.send(E18, {"plant": HOSPITAL}, who=owner))
            gateway.domogate("safety", "report", HOSPITAL, "--out", str(out), "--force")
            self.orders = json.loads(gateway.domogate("safety", "order-list", HOSPITAL, "--json"))
            if told(self.controllers) == told(expect_ok(E18, gateway.send(E18, {"plant": HOSPITAL}, who=owner))):
                break
        self.units = [unit for controller in self.controllers for unit in controller["children"]]
        self.text = " ".join(read_pages(out.read_bytes()))
        self.owner = owner

    def parts_of(self, reference: str) -> list[dict[str, str]]:
        answer = self.gateway.send(E19, {"reference": reference}, who=self.owner)
        return answer.json() if answer.status_code == 200 else []


def told(controllers: list[dict[str, Any]]) -> list[Any]:
    return [
        (one["status"], one["alert"], one["failures"], [(unit["status"], unit["failures"]) for unit in one["children"]])
        for one in controllers
    ]


@pytest.fixture(scope="module")
def papers(demo: Gateway, tmp_path_factory: pytest.TempPathFactory) -> AnswersAndReport:
    return AnswersAndReport(demo, tmp_path_factory.mktemp("papers"))


class TestTheReportOfTheDemoHospital:
    def test_its_figures_are_those_of_e18(self, papers: AnswersAndReport) -> None:
        alerts = sum(controller["alert"] for controller in papers.controllers)
        assert f"Controllers {tally(papers.controllers)} {alerts} Units {tally(papers.units)} -" in papers.text

    def test_it_shows_each_failure_that_e18_shows(self, papers: AnswersAndReport) -> None:
        failures = Counter(
            failure["failureType"]
            for record in [*papers.controllers, *papers.units]
            for failure in record["failures"]
            if failure["failureType"] not in ("BLOCK.OK", "REMOTE.STATUS.OK")
        )
        table = papers.text[papers.text.index("Controllers and units") : papers.text.index("Spare parts to order")]
        assert failures
        assert {kind: table.split().count(kind) for kind in failures} == dict(failures)

    def test_what_to_order_is_e18s_failures_times_e19s_parts(self, papers: AnswersAndReport) -> None:
        wanted: Counter[tuple[str, str]] = Counter()
        for record in [*papers.controllers, *papers.units]:
            kinds = {CALLS_FOR.get(failure["failureType"]) for failure in record["failures"]} - {None}
            for spare in papers.parts_of(record["reference"]):
                if spare["type"] in kinds:
                    wanted[spare["reference"], spare["type"]] += int(spare["quantity"])
        assert {(line["reference"], line["type"]): int(line["quantity"]) for line in papers.orders["lines"]} == dict(wanted)
        listed = papers.text[papers.text.index("Spare parts to order") :]
        assert wanted
        for (reference, part_type), quantity in wanted.items():
            assert f"{reference} {part_type} {quantity} " in listed

    def test_the_logbook_has_what_the_gateway_saw_since_it_was_started(self, papers: AnswersAndReport) -> None:
        entries = json.loads(papers.gateway.domogate("safety", "logbook", HOSPITAL, "--json"))
        alerted = {entry["module"] for entry in entries if entry["kind"] == "alert"}
        assert {controller["name"] for controller in papers.controllers if controller["alert"]} <= alerted
