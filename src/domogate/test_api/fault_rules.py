"""Faults of answers: rules that say which requests get a wrong, late or broken answer."""

from collections.abc import Collection, Sequence
from enum import StrEnum

import msgspec

from domogate.domain.ids import Id
from domogate.domain.injections import InjectedFault
from domogate.services.refusals import Conflict

MOST_RULES = 1_000


class FaultKind(StrEnum):
    """The faults of the test kit. If the value of a fault is a number, the request is answered with this status."""

    OFFLINE = "offline"
    SILENT = "silent"
    REFUSING = "refusing"
    SLOW = "slow"
    UNAUTHORIZED = "401"
    FORBIDDEN = "403"
    TIMEOUT = "408"
    TOO_MANY = "429"
    PASSWORD = "469"
    TERMS = "470"
    INTERNAL = "500"
    UNAVAILABLE = "503"
    DROP = "drop"
    HALF = "half"
    CUT = "cut"


OF_DEVICES = {
    FaultKind.OFFLINE: InjectedFault.OFFLINE,
    FaultKind.SILENT: InjectedFault.SLOW,
    FaultKind.REFUSING: InjectedFault.REFUSING,
}
"""Faults of devices. They are injected into the plant in the same way as the faults that operators inject (Decision 0035).

The fault of a device that never answers is `InjectedFault.SLOW`. The test kit names this fault `silent`, because it uses the
name `slow` for another fault.
"""
INSTEAD = frozenset(kind for kind in FaultKind if kind.isdecimal()) | {FaultKind.DROP}
"""With these faults, the request does not reach the surfaces: `Gate` answers with the status of the fault, or disconnects."""


class RequestFacts(msgspec.Struct, frozen=True):
    """The facts about a request that a fault rule can require. A fact that is not known is None."""

    operation: str | None = None
    plant_id: Id | None = None
    module_id: Id | None = None
    user_id: Id | None = None
    key_hash: str | None = None


class FaultRule(msgspec.Struct):
    """A fault and the requests that get it. If a field of `wanted` is None, it matches every request."""

    id: Id
    kind: FaultKind
    wanted: RequestFacts
    user: str | None = None
    """The e-mail of the user whose id is in `wanted`."""
    key: str | None = None
    """The name of the subscription key whose hash is in `wanted`."""
    ms: int = 0
    """For SLOW: the delay of the answer. For CUT: the time from the start of the stream to its end. In milliseconds."""
    left: int | None = None
    """The number of requests that still get the fault. None means no limit."""
    applied: int = 0
    """The number of requests that got the fault. It stays 0 for faults of devices: `Gate` does not apply them."""

    def matches(self, facts: RequestFacts) -> bool:
        pairs = zip(msgspec.structs.astuple(self.wanted), msgspec.structs.astuple(facts), strict=True)
        return self.left != 0 and all(wanted in (None, given) for wanted, given in pairs)

    def use(self) -> None:
        self.applied += 1
        if self.left is not None:
            self.left -= 1


class FaultRules:
    """All fault rules of the test kit, in the order in which they were added. There are at most `MOST_RULES`."""

    def __init__(self) -> None:
        self._rules: dict[Id, FaultRule] = {}

    def add(self, rule: FaultRule) -> None:
        if len(self._rules) >= MOST_RULES:
            raise Conflict(f"There are already {MOST_RULES} faults; delete some of them.")
        self._rules[rule.id] = rule

    def list(self) -> Sequence[FaultRule]:
        return tuple(self._rules.values())

    def find(self, rule_id: Id) -> FaultRule | None:
        return self._rules.get(rule_id)

    def remove(self, rule_id: Id) -> None:
        self._rules.pop(rule_id, None)

    def clear(self) -> None:
        self._rules.clear()

    def take(self, facts: RequestFacts, kinds: Collection[FaultKind]) -> FaultRule | None:
        """Return the first rule of these kinds that matches the request, and count its use. Return None if no rule matches."""
        for rule in self._rules.values():
            if rule.kind in kinds and rule.matches(facts):
                rule.use()
                return rule
        return None

    def needs_user(self) -> bool:
        """Whether a rule names a user, so that the token of each request must be verified."""
        return any(rule.wanted.user_id is not None for rule in self._rules.values())
