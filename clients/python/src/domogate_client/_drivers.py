"""The two drivers of flows: one blocks, one awaits. All input and output of the package is here."""

import asyncio
import inspect
import math
import time
from collections.abc import AsyncIterator, Awaitable, Iterator
from typing import Any, TypeVar

import httpx

from domogate_client._deadline import end_at
from domogate_client._effects import Answer, CloseStream, Emit, Flow, Hook, Locked, Opened, OpenStream, Pause, ReadChunk, Send
from domogate_client.errors import DeadlineExceeded, UnexpectedAnswer

T = TypeVar("T")

_MARGIN = 0.05
"""httpx has the same deadline. It gets this number of seconds more, because its error says whether a request was sent."""


class _Reader:
    """Collects the body of an answer. Raises if it is too large or comes too slowly."""

    def __init__(self, limit: int, ends: float) -> None:
        self._left = limit
        self._ends = ends
        self._chunks: list[bytes] = []

    def add(self, chunk: bytes) -> None:
        self._left -= len(chunk)
        if self._left < 0:
            raise UnexpectedAnswer("the answer is larger than `max_answer` of the client allows")
        if time.monotonic() > self._ends:
            raise httpx.ReadTimeout("the answer was not complete at the deadline")
        self._chunks.append(chunk)

    def answer(self, response: httpx.Response) -> Answer:
        return Answer(response.status_code, response.headers, b"".join(self._chunks))


async def _until(ends: float, waiting: Awaitable[T]) -> T:
    """Wait until this time of the monotonic clock. Raises httpx.ReadTimeout."""
    left = ends - time.monotonic()
    if left == math.inf:
        return await waiting
    try:
        async with asyncio.timeout(left + _MARGIN):
            return await waiting
    except TimeoutError:
        raise httpx.ReadTimeout("the answer was not complete at the deadline") from None


def _unexpected_encoding(error: httpx.DecodingError) -> UnexpectedAnswer:
    """The error of httpx refers to the request, which has secrets in its headers."""
    return UnexpectedAnswer(f"the answer is not encoded as its header Content-Encoding says: {error}")


def _resume(flow: Flow[Any], result: Any, error: Exception | None) -> Any:
    """Continue a flow and return its next effect. Raises StopIteration at the end of the flow."""
    return flow.send(result) if error is None else flow.throw(error)


class SyncDriver:
    """Runs flows and blocks the thread while it waits."""

    def __init__(self, http: httpx.Client, max_answer: int) -> None:
        self._http = http
        self._max_answer = max_answer

    def run(self, flow: Flow[T]) -> T:
        """Run a flow to its end and return its result."""
        try:
            effect = flow.send(None)
            while True:
                effect = _resume(flow, *self._try(effect))
        except StopIteration as end:
            result: T = end.value
            return result

    def emit(self, flow: Flow[None]) -> Iterator[Any]:
        """Run a flow and return the events that it emits."""
        try:
            effect = flow.send(None)
            while True:
                if isinstance(effect, Emit):
                    yield effect.event
                    effect = flow.send(None)
                else:
                    effect = _resume(flow, *self._try(effect))
        except StopIteration:
            return

    def _try(self, effect: Any) -> tuple[Any, Exception | None]:
        """Return the result of the effect, or the error."""
        try:
            return self._perform(effect), None
        except httpx.DecodingError as error:
            return None, _unexpected_encoding(error)
        except Exception as error:
            return None, error

    def _perform(self, effect: Any) -> Any:
        match effect:
            case Send():
                return self._send(effect)
            case Pause():
                time.sleep(effect.seconds)
            case Locked():
                turn = effect.session.lock.acquire(effect.ends - time.monotonic())
                try:
                    return self.run(effect.flow)
                finally:
                    effect.session.lock.release(turn)
            case Hook():
                return effect.function(*effect.arguments)
            case OpenStream():
                response = self._http.send(end_at(effect.request, effect.ends), stream=True)
                return Opened(response, response.iter_bytes())
            case ReadChunk():
                return next(effect.opened.chunks, b"")
            case CloseStream():
                effect.opened.response.close()
        return None

    def _send(self, effect: Send) -> Answer:
        response = self._http.send(end_at(effect.request, effect.ends), stream=True)
        try:
            reader = _Reader(self._max_answer, effect.ends)
            for chunk in response.iter_bytes():
                reader.add(chunk)
            return reader.answer(response)
        finally:
            response.close()


