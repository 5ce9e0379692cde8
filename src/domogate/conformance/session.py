"""One run of `domogate conformance`: sends requests, judges each answer by the rules for all answers, collects findings."""

import json
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

from jsonschema import Draft202012Validator, FormatChecker, ValidationError

from domogate.conformance.exchange import Client, Credentials, Exchange, Unreachable
from domogate.conformance.operations import ERRORS, LISTS, OPERATIONS, Operation
from domogate.conformance.rules import Finding, Rule, Schema, Unchecked
from domogate.conformance.values import is_time, rule_at, rules_used

ANSWERED = Rule("1", "The service is an HTTP/JSON gateway: every request gets a complete answer.")
IS_JSON = Rule("0.json", "Bodies are JSON unless stated.")
NO_CONTENT = Rule("7.204", "204: no content (no body).")
NOTHING_FOUND = Rule("7.204.empty", "204: no content: no plant, site or module found.")
NO_PLUG = Rule("7.404.plug", "404: no plug found.")
SUCCESS = Rule("7.200", "200: success, all operations: a correct request about something of the user succeeds.")

MOST_OF_ONE_RULE = 3
"""At most this number of findings of one rule on one operation is reported. More findings would say nothing new."""
MOST_FAILURES, MOST_FAILURES_IN_A_ROW = 3, 10
"""Limits of requests without a usable answer. After `MOST_FAILURES` such requests, an operation is not called again. After
`MOST_FAILURES_IN_A_ROW`, the run ends.
"""
_BUSY = (429, 503)
_TRIES, _LONGEST_PAUSE = 3, 30.0

_formats = FormatChecker([])
_formats.checks("local-time", raises=ValueError)(is_time)


class Stopped(Exception):
    """The run ends early, because the checked implementation does not answer any more."""


def validator(schema: Schema) -> Draft202012Validator:
    """Return a validator for this schema that also checks the formats of times."""
    return Draft202012Validator(schema, format_checker=_formats)


def _say(error: ValidationError) -> str:
    """Return a text about the error. It does not contain the regular expression of the schema, which is hard to read.

    The report also has the description of the broken rule, which says what the value must look like.
    """
    if error.validator in ("pattern", "format"):
        return f"{error.instance!r:.200} does not have the right form"
    return error.message[:300]


