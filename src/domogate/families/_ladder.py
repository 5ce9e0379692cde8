"""Finds the status of the answer to a fault.

Each fault has a ladder: an ordered list of statuses. An operation answers with the first status of this list that it declares.
Spec 7 gives the meanings of the statuses, Decision 0002 gives their order. OUTSIDE has the statuses with which an operation may
answer without listing them.
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
    # Operations of families do not raise this fault: only the management API and the home API have idempotency keys.
    faults.OrderKeyTaken: (409,),
    faults.DeviceOffline: (404, 500),
    faults.DeviceTimeout: (408, 500, 404),
    faults.DeviceRefused: (500,),
    faults.CommandNotSupported: (400, 500),
    faults.EchoUnreachable: (502,),
    faults.EchoTimeout: (504,),
    faults.Internal: (500,),
}

OUTSIDE = frozenset({304, 401, 404, 405, 413, 429, 500, 502, 504})
"""Statuses with which an operation may answer without listing them. docs/decisions/index.md has a row for each status."""


def status_of(kind: type[faults.Fault], listed: Set[int]) -> int:
    """Return the first status of the fault's ladder that is in `listed`: the statuses that the operation declares.

    If there is none, return the first status of the ladder that is in OUTSIDE. Raises LookupError if the ladder has no status
    in OUTSIDE either.
    """
    ladder = LADDER[kind]
    for status in ladder:
        if status in listed:
            return status
    for status in ladder:
        if status in OUTSIDE:
            return status
    raise LookupError(f"{kind.__name__} has no status among {sorted(listed)}")
