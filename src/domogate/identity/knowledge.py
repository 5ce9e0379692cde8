"""Limits how old the data of a gateway of a cluster may be. If its data are older, the gateway does not decide about rights."""

import asyncio
from collections.abc import Callable

from domogate.domain.faults import Internal

_LOOK_EVERY = 0.02


class KnowledgeBound:
    """A limit on the age of the data with which this gateway decides about rights.

    Another gateway may withdraw a right. At most `seconds` seconds later, this gateway knows about it or refuses to answer.
    """

    def __init__(self, age: Callable[[], float], seconds: float, patience: float = 2.0) -> None:
        """`age` returns an age in seconds: this gateway knows all changes of other gateways that are older than this age.

        `seconds` is the limit on this age. `patience` is the number of seconds for which a request waits for the latest
        changes.
        """
        self._age = age
        self._seconds = seconds
        self._patience = patience

    @property
    def is_kept(self) -> bool:
        return self._age() <= self._seconds

    async def wait(self) -> None:
        """Wait until the data of this gateway are not older than the limit.

        The wait helps if this gateway reads changes late, for example on a busy machine. Raises Internal if the data are still
        too old after `patience` seconds.
        """
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._patience
        while not self.is_kept:
            if loop.time() >= deadline:
                problem = "this gateway has not got the latest changes from the database; send the request again later"
                raise Internal(problem, is_temporary=True)
            await asyncio.sleep(_LOOK_EVERY)
