"""The answers to failures that no surface answers itself: an unexpected exception, or a database that cannot be reached.

Each answer has the error shape of the surface to which the request was sent (Decision 0013).
"""

from collections.abc import Iterable
from functools import partial

from domogate.auth.answers import answer_error
from domogate.common.http_messages import Answer
from domogate.domain.faults import Internal
from domogate.edge.stack import FailureAnswer
from domogate.families import FAMILIES
from domogate.families._family import Family
from domogate.families._serve import build_refusal
from domogate.http_api.problems import problem_of


def build_failure_answers(own_apis: Iterable[bytes]) -> dict[bytes, FailureAnswer]:
    """Return a dict from first path segments to functions, for all families, our own APIs and /auth.

    Each function makes the answer after an unexpected exception, or if the database cannot be reached.
    `own_apis` are the first path segments of our own APIs.
    """
    return {
        **{family.root.encode(): partial(_answer_in_family, family) for family in FAMILIES},
        **dict.fromkeys(own_apis, _answer_with_problem),
        b"auth": answer_error,
    }


def _answer_in_family(family: Family, fault: Internal) -> Answer:
    return build_refusal(family, 503 if fault.is_temporary else 500, fault)


def _answer_with_problem(fault: Internal) -> Answer:
    return problem_of(fault).to_answer()
