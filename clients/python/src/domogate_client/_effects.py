"""The actions that a flow asks its driver to do.

A flow is a generator that contains the logic of a call and does no input or output. It yields an effect, and the driver sends
the result back or throws an error into the flow. There are two drivers: one blocks, one awaits. So the logic exists once.
"""

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import httpx

if TYPE_CHECKING:
    from domogate_client.tokens import Session

T = TypeVar("T")

Flow = Generator[Any, Any, T]


@dataclass(frozen=True, slots=True)
class Answer:
    """A complete answer."""

    status: int
    headers: httpx.Headers
    body: bytes


@dataclass(slots=True)
class Send:
    """Send the request and read the whole answer. The result is an Answer. Raises httpx.TransportError."""

    request: httpx.Request
    ends: float
    """The time of the monotonic clock at which reading stops."""


@dataclass(frozen=True, slots=True)
class Opened:
    """An open response, and the iterator of its bytes."""

    response: httpx.Response
    chunks: Any


@dataclass(slots=True)
class OpenStream:
    """Send the request. The result is an Opened, whose body is not read yet. Raises httpx.TransportError."""

    request: httpx.Request
    ends: float
    """The time of the monotonic clock at which the client stops waiting for the stream and reading it."""


@dataclass(slots=True)
class ReadChunk:
    """Read the next bytes of a stream: empty at its end. Raises httpx.TransportError."""

    opened: Opened
    ends: float


@dataclass(slots=True)
class CloseStream:
    """Close the response."""

    opened: Opened


@dataclass(slots=True)
class Pause:
    """Wait for this number of seconds."""

    seconds: float


@dataclass(slots=True)
class Hook:
    """Call a function of the application. The driver that awaits calls a function that is no coroutine in a thread."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]


@dataclass(slots=True)
class Locked:
    """Run a flow while no other call uses the session. A task that is cancelled or late does not stop the flow."""

    session: "Session"
    flow: Flow[Any]
    ends: float
    """The time of the monotonic clock at which waiting stops."""


@dataclass(slots=True)
class Emit:
    """Give an event to the application."""

    event: Any
