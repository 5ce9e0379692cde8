"""At the end of the start, gives unused memory back to the system and makes later garbage collections shorter."""

import ctypes
import gc
from contextlib import suppress

_YOUNG_OBJECTS = 2_000
"""The garbage collector runs after this number of new objects. With 700, the default of Python 3.11, a command to a module
needs 5 % more CPU time.

With 10,000, such a command needs as much CPU time as with this number, but the memory of refused requests with long paths is
freed too late.
"""


def finish_start_up() -> None:
    """Switch the garbage collector on, and return free memory to the system.

    No garbage is collected here: this would take a tenth of the start time, and the process would not get smaller. Only glibc
    has the function that returns memory. On systems without glibc, no memory is returned.
    """
    enable_collector()
    with suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)


def enable_collector() -> None:
    """Switch the garbage collector on. It ignores the objects that exist now, because they exist until the process ends.

    Nearly all objects of a request are freed without the collector, so it runs less often than by default in Python 3.11.
    """
    gc.freeze()
    gc.set_threshold(_YOUNG_OBJECTS, 10, 10)
    gc.enable()
