"""Schemathesis with the OpenAPI documents of a running gateway: valid and invalid requests.

All of its checks are on: no 5xx, only described statuses and media types, bodies by their schemas, valid data accepted, invalid
data refused, credentials demanded, other methods 405 with Allow. Exceptions are in `_checks` and `_is_excused`.

Schemathesis is imported late, because every test process imports this module, and few use it.
"""

import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import httpx

from support.extension_operations import WITH_EXTENSIONS as BY_NAME
from support.extension_operations import X1_PATH, X2_PATH
from support.gateway import Gateway
from support.http import KEY_HEADER
from support.spec_operations import Operation, Target

if TYPE_CHECKING:
    import schemathesis
    from schemathesis.core.failures import Failure
    from schemathesis.engine.recorder import ScenarioRecorder
    from schemathesis.schemas import BaseSchema

# The role of each path parameter; families use different names (Spec 4).
ROLES = {"plantid": "plant", "siteid": "plant", "ambientid": "ambient", "moduleid": "module", "deviceid": "module"}
_NO_SUBSCRIPTION = "7d9d3c1e-2f0a-4c55-9b1a-6d1f0a3b5c78"
# A past time, an unknown program, or a range that depends on the unit (Decision 0041).
_BEYOND_SCHEMA_OF_X1 = frozenset({"activationTime", "programs", "setPoint"})
_UNTOUCHED = 4
"""One in this many generated ids is not replaced by an existing id."""
# XML 1.0 §2.2
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass
class Outcome:
    """The result for one document: failures as texts, and the statuses of each operation."""

    failures: list[str] = field(default_factory=list)
    answers: dict[str, Counter[int]] = field(default_factory=dict)

    @property
    def requests(self) -> int:
        return sum(statuses.total() for statuses in self.answers.values())


def list_documents(base_url: str) -> dict[str, str]:
    """The URLs of the documents by the slugs of the families."""
    index = httpx.get(f"{base_url}/openapi", trust_env=False)
    assert index.status_code == 200
    return dict(index.json()["documents"])


