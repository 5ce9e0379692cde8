"""Gets each request before the surfaces get it: applies injected faults to the answer, and records the traffic."""

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping, Set
from contextlib import suppress
from time import perf_counter
from typing import Any, NamedTuple

from domogate.common.http_messages import Answer
from domogate.common.tasks import wait_for_event
from domogate.ports import Clock
from domogate.test_api.fault_rules import INSTEAD, FaultKind, FaultRule, FaultRules, RequestFacts
from domogate.test_api.traffic import MOST_BODY, Sent, Traffic
from domogate.wire import to_datetime

Scope = MutableMapping[str, Any]
ASGIApp = Callable[[Any, Any, Any], Awaitable[None]]

_CONNECTION = "domogate.writer"
"""The key in the ASGI scope under which the server stores the connection of the request."""
_STREAM = "domogate.stream"
"""The key in the ASGI scope that marks an answer without an end, such as a stream of events."""
_REQUEST_ID, _OPERATION = "domogate.request_id", "domogate.operation"


class GatewayFunctions(NamedTuple):
    """Functions of the running gateway that `Gate` calls."""

    find_facts: Callable[[Scope, bool], Awaitable[RequestFacts]]
    """Return the facts about a request. The user is found only if the second argument is true."""
    refuse: Callable[[Scope, int], Answer]
    """Return a refusal with this status, in the form that the surface of this request uses."""
    list_statuses: Callable[[str | None], Set[int]]
    """Return the statuses with which an operation may refuse a request.

    A fault with another status is not applied to this operation.
    """


class Gate:
    """Passes requests to the gateway, and applies the rules of injected faults to the answers."""

    def __init__(self, rules: FaultRules, traffic: Traffic, clock: Clock) -> None:
        self._rules = rules
        self._traffic = traffic
        self._clock = clock
        self._running: set[_RequestRun] = set()
        self._idle = asyncio.Event()
        self._idle.set()

    def wrap(self, app: ASGIApp, functions: GatewayFunctions) -> ASGIApp:
        """Return an application that applies the faults, records the traffic, and calls `app`.

        `functions` has functions of the gateway that `app` belongs to.
        """

        async def gated(scope: Scope, receive: Any, send: Any) -> None:
            facts = await functions.find_facts(scope, self._rules.needs_user())
            run = _RequestRun(self._rules, scope, facts, send)
            self._running.add(run)
            self._idle.clear()
            at, started = self._clock.now(), perf_counter()
            try:
                await run.answer(app, receive, functions)
            finally:
                if run in self._running:  # Otherwise a reset has aborted the request.
                    self._running.remove(run)
                    self._record(run, at, (perf_counter() - started) * 1000)
                if not self._running:
                    self._idle.set()

        return gated

    def _record(self, run: "_RequestRun", at: float, ms: float) -> None:
        scope = run.scope
        self._traffic.add(
            scope["raw_path"],
            scope["query_string"],
            Sent(scope["headers"], bytes(run.asked), run.asked_more),
            Sent(run.headers, bytes(run.answered), run.answered_more),
            at=to_datetime(at),
            method=scope["method"],
            operation=run.facts.operation or scope.get(_OPERATION),
            status=run.status,
            fault=run.fault,
            ms=round(ms, 2),
            request_id=scope.get(_REQUEST_ID, ""),
        )

    def cut_streams(self, rule: FaultRule) -> None:
        """Apply a new rule of the kind CUT to the streams that are open now: abort those that match the rule."""
        for run in list(self._running):
            if run.scope.get(_STREAM) and rule.matches(run.facts):
                rule.use()
                run.fault = rule.kind
                run.cut()

    async def finish(self, seconds: float) -> None:
        """Wait until all requests have ended.

        After this number of seconds, abort the connections of the requests that are left.
        """
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._idle.wait()
        for run in self._running:
            run.cut()
        self._running.clear()
        self._idle.set()


