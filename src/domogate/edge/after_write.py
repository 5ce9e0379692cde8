"""Delays the answer to a request that changed data (Decision 0091).

The answer waits until the other gateways of a cluster know the change.
"""

from collections.abc import Awaitable, Callable
from typing import Any

from domogate.common.http_messages import Answer, Request
from domogate.edge.direct import Handler
from domogate.edge.stack import ASGIApp, Receive, Scope, Send

_READING = frozenset(("GET", "HEAD", "OPTIONS"))


class AnswerAfterWrite:
    """An ASGI app around all surfaces of a member of a cluster.

    It delays the answer to a request that changed data, until the other gateways of the cluster know the change.
    """

    def __init__(self, app: ASGIApp, newest: Callable[[], int], wait: Callable[[], Awaitable[None]]) -> None:
        """`newest` returns a number that grows with each change that this gateway commits.

        `wait` waits until the other gateways know all these changes.
        """
        self._app = app
        self._newest = newest
        self._wait = wait

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] in _READING:
            await self._app(scope, receive, send)
            return
        before = self._newest()

        async def send_after_write(message: Any) -> None:
            if message["type"] == "http.response.start" and self._newest() > before:
                await self._wait()
            await send(message)

        await self._app(scope, receive, send_after_write)


def answer_after_write(handler: Handler, newest: Callable[[], int], wait: Callable[[], Awaitable[None]]) -> Handler:
    """Return a handler that calls `handler`. If this call changed data, the returned handler calls `wait` before it answers.

    The returned handler is for direct requests; `AnswerAfterWrite` is for requests through ASGI.
    """

    async def answer(request: Request) -> Answer:
        before = newest()
        found = await handler(request)
        if newest() > before:
            await wait()
        return found

    return answer