def fuzz(gateway: Gateway, slug: str, *, examples: int, seed: int | None = None) -> Outcome:
    """Fuzz every operation of one document. Without a seed every run is the same."""
    document = httpx.get(list_documents(gateway.base_url)[slug], trust_env=False).json()
    import schemathesis

    known, id_of = {}, {}
    for described in _operations(document):
        name = described["x-operation"]
        known[name], id_of[name] = _Known(gateway, BY_NAME[name]), described["operationId"]
        known[name].set_examples(described["parameters"])
    generation = {
        "max-examples": examples,
        "deterministic": seed is None,
        "database": "none",
        # No shrinking: failures are reported as found.
        "no-shrink": True,
    }
    config = schemathesis.Config.from_dict(
        {
            "base-url": gateway.base_url,
            "seed": 1 if seed is None else seed,
            "continue-on-failure": True,
            "request-timeout": 20,
            "generation": generation,
            # An example of this phase is a chain of requests that use earlier answers.
            "phases": {"stateful": {"generation": {**generation, "max-examples": max(5, examples // 4)}}},
            "operations": [
                {"include-operation-id": id_of[name], "headers": one.headers, "checks": _checks(BY_NAME[name])}
                for name, one in known.items()
            ],
        }
    )
    schema = schemathesis.openapi.from_dict(document, config=config)
    _hook(schema, known)
    return _run(schema, known)


def _operations(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for methods in document["paths"].values():
        yield from methods.values()


class _Known:
    """Users and targets for which an operation answers 200."""

    def __init__(self, gateway: Gateway, operation: Operation) -> None:
        self.operation = operation
        who, first = gateway.case(operation)
        self.targets = [first, *(target for mail, target in gateway.cases(operation) if mail == who)]
        token = gateway.people[who].token_for(operation)
        self.headers = {KEY_HEADER: gateway.subscription_key, "Authorization": f"Bearer {token}"}
        self._base_url = gateway.base_url

    def spell(self, parameter: str, target: Target) -> str:
        if parameter == "reference":
            return target["reference"]
        if parameter == "subscriptionId":
            return _NO_SUBSCRIPTION
        return self.operation.spell(target[ROLES[parameter.lower()]])

    def read_light(self, path: str) -> dict[str, Any]:
        """The light as E8 shows it: E8 has the path of X2."""
        answer = httpx.get(self._base_url + path, headers=self.headers, trust_env=False)
        assert answer.status_code == 200, answer.text
        (light,) = answer.json()["lights"]
        return dict(light)

    def set_examples(self, parameters: list[dict[str, Any]]) -> None:
        """Give existing ids to the phases that use examples."""
        for parameter in parameters:
            parameter["example"] = self.spell(parameter["name"], self.targets[0])

    def choose(self, generated: dict[str, Any]) -> dict[str, Any]:
        """Replace most generated ids by existing ones. Texts that are not ids stay."""
        if not generated or not all(self._is_well_formed(name, value) for name, value in generated.items()):
            return generated
        number = zlib.crc32(repr(sorted(generated.items())).encode("utf-8", "surrogatepass"))
        if number % _UNTOUCHED == 0:
            return generated
        target = self.targets[number // _UNTOUCHED % len(self.targets)]
        return {name: self.spell(name, target) for name in generated}

    def _is_well_formed(self, name: str, value: Any) -> bool:
        if not isinstance(value, str):
            return False
        if name == "reference":
            return bool(value)
        digits = "[0-9a-fA-F]"
        form = f"{digits}{{32}}" if self.operation.hex_ids else f"{digits}{{8}}(-{digits}{{4}}){{3}}-{digits}{{12}}"
        return re.fullmatch(form, value) is not None


def _checks(operation: Operation) -> dict[str, Any]:
    """The statuses that count as accepted and refused, where the specification differs from the default of Schemathesis."""
    refused = ["400", "401", "403", "404", "405", "406"]
    accepted = ["2xx", "403", "404"]
    if operation.name == "E5":
        refused.append("442")  # a value outside its enumeration (Spec 4, E5)
    if operation.name == "X6":
        accepted += [
            "400",
            "409",
        ]  # the schema accepts any text as a URL, but few texts can be called; a plant has one subscription
    if operation.name in ("E18", "E19"):
        accepted.append("400")  # a site or reference that does not exist: they list no 404 (Spec 4)
    return {
        "negative_data_rejection": {"expected-statuses": refused},
        "positive_data_acceptance": {"expected-statuses": accepted},
    }


def _is_excused(failure: "Failure", case: "schemathesis.Case[Any]", known: _Known) -> bool:
    """Whether a JSON Schema cannot express the check: characters of XML (E20, Decision 0017), or values of X1 and X2."""
    if type(failure).__name__ != "RejectedPositiveData":
        return False
    if case.path == "/echo/resource":
        return _holds_no_xml(case.body)
    if not isinstance(case.body, dict):
        return False
    if case.path == X1_PATH:
        return not _BEYOND_SCHEMA_OF_X1.isdisjoint(case.body)
    return case.path == X2_PATH and refuses_light_order(case.body, lambda: known.read_light(case.formatted_path))


def refuses_light_order(order: dict[str, Any], read_light: Callable[[], dict[str, Any]]) -> bool:
    """Whether X2 refuses a body that its schema allows : on with level 0, or a value that the light lacks (Decision 0067)."""
    brightness = order.get("level", order.get("colorHSV", {}).get("V"))
    if order.get("status") == "on" and brightness is not None and round(brightness) == 0:
        return True
    asked = order.keys() & {"level", "colorHSV"}
    return bool(asked) and not asked <= read_light().keys()


def _holds_no_xml(value: Any) -> bool:
    if isinstance(value, dict):
        return any(_holds_no_xml(key) or _holds_no_xml(inner) for key, inner in value.items())
    if isinstance(value, list):
        return any(map(_holds_no_xml, value))
    return isinstance(value, str) and _NOT_XML.search(value) is not None


def _hook(schema: "BaseSchema", known: dict[str, _Known]) -> None:
    @schema.hook("map_path_parameters")
    def use_what_exists(context: "schemathesis.HookContext", path_parameters: dict[str, Any]) -> dict[str, Any]:
        assert context.operation is not None
        return known[_name_of(context.operation)].choose(path_parameters)

    @schema.hook("filter_failure")
    def keep(
        context: "schemathesis.HookContext",
        failure: "Failure",
        case: "schemathesis.Case[Any]",
        response: "schemathesis.Response",
    ) -> bool:
        return not _is_excused(failure, case, known[_name_of(case.operation)])


def _name_of(operation: "schemathesis.APIOperation[Any, Any, Any, Any]") -> str:
    return str(operation.definition.raw["x-operation"])


def _run(schema: "BaseSchema", names: Iterable[str]) -> Outcome:
    from schemathesis.engine import events, from_schema

    outcome = Outcome(answers={name: Counter() for name in names})
    for event in from_schema(schema).execute():
        if isinstance(event, events.ScenarioFinished):
            _collect(event.recorder, outcome)
        elif isinstance(event, events.NonFatalError):
            outcome.failures.append(f"{event.label}: {event.value}")
        elif isinstance(event, events.FatalError):
            outcome.failures.append(f"Schemathesis failed: {event.exception!r}")
    return outcome


def _collect(recorder: "ScenarioRecorder", outcome: Outcome) -> None:
    for case_id, interaction in recorder.interactions.items():
        case = recorder.cases[case_id].value
        name = _name_of(case.operation)
        if interaction.response is None:
            outcome.failures.append(f"{name}: no answer to {interaction.request.method} {interaction.request.uri}")
        elif case.method.upper() == BY_NAME[name].method:
            outcome.answers[name][interaction.response.status_code] += 1
    for case_id, checks in recorder.checks.items():
        for check in checks:
            if check.failure_info is not None:
                name, answer = _name_of(recorder.cases[case_id].value.operation), recorder.interactions[case_id].response
                said = "no answer" if answer is None else f"{answer.status_code} {answer.content[:300]!r}"
                failure, how = check.failure_info.failure, check.failure_info.code_sample
                outcome.failures.append(f"{name}: {check.name}: {failure.title}\n{failure.message}\n{said}\n{how}")
