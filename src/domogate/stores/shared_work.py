"""Work that concurrent callers share. One call of a function does the work of all these callers.

A frequent write needs fewer statements if the rows of several callers are read and written together. With fewer statements, the
writer thread and the event loop's thread also compete less often for the interpreter.
"""

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from domogate.stores.engine import Transaction

A = TypeVar("A")
T = TypeVar("T")

Work = Callable[[Transaction], Any]


class SharedWork(Generic[A, T]):
    """The request of one caller, and the function that handles the requests of several callers together.

    `function` gets the requests of all callers in the order in which they came. It returns one answer for each request. The
    answers are the same as for requests that come one after the other. If this object is called like a function, it handles
    only its own request.
    """

    __slots__ = ("function", "request")

    def __init__(self, function: Callable[[Transaction, Sequence[A]], Sequence[T]], request: A) -> None:
        self.function = function
        self.request = request

    def __call__(self, tx: Transaction) -> T:
        return self.function(tx, [self.request])[0]


class SharedWorkFailed(Exception):
    """Work that several callers share has failed. All writes of the transaction must be run again.

    In the second run, the work of each caller is done separately.
    """


def do_together(tx: Transaction, works: Sequence[Work | None]) -> Sequence[Any]:
    """Do the work of one or more callers. Return one answer for each caller.

    Either all elements of `works` are SharedWork objects with the same function, or none of them is a SharedWork object.
    """
    function = find_function(works[0])
    if function is None:
        return [work(tx) for work in works if work is not None]
    return function(tx, [work.request for work in works if isinstance(work, SharedWork)])


def find_function(work: Work | None) -> Callable[[Transaction, Sequence[Any]], Sequence[Any]] | None:
    """Return the function that does this work for several callers at once. Return None if each caller does its own work."""
    return work.function if isinstance(work, SharedWork) else None
