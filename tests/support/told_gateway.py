"""`domogate` as a member of a cluster whose regular looks are rare. Run it as a module.

It renews its lease, sends questions again and looks for members only when it is told, or after an hour. It also waits an hour
for late answers before it stops. So a test that passes with these gateways does not depend on a timer, and a slow machine does
not end a wait too early.
"""

from functools import partial
from unittest.mock import patch

from domogate.cli import main
from domogate.fabric import connection, nats
from domogate.services.cluster import LeaseTimes, holder_watch, membership, propagation

NEVER = 3_600.0

if __name__ == "__main__":
    rare = partial(LeaseTimes, lease=3 * NEVER, renewal=NEVER)
    with (
        patch.object(membership, "LeaseTimes", rare),
        patch.object(holder_watch, "LeaseTimes", rare),
        patch.object(propagation, "_ASK_AGAIN", NEVER),
        patch.multiple(nats, _FIRST_RETRY=NEVER, _LONGEST_RETRY=NEVER, _ASK_AGAIN=NEVER, _LAST_ANSWERS=NEVER),
        patch.multiple(connection, _PING_SECONDS=NEVER, _CONNECT_SECONDS=NEVER),
    ):
        main()
