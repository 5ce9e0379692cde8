"""`./dev cluster`: a cluster on this machine, to try and to break."""

import argparse
import json
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from support.cluster import Cluster, Member, running_cluster

HELP = """\
kill N      end gateway N at once (SIGKILL)
stop N      end gateway N as an operator does (SIGTERM): it hands its plants over first
start N     start gateway N again
freeze N    stop the process of gateway N without ending it (SIGSTOP)
thaw N      let it continue
cut N       cut gateway N off from PostgreSQL and NATS; its connections stay open
heal N      connect it again
list        show the gateways
quit        end everything (or Ctrl-C)"""


def _start(member: Member) -> None:
    member.spawn("demo")
    member.wait_ready()


ACTIONS: dict[str, Callable[[Member], None]] = {
    "kill": Member.kill,
    "stop": Member.terminate,
    "start": _start,
    "freeze": Member.freeze,
    "thaw": Member.thaw,
    "cut": Member.cut,
    "heal": Member.heal,
}


def perform(cluster: Cluster, line: str) -> str:
    """Perform one command. Return what to print."""
    action, _, number = line.strip().partition(" ")
    if action == "list":
        return describe(cluster)
    if action not in ACTIONS:
        return HELP
    members = {str(member.number): member for member in cluster.members}
    if (member := members.get(number.strip())) is None:
        return f"{action} needs the number of a gateway: 1 to {len(members)}"
    is_running = member.process is not None and member.process.poll() is None
    if is_running is (action == "start"):
        return f"gateway {number} {'already runs' if is_running else 'does not run'}"
    ACTIONS[action](member)
    return f"{action} {number}: done"


def describe(cluster: Cluster) -> str:
    lines = [f"balancer    {cluster.base_url}"]
    for member in cluster.members:
        runs = member.process is not None and member.process.poll() is None
        lines.append(
            f"gateway {member.number}   {member.base_url}   {f'process {member.pid}' if runs else 'ended'}   log {member.log}"
        )
    return "\n".join(lines)


def _say(words: str) -> None:
    sys.stdout.write(f"{words}\n")
    sys.stdout.flush()


def main() -> None:
    parser = argparse.ArgumentParser(prog="./dev cluster", description=__doc__)
    parser.add_argument("--gateways", type=int, default=3, metavar="N", help="number of gateways, 1 to 20 (default: 3)")
    parser.add_argument("--ready-file", type=Path, metavar="FILE", help="write addresses, credentials and process ids here")
    arguments = parser.parse_args()
    if not 1 <= arguments.gateways <= 20:
        parser.error("--gateways: 1 to 20 is allowed")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    _say("Starting PostgreSQL, NATS and the gateways")
    with suppress(KeyboardInterrupt), running_cluster(arguments.gateways) as cluster:
        if arguments.ready_file is not None:
            arguments.ready_file.parent.mkdir(parents=True, exist_ok=True)
            arguments.ready_file.write_text(json.dumps(cluster.ready, indent=2) + "\n")
        try:
            _say(f"{describe(cluster)}\n\n{HELP}\n")
            for line in sys.stdin:
                if line.strip() == "quit":
                    return
                _say(perform(cluster, line))
            signal.pause()  # Without an input, it runs until a signal ends it.
        finally:
            if arguments.ready_file is not None:
                arguments.ready_file.unlink(missing_ok=True)


if __name__ == "__main__":
    main()
