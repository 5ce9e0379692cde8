"""The test API with all its operations. Only `domogate demo --testing` serves it."""

from domogate.domain.people import MANAGE_SCOPE
from domogate.http_api.credentials import OperatorToken
from domogate.http_api.operations import Surface
from domogate.test_api import faults, operations

PREFIX = "/manage/v1/testing"

SURFACE = Surface(
    name="testing",
    prefix=PREFIX,
    description="For tests of applications: reset the gateway, replace its estate, issue tokens, move time, add faults, and "
    "see commands and traffic. Only `domogate demo --testing` has these operations. Every operation needs the management token "
    f"of the ready file, or another access token of an operator with the scope {MANAGE_SCOPE}.",
    operations=[*operations.OPERATIONS, *faults.OPERATIONS],
    credentials=OperatorToken,
)
