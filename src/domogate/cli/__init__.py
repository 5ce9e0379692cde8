"""The command line: one file for each first word of a command, for example `user` in `domogate user add`.

`commands.py` has the list of all commands.
"""

import gc
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
    # Imported modules stay until the process ends. Without garbage collection, imports take a quarter less time. A gateway
    # enables garbage collection when it is ready, and every other command when its modules are imported (`run_to_end`).
    gc.disable()
    from domogate.cli.commands import run

    run()
