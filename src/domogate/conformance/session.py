"""One run of the tool: sends requests, judges every answer by the rules for all answers, and collects the findings."""

import json
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

from jsonschema import Draft202012Validator, FormatChecker

from domogate.conformance.exchange import Client, Credentials, Exchange, Unreachable
from domogate.conformance.operations import ERRORS, OPERATIONS, Operation
from domogate.conformance.rules import Finding, Rule, Schema, Unchecked
from domogate.conformance.values import is_time, rule_at, rules_used

IS_JSON = Rule("0.json", "Bodies are JSON unless stated.")
NO_CONTENT = Rule("7.204", "204: no content (no body).")

MOST_OF_ONE_RULE = 3
"""Findings of one rule on one operation that are reported. More of them are the same fault."""
_BUSY = (429, 503)
_TRIES, _LONGEST_PAUSE = 3, 30.0

_formats = FormatChecker(["date-time"])
_formats.checks("local-time", raises=ValueError)(is_time)


def _validator(schema: Schema) -> Draft202012Validator:
    return Draft202012Validator(schema, format_checker=_formats)


class Session:
    """The requests and findings of one run."""

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
        self._bodies = {one.name: (one.body, _validator(one.body)) for one in OPERATIONS if one.body is not None}
        self._errors = {shape: (schema, _validator(schema)) for shape, schema in ERRORS.items()}

    def credentials_for(self, operation: Operation) -> Credentials:
        """Return the key and the token of the kind that the family wants (Spec 5)."""
        return self._access if operation.needs_access_token else self.credentials

    def ask(
        self,
        operation: Operation,
        ids: dict[str, str] | None = None,
        *,
        credentials: Credentials | None = None,
        body: bytes | None = None,
        content_type: str | None = "application/json",
    ) -> Exchange:
        """Send a request of this operation, and judge its answer by the rules for all answers."""
        body = self.right_body(operation) if body is None else body
        by = credentials or self.credentials_for(operation)
        exchange = self.send(operation.method, operation.fill(ids or {}), by, body, content_type)
        self._judge(operation, exchange)
        return exchange

    @staticmethod
    def right_body(operation: Operation) -> bytes | None:
        """Return a correct body for a request of this operation, or None if the operation takes no body."""
        return None if operation.sends is None else json.dumps(operation.sends).encode()

    def send(
        self,
        method: str,
        path: str,
        credentials: Credentials,
        body: bytes | None = None,
        content_type: str | None = "application/json",
    ) -> Exchange:
        """Send a request. If the answer is 429 or 503, wait as `Retry-After` says and send the request again."""
        for _ in range(_TRIES):
            exchange = self.client.send(method, path, credentials, body, content_type)
            if exchange.status not in _BUSY:
                return exchange
            pause = exchange.headers.get("retry-after", "")
            seconds = min(float(pause) if pause.isdecimal() else 1.0, _LONGEST_PAUSE)
            self._tell(f"{exchange.status}: waiting {seconds:.0f} s")
            self._sleep(seconds)
        raise Unreachable(f"{method} {path}: status {exchange.status} after {_TRIES} tries")

    def check(self, rule: Rule, operation: Operation | str, exchange: Exchange, holds: bool, detail: str) -> bool:
        """Count the rule as checked, and note a finding if it does not hold."""
        name = operation if isinstance(operation, str) else operation.name
        self.checked[rule] += 1
        if not holds and sum(one.rule == rule and one.operation == name for one in self.findings) < MOST_OF_ONE_RULE:
            self.findings.append(Finding(rule, name, detail, exchange))
        return holds

    def skip(self, rule: Rule, operation: Operation | str, why: str) -> None:
        """Note that a rule was not checked."""
        name = operation if isinstance(operation, str) else operation.name
        self.unchecked.append(Unchecked(rule, name, why))

    def read(self, exchange: Exchange) -> Any:
        """Return the body of the answer. Return None if the status is not 200, or if the body is not JSON."""
        try:
            return exchange.read_json() if exchange.status == 200 else None
        except ValueError:
            return None

    def _judge(self, operation: Operation, exchange: Exchange) -> None:
        # 401 is possible for every operation (Spec 5.4). The specification shows only the status 200 of the echo operation.
        may_be = operation.statuses | {401}
        if operation.name != "E20":
            self.check(operation.lists_rule, operation, exchange, exchange.status in may_be, f"the status is {exchange.status}")
        if exchange.status == 204:
            length = exchange.headers.get("content-length", "0")  # A client does not read a body after 204.
            self.check(NO_CONTENT, operation, exchange, length == "0", f"the body has {length} bytes")
        elif exchange.status == 200 and operation.name in self._bodies:
            self._judge_body(operation, exchange, *self._bodies[operation.name])
        elif exchange.status >= 400 and operation.shape and exchange.status in operation.statuses:
            self._judge_body(operation, exchange, *self._errors[operation.shape])

    def _judge_body(self, operation: Operation, exchange: Exchange, schema: Schema, validator: Draft202012Validator) -> None:
        try:
            body = exchange.read_json()
        except ValueError as unreadable:
            self.check(IS_JSON, operation, exchange, False, f"the body cannot be read: {unreadable}")
            return
        kind = exchange.headers.get("content-type", "")
        is_json = kind.partition(";")[0].strip().lower() in ("application/json", "text/json")
        self.check(IS_JSON, operation, exchange, is_json, f"the content type is {kind!r}")
        self.checked.update(rules_used(schema, body))
        for error in validator.iter_errors(body):
            rule = rule_at(schema, list(error.absolute_schema_path))
            self.check(rule, operation, exchange, False, f"{error.json_path}: {error.message[:300]}")
