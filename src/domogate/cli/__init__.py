"""The command line: one file for each noun. `commands.py` has the list of all commands."""

import os
import sys

_STARTS = {"serve": "Starting the gateway …", "demo": "Starting the demo …"}


def main() -> None:
    # Loading the program takes seconds on a slow machine. During this time, a person must see that something happens.
    text = _STARTS.get("".join(sys.argv[1:2]))
    is_started_by_person = not {"-h", "--help"} & set(sys.argv) and "DOMOGATE_PROCESS" not in os.environ
    if text is not None and is_started_by_person:
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()
    from domogate.cli.commands import run

    run()
