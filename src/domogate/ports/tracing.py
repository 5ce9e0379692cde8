"""The port for traces of messages between gateways."""

from collections.abc import Awaitable, Mapping
from contextlib import AbstractContextManager
from typing import Protocol


class MessageTrace(Protocol):
    """Makes spans for the orders and questions that this gateway sends, and for the messages that it answers.

    The headers of a message name the trace.
    """

    def ask(self, subject: str) -> AbstractContextManager[dict[str, str]]:
        """Make a span for an order or a question. The result is a context manager that gives the headers of the message."""
        ...

    def answer(self, subject: str, headers: Mapping[str, str] | None, work: Awaitable[None]) -> Awaitable[None]:
        """Await `work`, which answers a message of another gateway. The headers of the message name the trace.

        `work` becomes a span of this trace.
        """
        ...