class Session:
    """The requests and findings of one run of `domogate conformance`."""

    def __init__(
        self,
        client: Client,
        credentials: Credentials,
        access: Credentials | None = None,
        *,
        tell: Callable[[str], None] = lambda _text: None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.client = client
        self.credentials = credentials
        self._access = access or credentials
        self._tell, self._sleep = tell, sleep
        self.findings: list[Finding] = []
        self.unchecked: list[Unchecked] = []
        self.checked: Counter[Rule] = Counter()
        self._failures: Counter[str] = Counter()
        self._failures_in_a_row = 0
        self._bodies = {one.name: (one.body, validator(one.body)) for one in OPERATIONS if one.body is not None}
        self._errors = {shape: (schema, validator(schema)) for shape, schema in ERRORS.items()}

    def credentials_for(self, operation: Operation) -> Credentials:
        """Return the key and the token of the kind that the family wants (Spec 5)."""
        return self._access if operation.needs_access_token else self.credentials

    def credentials_of_other_kind(self, operation: Operation) -> Credentials:
        """Return the key and a token of the kind that the family does not want.

        If the tool was started with only one token, return this token, as `credentials_for` does.
        """
        return self.credentials if operation.needs_access_token else self._access

    def ask(
        self,
        operation: Operation,
        ids: dict[str, str] | None = None,
        *,
        credentials: Credentials | None = None,
        body: bytes | None = None,
        content_type: str | None = "application/json",
    ) -> Exchange:
        """Send a request of this operation, and judge its answer by the rules for all answers. If `body` is None, a correct
        body is sent.
        """
        body = self.right_body(operation) if body is None else body
        by = credentials or self.credentials_for(operation)
        exchange = self.send(operation, operation.method, operation.fill(ids or {}), by, body, content_type)
        self._judge(operation, exchange)
        return exchange

    def ask_known(self, operation: Operation, ids: dict[str, str] | None = None) -> Exchange:
        """Send a correct request about the user's own plants or devices. Note a finding if the request does not succeed.

        If the status can also mean that a device is offline or slow, or that the family does not show the plant or such
        devices, there is no finding, and the rule SUCCESS is noted as not checked.
        """
        exchange = self.ask(operation, ids)
        status, is_device = exchange.status, "{module}" in operation.path
        if status in operation.statuses & ({404, 408, 500} if is_device else {404, 408}):
            reason = "the device may be offline or slow" if is_device else "the family may not show this plant or such devices"
            self.skip(SUCCESS, operation, f"the status is {status} for {operation.fill(ids or {})}: {reason}")
        elif status in operation.statuses | {401}:  # Other statuses are already a finding.
            self.check(SUCCESS, operation, exchange, status in (200, 204), f"the status is {status}")
        return exchange

    @staticmethod
    def right_body(operation: Operation) -> bytes | None:
        """Return a correct body for a request of this operation, or None if the operation takes no body."""
        return None if operation.sends is None else json.dumps(operation.sends).encode()

    def send(
        self,
        operation: Operation | str,
        method: str,
        path: str,
        credentials: Credentials,
        body: bytes | None = None,
        content_type: str | None = "application/json",
        *,
        client: Client | None = None,
        shown: bytes | None = None,
    ) -> Exchange:
        """Send a request. If the answer is 429 or 503, wait as `Retry-After` says (30 s at most) and send the request again.

        If the body contains secrets, the report shows `shown` instead of the body. A request fails if it gets no answer, or if
        the answer to the last of `_TRIES` attempts is still 429 or 503. A failure is a finding. Raises Stopped after too many
        failures in a row. After `MOST_FAILURES` failures of one operation, its requests are not sent any more: each result
        only has a `failure`. Raises Unreachable if no connection was possible since the run began.
        """
        name, client = str(operation), client or self.client
        if self._failures[name] >= MOST_FAILURES:
            failure = "the operation was not called again"
            return Exchange(method, path, credentials, body, content_type, 0, {}, b"", failure)
        for left in reversed(range(_TRIES)):
            try:
                exchange = client.send(method, path, credentials, body, content_type)
            except Unreachable as failed:
                if not self.client.sent:
                    raise
                exchange = Exchange(method, path, credentials, body, content_type, 0, {}, b"", str(failed))
            if exchange.status not in _BUSY:
                break
            if left:
                self._wait(exchange)
            else:
                exchange = exchange._replace(failure=f"the status is {exchange.status} after {_TRIES} tries")
        exchange = exchange if shown is None else exchange._replace(body=shown)
        self._judge_transport(operation, exchange)
        return exchange

    def _wait(self, exchange: Exchange) -> None:
        pause = exchange.headers.get("retry-after", "")
        seconds = min(float(pause) if pause.isdecimal() else 1.0, _LONGEST_PAUSE)
        self._tell(f"{exchange.status}: waiting {seconds:.0f} s")
        self._sleep(seconds)

    def _judge_transport(self, operation: Operation | str, exchange: Exchange) -> None:
        """Note a finding if a request got no usable answer. Raises Stopped after too many such requests in a row."""
        self.checked[ANSWERED] += 1
        if not exchange.failure:
            self._failures_in_a_row = 0
            return
        name = str(operation)
        rule = ANSWERED
        if exchange.status and isinstance(operation, Operation) and operation.name != "E20":
            rule = operation.lists_rule
            self.checked[rule] += 1
        self._add(rule, name, exchange.failure, exchange)
        self._failures[name] += 1
        self._failures_in_a_row += 1
        if self._failures[name] == MOST_FAILURES:
            self.skip(ANSWERED, name, f"not called again after {MOST_FAILURES} requests without a usable answer")
        if self._failures_in_a_row >= MOST_FAILURES_IN_A_ROW:
            raise Stopped(f"the run ended early after {MOST_FAILURES_IN_A_ROW} requests in a row without a usable answer")

    def check(self, rule: Rule, operation: Operation | str, exchange: Exchange, holds: bool, detail: str) -> bool:
        """Count the rule as checked, and note a finding if `holds` is False. Return `holds`.

        If `exchange.failure` says that the answer is not usable, the rule is not counted. Then there is no finding, and the
        result is False.
        """
        if exchange.failure:
            return False
        self.checked[rule] += 1
        if not holds:
            self._add(rule, str(operation), detail, exchange)
        return holds

    def _add(self, rule: Rule, name: str, detail: str, exchange: Exchange) -> None:
        same = [one.detail for one in self.findings if one.rule == rule and one.operation == name]
        if detail not in same and len(same) < MOST_OF_ONE_RULE:
            self.findings.append(Finding(rule, name, detail, exchange))

    def skip(self, rule: Rule, operation: Operation | str, why: str) -> None:
        """Note that a rule was not checked."""
        self.unchecked.append(Unchecked(rule, str(operation), why))

    def read(self, exchange: Exchange) -> Any:
        """Return the body of the answer. Return None if the status is not 200, or if the body is not JSON."""
        try:
            return exchange.read_json() if exchange.status == 200 else None
        except ValueError:
            return None

    def _judge(self, operation: Operation, exchange: Exchange) -> None:
        if exchange.failure:
            return
        # 401 is possible for every operation (Spec 5.4). The specification shows only the status 200 of the echo operation.
        may_be = operation.statuses | {401}
        if operation.name != "E20":
            self.check(operation.lists_rule, operation, exchange, exchange.status in may_be, f"the status is {exchange.status}")
        if exchange.status == 204:
            length = exchange.headers.get("content-length", "0")  # A client does not read a body after 204.
            self.check(NO_CONTENT, operation, exchange, length == "0", f"the body has {length} bytes")
        elif exchange.status == 200 and operation.name in self._bodies:
            self._judge_body(operation, exchange, *self._bodies[operation.name])
            self._judge_length(operation, exchange)
        elif exchange.status >= 400 and operation.shape and exchange.status in operation.statuses:
            self._judge_body(operation, exchange, *self._errors[operation.shape])

    def _judge_body(self, operation: Operation, exchange: Exchange, schema: Schema, rules: Draft202012Validator) -> None:
        try:
            body = exchange.read_json()
        except ValueError as unreadable:
            self.check(IS_JSON, operation, exchange, False, f"the body cannot be read: {unreadable}")
            return
        kind = exchange.headers.get("content-type", "")
        is_json = kind.partition(";")[0].strip().lower() in ("application/json", "text/json")
        self.check(IS_JSON, operation, exchange, is_json, f"the content type is {kind!r}")
        self.checked.update(rules_used(schema, body))
        places: set[tuple[Rule, str]] = set()  # A wrong value can have several errors. The first one is enough.
        try:
            for error in rules.iter_errors(body):
                rule = rule_at(schema, list(error.absolute_schema_path))
                if error.validator == "required" or (rule, error.json_path) not in places:
                    self.check(rule, operation, exchange, False, f"{error.json_path}: {_say(error)}")
                places.add((rule, error.json_path))
        except RecursionError:
            self.check(IS_JSON, operation, exchange, False, "the body is nested too deeply")

    def _judge_length(self, operation: Operation, exchange: Exchange) -> None:
        """Check that the answer has no empty list. If a list would be empty, the contract wants the status 204 (E16: 404)."""
        if operation.name in LISTS:
            field, body = LISTS[operation.name], self.read(exchange)
            items = body.get(field) if field and isinstance(body, dict) else body
            rule = NO_PLUG if operation.name == "E16" else NOTHING_FOUND
            self.check(rule, operation, exchange, items != [], "the status is 200, but the list is empty")
