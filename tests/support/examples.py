"""Number of examples of a costly property test: few in the fast loop, more in the tests, many in `./dev soak`."""

import os

FAST_PROFILE, LONG_PROFILE = "fast", "long"
FAST_EXAMPLES = 10
_TIMES = 10


def examples(usual: int) -> int:
    profile = os.environ.get("HYPOTHESIS_PROFILE")
    if profile == FAST_PROFILE:
        return min(usual, FAST_EXAMPLES)
    return usual * _TIMES if profile == LONG_PROFILE else usual