class _RequestRun:
    """One request that passes through `Gate`."""

    def __init__(self, rules: FaultRules, scope: Scope, facts: RequestFacts, send: Any) -> None:
        self.scope, self.facts = scope, facts
        self.status: int | None = None
        self.fault: str | None = None
        self.headers: list[tuple[bytes, bytes]] = []
        self.asked, self.answered = bytearray(), bytearray()
        self.asked_more = self.answered_more = False
        """Whether the body of the request was longer than its recorded part. `answered_more` says the same about the answer."""
        self._rules = rules
        self._send = send
        self._start: Any = None
        self._is_cut = asyncio.Event()
        self._cutting: asyncio.TimerHandle | None = None

    async def answer(self, app: ASGIApp, receive: Any, functions: GatewayFunctions) -> None:
        if (slow := self._take({FaultKind.SLOW})) is not None:
            await wait_for_event(self._is_cut, slow.ms / 1000)
            if self._is_cut.is_set():
                return
        statuses = functions.list_statuses(self.facts.operation)
        instead = self._take(frozenset(kind for kind in INSTEAD if not kind.isdecimal() or int(kind) in statuses))
        receive = self._recording(receive)
        if instead is not None:
            await _read_body(receive)  # No surface reads it, but the record shows what the client sent.
        if instead is not None and instead.kind is FaultKind.DROP:
            self.cut()
            await _until_gone(receive)
            return
        if instead is not None:
            await self._refuse(functions.refuse(self.scope, int(instead.kind)))
            return
        half = self._take({FaultKind.HALF})
        try:
            await app(self.scope, receive, self._pass_on if half is None else self._send_half)
        finally:
            if self._cutting is not None:
                self._cutting.cancel()
        if half is not None:
            await _until_gone(receive)

    def cut(self) -> None:
        """Abort the connection."""
        self._is_cut.set()
        with suppress(ReferenceError):  # The connection is gone already.
            self.scope[_CONNECTION].transport.abort()

    def _take(self, kinds: Set[FaultKind]) -> FaultRule | None:
        rule = self._rules.take(self.facts, kinds)
        if rule is not None:
            self.fault = rule.kind
        return rule

    async def _refuse(self, refusal: Answer) -> None:
        await self._pass_on({"type": "http.response.start", "status": refusal.status, "headers": refusal.headers})
        await self._pass_on({"type": "http.response.body", "body": refusal.body})

    def _recording(self, receive: Any) -> Any:
        async def record() -> Any:
            message = await receive()
            self.asked_more |= _keep(self.asked, message.get("body", b""))
            return message

        return record

    async def _pass_on(self, message: Any) -> None:
        self._note(message)
        await self._send(message)
        if message["type"] == "http.response.start" and self.scope.get(_STREAM):
            rule = self._take({FaultKind.CUT})
            if rule is not None:
                self._cutting = asyncio.get_running_loop().call_later(rule.ms / 1000, self.cut)

    async def _send_half(self, message: Any) -> None:
        """Send the start of the answer and half of the first part of its body. Then close the connection."""
        if message["type"] == "http.response.start":
            self._start = message
            return
        body = message.get("body", b"")
        if self.status is None and len(body) > 1:
            await self._pass_on(self._start)
            await self._pass_on({**message, "body": body[: len(body) // 2], "more_body": True})
        with suppress(ReferenceError):
            self.scope[_CONNECTION].transport.close()  # Not `abort`: the client must get what was written.

    def _note(self, message: Any) -> None:
        if message["type"] == "http.response.start":
            self.status, self.headers = message["status"], list(message.get("headers", ()))
        else:
            self.answered_more |= _keep(self.answered, message.get("body", b""))


async def _read_body(receive: Any) -> None:
    while (await receive()).get("more_body", False):
        pass


async def _until_gone(receive: Any) -> None:
    """Wait until the server knows that the connection is closed.

    If the ASGI application returned earlier without a whole answer, the server would answer with 500.
    """
    while (await receive())["type"] != "http.disconnect":
        pass


def _keep(kept: bytearray, piece: bytes) -> bool:
    """Append the piece to the recorded body, up to MOST_BODY bytes. Return whether a part of the piece was left out."""
    room = MOST_BODY - len(kept)
    kept += piece[:room]
    return len(piece) > room