class AsyncDriver:
    """Runs flows in an asyncio event loop."""

    def __init__(self, http: httpx.AsyncClient, max_answer: int) -> None:
        self._http = http
        self._max_answer = max_answer
        self._running: set[asyncio.Task[Any]] = set()

    async def run(self, flow: Flow[T]) -> T:
        """Run a flow to its end and return its result."""
        try:
            effect = flow.send(None)
            while True:
                effect = _resume(flow, *await self._try(effect))
        except StopIteration as end:
            result: T = end.value
            return result

    async def emit(self, flow: Flow[None]) -> AsyncIterator[Any]:
        """Run a flow and return the events that it emits."""
        try:
            effect = flow.send(None)
            while True:
                if isinstance(effect, Emit):
                    yield effect.event
                    effect = flow.send(None)
                else:
                    effect = _resume(flow, *await self._try(effect))
        except StopIteration:
            return

    async def _try(self, effect: Any) -> tuple[Any, Exception | None]:
        """Return the result of the effect, or the error."""
        try:
            return await self._perform(effect), None
        except httpx.DecodingError as error:
            return None, _unexpected_encoding(error)
        except Exception as error:
            return None, error

    async def _perform(self, effect: Any) -> Any:
        match effect:
            case Send():
                return await self._send(effect)
            case Pause():
                await asyncio.sleep(effect.seconds)
            case Locked():
                return await self._run_locked(effect)
            case Hook():
                if inspect.iscoroutinefunction(effect.function):
                    return await effect.function(*effect.arguments)
                result = await asyncio.to_thread(effect.function, *effect.arguments)
                return await result if inspect.isawaitable(result) else result
            case OpenStream():
                response = await _until(effect.ends, self._http.send(effect.request, stream=True))
                return Opened(response, response.aiter_bytes())
            case ReadChunk():
                return await _until(effect.ends, anext(effect.opened.chunks, b""))
            case CloseStream():
                await effect.opened.response.aclose()
        return None

    async def _run_locked(self, effect: Locked) -> Any:
        turn = await effect.session.lock.acquire_async(effect.ends - time.monotonic())
        # The former refresh token does not work any more when the gateway has answered. So the refresh must end, and its
        # tokens must be stored, even if the call that needs them is cancelled or its deadline passes.
        task = asyncio.create_task(self.run(effect.flow))
        self._running.add(task)

        def finish(done: asyncio.Task[Any]) -> None:
            self._running.discard(done)
            effect.session.lock.release(turn)
            if not done.cancelled():
                done.exception()  # Otherwise asyncio logs an error that no call waits for any more.

        task.add_done_callback(finish)
        await asyncio.wait({task}, timeout=max(0.0, effect.ends - time.monotonic()))
        if not task.done():
            raise DeadlineExceeded("the deadline passed while the tokens were refreshed", may_be_done=False)
        return task.result()

    async def close(self) -> None:
        """Wait for refreshes that no call waits for any more."""
        await asyncio.gather(*self._running, return_exceptions=True)

    async def _send(self, effect: Send) -> Answer:
        return await _until(effect.ends, self._read_answer(effect))

    async def _read_answer(self, effect: Send) -> Answer:
        response = await self._http.send(effect.request, stream=True)
        try:
            reader = _Reader(self._max_answer, effect.ends)
            async for chunk in response.aiter_bytes():
                reader.add(chunk)
            return reader.answer(response)
        finally:
            await response.aclose()
