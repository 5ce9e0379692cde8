"""A rule of the contract, and a finding: a rule that an answer breaks."""

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from domogate.conformance.exchange import Exchange

Schema = dict[str, Any]


class Rule(NamedTuple):
    """A sentence of the contract. `id` begins with the number of its section."""

    id: str
    sentence: str

    @property
    def section(self) -> str:
        head, _, tail = self.id.partition(".")
        if head == "0":
            return "conventions"
        return f"{head}.{tail.partition('.')[0]}" if head == "2" else head


class Finding(NamedTuple):
    """A rule that an answer breaks."""

    rule: Rule
    operation: str
    detail: str
    exchange: "Exchange"


class Unchecked(NamedTuple):
    """A rule that could not be checked, and why."""

    rule: Rule
    operation: str
    why: str
