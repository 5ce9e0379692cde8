"""The number of files that the process may open. Each connection is one."""

import contextlib

from domogate.edge.connections import RESERVE

_OTHER_FILES = 100
"""Files beside connections: the database, drivers, webhooks, metrics."""


def count_allowed_connections(wanted: int) -> int:
    """How many connections the limit of open files allows. If they are fewer than `wanted`, the soft limit is raised first."""
    beside = RESERVE + _OTHER_FILES
    return allow_files(wanted + beside) - beside


def allow_files(needed: int) -> int:
    """Raise the soft limit to `needed` if it is lower. Returns the number of files that the process may now open."""
    try:
        import resource
    except ImportError:  # not available on Windows, which has no such limit
        return needed
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < needed:
        wanted = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
        with contextlib.suppress(OSError, ValueError):  # the system has a lower limit than it says
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return needed if soft == resource.RLIM_INFINITY else soft
