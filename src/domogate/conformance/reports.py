"""The report of a run of `domogate conformance` as text, JSON, JUnit XML or HTML. No report contains a key or a token."""

import json
from collections.abc import Callable
from xml.etree import ElementTree

from domogate.conformance.operations import OPERATIONS
from domogate.conformance.rules import Finding, Rule
from domogate.conformance.run import Outcome

_LONGEST_ANSWER = 2_000


def as_text(outcome: Outcome) -> str:
    """Return the report of a conformance run as text for a terminal."""
    lines = []
    for number, finding in enumerate(outcome.findings, 1):
        lines += [
            f"{number}. {titled(finding.operation)}: {finding.detail}",
            f"   Spec {finding.rule.section}, rule {finding.rule.id}: {finding.rule.sentence}",
            f"   {finding.exchange.command}",
            "",
        ]
    if outcome.unchecked:
        lines.append("Not checked:")
        why: dict[str, list[str]] = {}
        for one in outcome.unchecked:
            why.setdefault(f"{one.rule.id}: {one.why}", []).append(one.operation)
        lines += [f"   {about} ({', '.join(operations)})" for about, operations in why.items()]
        lines.append("")
    lines.append(summary(outcome))
    return "\n".join(lines)


def titled(operation: str) -> str:
    """Return the name of the operation with its title. The name of a family or of the token endpoint is returned alone."""
    return " ".join([operation, *(f"({one.title})" for one in OPERATIONS if one.name == operation)])


def summary(outcome: Outcome) -> str:
    """Return one line with the numbers of findings, checked rules and requests."""
    found = len(outcome.findings)
    findings = "no finding" if not found else "1 finding" if found == 1 else f"{found} findings"
    if found > 1:
        findings += f" of {len({one.rule for one in outcome.findings})} rules"
    return f"{outcome.base_url}: {findings}; {len(outcome.checked)} rules checked with {outcome.requests} requests."


def as_json(outcome: Outcome) -> str:
    """Return the report of a conformance run as JSON."""
    document = {
        "baseUrl": outcome.base_url,
        "requests": outcome.requests,
        "findings": [_finding(one) for one in outcome.findings],
        "checked": [{"rule": rule.id, "sentence": rule.sentence, "times": times} for rule, times in outcome.checked.items()],
        "unchecked": [{"rule": one.rule.id, "operation": one.operation, "why": one.why} for one in outcome.unchecked],
    }
    return json.dumps(document, indent=2, ensure_ascii=False)


def as_junit(outcome: Outcome) -> str:
    """Return the report of a conformance run as JUnit XML.

    It has one test case for each rule that was checked. If a rule was not checked for an operation, there is a skipped test
    case for this rule and this operation.
    """
    broken: dict[str, list[Finding]] = {}
    for finding in outcome.findings:
        broken.setdefault(finding.rule.id, []).append(finding)
    skipped: dict[tuple[Rule, str], list[str]] = {}
    for one in outcome.unchecked:
        skipped.setdefault((one.rule, one.operation), []).append(one.why)
    suite = ElementTree.Element(
        "testsuite",
        name=f"conformance of {outcome.base_url}",
        tests=str(len(outcome.checked) + len(skipped)),
        failures=str(len(broken)),
        errors="0",
        skipped=str(len(skipped)),
    )
    for rule in outcome.checked:
        case = _junit_case(suite, rule, "")
        for finding in broken.get(rule.id, [])[:1]:
            failure = ElementTree.SubElement(case, "failure", message=f"{finding.operation}: {finding.detail}")
            every = broken[rule.id]
            failure.text = _clean("\n".join(f"{one.operation}: {one.detail}\n{one.exchange.command}" for one in every))
    for (rule, operation), reasons in skipped.items():
        ElementTree.SubElement(_junit_case(suite, rule, f" ({operation})"), "skipped", message="; ".join(reasons))
    for element in suite.iter():
        element.attrib = {name: _clean(value) for name, value in element.attrib.items()}
    return ElementTree.tostring(suite, encoding="unicode", xml_declaration=True)


def as_html(outcome: Outcome) -> str:
    """Return the report of a conformance run as one HTML page without scripts."""
    from jinja2 import Environment, PackageLoader, select_autoescape  # large; only this report needs it

    pages = Environment(loader=PackageLoader("domogate.conformance", "."), autoescape=select_autoescape(["html"]))
    findings = [(one, _shown_answer(one)) for one in outcome.findings]
    broken: dict[Rule, list[int]] = {}
    for number, finding in enumerate(outcome.findings, 1):
        broken.setdefault(finding.rule, []).append(number)
    page = pages.get_template("report.html")
    return page.render(outcome=outcome, findings=findings, broken=broken, summary=summary(outcome), titled=titled)


REPORTS: dict[str, Callable[[Outcome], str]] = {"text": as_text, "json": as_json, "junit": as_junit, "html": as_html}


def _junit_case(suite: ElementTree.Element, rule: Rule, about: str) -> ElementTree.Element:
    name = f"{rule.id}: {rule.sentence}{about}"
    return ElementTree.SubElement(suite, "testcase", classname=f"Spec {rule.section}", name=name)


def _finding(one: Finding) -> dict[str, object]:
    return {
        "rule": one.rule.id,
        "section": one.rule.section,
        "sentence": one.rule.sentence,
        "operation": one.operation,
        "detail": one.detail,
        "request": one.exchange.command,
        "status": one.exchange.status,
        "answer": _shown_answer(one),
    }


def _shown_answer(finding: Finding) -> str:
    shown = finding.exchange.answer[:_LONGEST_ANSWER].decode("utf-8", "replace")
    return shown if len(finding.exchange.answer) <= _LONGEST_ANSWER else f"{shown} …"


def _clean(text: str) -> str:
    """Return the text without characters that XML does not allow."""
    return "".join(letter for letter in text if letter in "\t\n" or letter >= " ")
