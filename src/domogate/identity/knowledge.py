"""Limits how old the data of a gateway of a cluster may be. If its data are older, the gateway does not decide about rights."""

from collections.abc import Callable

from domogate.domain.faults import Internal


class KnowledgeBound:
    """A limit on the age of the data with which this gateway decides about rights.

    If another gateway withdraws a right, then at most `seconds` seconds later this gateway knows about it, or refuses to
    answer.
    """

    def __init__(self, age: Callable[[], float], seconds: float) -> None:
        """`age` returns an age in seconds: this gateway knows all changes of other gateways that are older."""
        self._age = age
        self._seconds = seconds

    @property
    def is_kept(self) -> bool:
        return self._age() <= self._seconds

    def check(self) -> None:
        """Raises Internal if this gateway may not know changes of other gateways that are older than the limit."""
        if not self.is_kept:
            raise Internal("this gateway has not got the latest changes from the database; send the request again later")
