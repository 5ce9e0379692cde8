"""Puts faults of bodies into rounds. The faults of one round do not hide each other: one run of the tool finds all of them."""

import copy
from collections import Counter
from collections.abc import Iterator
from itertools import zip_longest
from typing import Any, NamedTuple

from conformance_tool.schema_faults import BodyFault, Place, as_path, faults_of
from domogate.conformance.operations import ERRORS, OPERATIONS, Operation
from domogate.conformance.session import MOST_OF_ONE_RULE
from support.mock_bodies import right_body
from support.mock_families import Ask, Reply, refusal

Found = tuple[str, str, str]
"""The operation, the rule and the place of a finding."""


class Planted(NamedTuple):
    """Faults of one kind of body of one operation."""

    operation: Operation
    is_error: bool
    faults: tuple[BodyFault, ...]

    def change(self, body: Any) -> Any:
        """Return the body with all faults. A fault in an item of a list is in a copy of this item, behind the right items."""
        changed = copy.deepcopy(body)
        for fault in self.faults:
            at = _first_index(fault.place)
            if at is None:
                changed = fault.apply(changed)
            else:
                wrong = _part(fault.apply(body), fault.place[: at + 1])
                _part(changed, fault.place[:at]).append(wrong)
        return changed

    def expected(self, body: Any) -> Iterator[Found]:
        """Yield what the tool must find in the changed body."""
        next_index: Counter[Place] = Counter()
        for fault in self.faults:
            place, at = fault.reported_at, _first_index(fault.place)
            if at is not None:
                above = place[:at]
                place = (*above, len(_part(body, above)) + next_index[above], *place[at + 1 :])
                next_index[above] += 1
            yield self.operation.name, fault.rule, as_path(place)


class Round(NamedTuple):
    """All faults of one run of the tool."""

    planted: tuple[Planted, ...]

    def change(self, ask: Ask, reply: Reply) -> Reply:
        for one in self.planted:
            is_listed = ask.operation is one.operation and reply.status in one.operation.statuses
            if is_listed and (reply.status >= 400 if one.is_error else reply.status == 200):
                body = one.change(reply.body)
                return reply._replace(body=b"null" if body is None else body)
        return reply

    def expected(self) -> set[Found]:
        return {found for one in self.planted for found in one.expected(_right(one.operation, one.is_error))}


def _right(operation: Operation, is_error: bool) -> Any:
    return refusal(operation, 404).body if is_error else right_body(operation.name)


def _first_index(place: Place) -> int | None:
    return next((at for at, step in enumerate(place) if isinstance(step, int)), None)


def _part(body: Any, place: Place) -> Any:
    for step in place:
        body = body[step]
    return body


def _hide(one: BodyFault, other: BodyFault) -> bool:
    """Whether one of two faults outside of lists hides the other."""
    length = min(len(one.reported_at), len(other.reported_at))
    return one.reported_at[:length] == other.reported_at[:length]


def _schedule(faults: list[BodyFault]) -> list[list[BodyFault]]:
    """Put the faults of one body into rounds: not more of one rule than the tool reports."""
    rounds: list[list[BodyFault]] = []
    for fault in faults:
        in_item = _first_index(fault.place) is not None
        for made in rounds:
            is_full = sum(one.rule == fault.rule for one in made) >= MOST_OF_ONE_RULE
            if not is_full and (in_item or not any(_hide(fault, one) for one in made)):
                made.append(fault)
                break
        else:
            rounds.append([fault])
    return rounds


def _planted(operation: Operation, *, is_error: bool, in_items: bool) -> list[Planted]:
    schema = ERRORS.get(operation.shape) if is_error else operation.body
    if schema is None:
        return []
    faults = faults_of(schema, _right(operation, is_error))
    chosen = [fault for fault in faults if (_first_index(fault.place) is not None) == in_items]
    return [Planted(operation, is_error, tuple(made)) for made in _schedule(chosen)]


def _merge(columns: list[list[Planted]]) -> list[tuple[Planted, ...]]:
    return [tuple(one for one in row if one is not None) for row in zip_longest(*columns)]


def body_rounds() -> list[Round]:
    """Return the rounds with all faults of all bodies and error bodies."""
    of_items, of_errors, whole = [], [], []
    safety: list[Planted] = []
    for operation in OPERATIONS:
        of_items.append(_planted(operation, is_error=False, in_items=True))
        of_errors.append([one for in_items in (True, False) for one in _planted(operation, is_error=True, in_items=in_items)])
        if operation.family == "emergency-lighting":  # The ids for E18 and E19 are only in the answers of E17 and E18.
            safety += _planted(operation, is_error=False, in_items=False)
        else:
            whole.append(_planted(operation, is_error=False, in_items=False))
    rows = zip_longest(_merge(of_items) + _merge([*whole, safety]), _merge(of_errors), fillvalue=())
    return [Round((*bodies, *errors)) for bodies, errors in rows]
