"""The number of files that the process may open. Each connection counts as one file."""

import contextlib

from domogate.edge.connections import RESERVE

_OTHER_FILES = 100
"""The number of open files that is enough for everything except connections: the database, drivers, webhooks, metrics."""


def count_allowed_connections(wanted: int) -> int:
    """Return the number of connections that the limit of open files allows.

    `wanted` is the number of connections that the gateway wants to allow. If the soft limit is too low for this number, it is
    first raised, at most to the hard limit.
    """
    beside = RESERVE + _OTHER_FILES
    return allow_files(wanted + beside) - beside


def allow_files(needed: int) -> int:
    """Raise the soft limit of open files to `needed` if it is lower. Return the number of files that may now be open."""
    try:
        import resource
    except ImportError:  # not available on Windows, which has no such limit
        return needed
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < needed:
        wanted = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
        with contextlib.suppress(OSError, ValueError):  # The real limit can be lower than the reported limit.
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return needed if soft == resource.RLIM_INFINITY else soft
