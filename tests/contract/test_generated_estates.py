"""For any estate every operation answers as specified, and an export is the same estate."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from support.cluster_gateway import GATEWAYS, serve_estate_here, start_gateways
from support.estate_documents import KEY, PEOPLE, STRANGER, base_estate, estates
from support.estate_view import EstateView, asked_of, targets_in
from support.examples import examples
from support.gateway import Gateway, import_estate, running
from support.http import expect_nothing, expect_ok, expect_refusal
from support.spec_operations import (
    BY_NAME,
    E2,
    E6,
    E10,
    E14,
    E17,
    E18,
    E19,
    OPERATIONS,
    Operation,
    Target,
    not_found,
    not_your_plant,
)
from support.store_access import add_credentials

pytestmark = pytest.mark.slow

STILL = {"DOMOGATE_SIMULATOR_TICK": "3600"}
# A failing example is reported as found: shrinking would import hundreds of estates.
FEW = settings(
    max_examples=examples(4),
    deadline=None,
    derandomize=True,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
    database=None,
)


@pytest.fixture(scope="module")
def canvas(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """One gateway. The tests import one estate after the other into it."""
    gateway = serve_estate_here(base_estate(), tmp_path_factory.mktemp("canvas"), STILL)
    with running(gateway):
        yield add_credentials(gateway, KEY)


def everything(gateway: Gateway, estate: EstateView) -> Iterator[tuple[Operation, str, Target]]:
    """All calls: each operation for each plant and module, as owner, guest and stranger."""
    for operation in OPERATIONS:
        for who in PEOPLE:
            if operation.name in ("E6", "E10", "E14", "E17", "E20"):
                yield operation, who, {}
            for plant in estate.plants:
                for target in targets_in(plant, operation):
                    yield operation, who, target
    for reference in ("unit-0", "unit-1", "unit-2"):
        yield E19, STRANGER, {"reference": reference}


def installed(estate: EstateView) -> set[str]:
    """References of installed units, with or without spare parts."""
    controllers = [module for plant in estate.plants for module in plant.modules("emergency controller")]
    return {unit["reference"] for controller in controllers for unit in controller["units"]}


def check(gateway: Gateway, estate: EstateView, operation: Operation, who: str, target: Target) -> Any:
    """One call, checked against the specification and the estate. Returns the body for comparison."""
    answer = gateway.send(operation, target, who=who)
    if "plant" in target:
        plant = estate.plant(target["plant"])
        if not plant.active:
            return expect_refusal(operation, answer, not_found(operation))
        if who not in plant.people:
            return expect_refusal(operation, answer, not_your_plant(operation))
        if operation is E18 and not plant.modules("emergency controller"):
            return expect_nothing(operation, answer)
        gone = [module for module in asked_of(plant, target) if estate.unreachable(module)]
        if gone and operation is not E2:
            return expect_refusal(operation, answer, 404)
    elif operation is E19:
        known = {*estate.references(), *installed(estate)}
        if target["reference"] not in known:
            return expect_refusal(operation, answer, 400)
    else:
        listed = [plant for plant in estate.plants if who in plant.people]
        if operation is not E6:
            listed = [plant for plant in listed if plant.active]
        if operation is E17:
            listed = [plant for plant in listed if plant.is_site]
        if operation in (E6, E10, E14, E17) and not listed:
            return expect_nothing(operation, answer)
    if operation.method == "POST":
        assert answer.status_code == 200, f"{operation} {answer.text}"
        return None
    return expect_ok(operation, answer)


class TestAnyEstate:
    @FEW
    @given(document=estates())
    def test_every_operation_answers_by_the_specification(self, canvas: Gateway, document: dict[str, Any]) -> None:
        import_estate(document, canvas.log_file.parent, canvas.data, canvas.environment, "--prune")
        estate = EstateView(document)
        for operation, who, target in everything(canvas, estate):
            check(canvas, estate, operation, who, target)


VOLATILE = {
    "time", "timestamp", "timeStamp", "value", "lastStatusUpdate", "lastAlertUpdate", "loadState", "ticket",
    "thermometer", "hygrometer", "consumptions",
}  # fmt: skip
if GATEWAYS > 1:
    VOLATILE.add("battery")  # A simulated battery discharges when its plant moves to another gateway.


def lasting(body: Any) -> Any:
    """The body without values that change over time."""
    if isinstance(body, dict):
        return {key: lasting(value) for key, value in body.items() if key not in VOLATILE}
    return [lasting(item) for item in body] if isinstance(body, list) else body


class TestExportAndImport:
    @settings(FEW, max_examples=examples(1))
    @given(document=estates())
    def test_an_export_into_an_empty_store_gives_the_same_answers(
        self, canvas: Gateway, tmp_path_factory: pytest.TempPathFactory, document: dict[str, Any]
    ) -> None:
        import_estate(document, canvas.log_file.parent, canvas.data, canvas.environment, "--prune")
        self.compare(canvas, tmp_path_factory.mktemp("copy"), EstateView(document), PEOPLE)

    def test_the_demo_estate_survives_it_too(self, tmp_path: Path) -> None:
        # A separate demo, whose batteries do not discharge between the export and the last answer.
        with running(start_gateways("demo", tmp_path / "demo", STILL)) as still:
            self.compare(still, tmp_path / "copy", still.export(), tuple(still.people))

    def compare(self, original: Gateway, directory: Path, estate: EstateView, people: tuple[str, ...]) -> None:
        copy = serve_estate_here(original.export().document, directory, STILL)
        with running(copy):
            add_credentials(copy, original.subscription_key)
            for name in ("E2", "E3", "E6", "E7", "E8", "E9", "E10", "E12", "E13", "E14", "E16", "E17", "E18", "E19"):
                operation = BY_NAME[name]
                for who, target in self.questions(operation, estate, people):
                    answers = [gateway.send(operation, target, who=who) for gateway in (original, copy)]
                    bodies = [lasting(answer.json()) if answer.content else None for answer in answers]
                    assert answers[0].status_code == answers[1].status_code, (operation, who, target, bodies)
                    assert bodies[0] == bodies[1], (operation, who, target)

    def questions(self, operation: Operation, estate: EstateView, people: tuple[str, ...]) -> Iterator[tuple[str, Target]]:
        if operation is E19:
            for reference in estate.references():
                yield people[0], {"reference": reference}
        elif not operation.about_a_plant:
            for who in people:
                yield who, {}
        for plant in estate.plants:
            quick = [t for t in targets_in(plant, operation) if not any(map(estate.troubled, asked_of(plant, t)))]
            for target in quick[:12]:
                for who in (plant.owner, people[-1]):
                    yield who, target
