"""The ladder: from a fault to a status.

Each fault has an ordered list of statuses. An operation answers the first one that it lists. Spec 7 gives the meanings,
Decision 0002 the order. OUTSIDE has the statuses that an operation may answer without listing them; each has a decision.
"""

from collections.abc import Set

from domogate.domain import faults

LADDER: dict[type[faults.Fault], tuple[int, ...]] = {
    faults.KeyRefused: (401,),
    faults.TokenRefused: (401,),
    faults.ScopeMissing: (401,),
    faults.TooManyRequests: (429,),
    faults.PasswordToRenew: (469,),
    faults.TermsToAccept: (470,),
    faults.NotYourPlant: (403, 401),
    faults.NoSuchPlant: (404, 400),
    faults.NoSuchModule: (404, 400),
    faults.NoSuchAmbient: (404, 400),
    faults.NoPlug: (404,),
    faults.NotASite: (404, 400),
    faults.UnknownReference: (404, 400),
    faults.WrongUrl: (404,),
    faults.WrongMethod: (405,),
    faults.NoSuchSubscription: (404, 400),
    faults.SubscriptionExists: (409,),
    faults.MalformedId: (400, 404),
    faults.MalformedRequest: (400,),
    faults.ValueOutOfRange: (442, 400),
    faults.NotAcceptable: (406,),
    faults.BodyTooLarge: (413,),
    # Only the management API has idempotency keys; no operation of a family raises this fault.
    faults.OrderKeyTaken: (409,),
    faults.DeviceOffline: (404, 500),
    faults.DeviceTimeout: (408, 500, 404),
    faults.DeviceRefused: (500,),
    faults.EchoUnreachable: (502,),
    faults.EchoTimeout: (504,),
    faults.Internal: (500,),
}

OUTSIDE = frozenset({304, 401, 404, 405, 413, 429, 500, 502, 504})
"""Statuses that an operation may answer without listing them (docs/decisions/index.md has a row for each)."""


def status_of(kind: type[faults.Fault], listed: Set[int]) -> int:
    """The status that an operation with this list answers for a fault of this kind."""
    ladder = LADDER[kind]
    for status in ladder:
        if status in listed:
            return status
    for status in ladder:
        if status in OUTSIDE:
            return status
    raise LookupError(f"{kind.__name__} has no status among {sorted(listed)}")
