"""The logic of a call: credentials, deadlines, retries, the cache, errors. It does no input or output."""

import time
import uuid
from types import NoneType
from typing import Any, TypeVar, cast

import httpx
import msgspec

from domogate_client._cache import ETagCache
from domogate_client._effects import Answer, Flow, Locked, Pause, Send
from domogate_client._malformed import MALFORMED
from domogate_client._operation import Operation, Query, RawContent
from domogate_client._refusals import is_expired_token, is_uncertain, refusal_of
from domogate_client.errors import DeadlineExceeded, DomogateError, NoAnswer, UnexpectedAnswer
from domogate_client.retries import Retries
from domogate_client.tokens import Session, Tokens

T = TypeVar("T")

KEY_HEADER = "Ocp-Apim-Subscription-Key"
NOT_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)
"""Errors after which the gateway certainly did not get the request."""

_encode = msgspec.json.Encoder().encode


class _Effect:
    """Whether the gateway may have executed the request of a call, in any attempt."""

    may_be_done = False


class Core:
    """The settings of a client, and the flows of its calls."""

    def __init__(
        self,
        base_url: str,
        subscription_key: str | None,
        session: Session,
        *,
        deadline: float,
        retries: Retries,
        cache: ETagCache,
        reconnect_for: float,
        user_agent: str,
    ) -> None:
        self.base_url = base_url.rstrip("/")
        self.session = session
        self.retries = retries
        self._key = subscription_key
        self._deadline = deadline
        self._cache = cache
        self.reconnect_for = reconnect_for
        self._user_agent = user_agent

    def call(
        self,
        operation: Operation[T],
        path: tuple[str, ...],
        query: Query | None,
        body: Any,
        idempotency_key: str | None,
        token: str | None,
        deadline: float | None,
    ) -> Flow[T]:
        """Send an operation until it has an answer, as often as the retries allow, and return the answer."""
        ends = time.monotonic() + (self._deadline if deadline is None else deadline)
        effect = _Effect()
        try:
            return (yield from self._call(operation, path, query, body, idempotency_key, token, ends, effect))
        except DomogateError as error:
            error.may_be_done = effect.may_be_done
            raise

    def _call(
        self,
        operation: Operation[T],
        path: tuple[str, ...],
        query: Query | None,
        body: Any,
        idempotency_key: str | None,
        token: str | None,
        ends: float,
        effect: "_Effect",
    ) -> Flow[T]:
        url = self.base_url + operation.url(path, query)
        headers = self.headers_for(operation)
        if body is not None:
            headers["Content-Type"] = "application/json"
        if operation.takes_idempotency_key:
            headers["Idempotency-Key"] = idempotency_key or uuid.uuid4().hex
        cached = self._cache.find(url) if operation.has_etag else None
        if cached is not None:
            headers["If-None-Match"] = cached[0]
        content = None if body is None else _encode(body)
        may_repeat = operation.is_read or operation.takes_idempotency_key
        attempt, is_refreshed = 0, False
        while True:
            attempt += 1
            tokens = yield from self.authorize(operation, headers, token, ends)
            request = self._request(operation, url, headers, content, ends)
            before, effect.may_be_done = effect.may_be_done, not operation.is_read
            answer, lost = yield from _attempt(Send(request, ends))
            if answer is None:
                is_sent = not isinstance(lost, NOT_SENT)
                if not is_sent:
                    effect.may_be_done = before
                pause = self.retries.pause_after(attempt, None) if may_repeat or not is_sent else None
                if pause is None or time.monotonic() + pause >= ends:
                    raise _no_answer(operation, lost, ends)
                yield Pause(pause)
                continue
            if answer.status < 400:
                return self._read(operation, url, answer, cached)
            refusal = refusal_of(answer.status, answer.headers, answer.body, operation.name)
            if not is_uncertain(refusal):
                effect.may_be_done = before
            if tokens is not None and not is_refreshed and is_expired_token(answer.status, answer.headers):
                is_refreshed = True
                if self.session.can_refresh:
                    # The gateway refused the token before it looked at the request, so the request can be sent again.
                    yield Locked(self.session, self.session.refresh(self.base_url, tokens, ends), ends)
                    continue
            pause = None
            if may_repeat and answer.status in self.retries.statuses:
                pause = self.retries.pause_after(attempt, refusal.retry_after)
            if pause is None or time.monotonic() + pause >= ends:
                raise refusal
            yield Pause(pause)

    def headers_for(self, operation: Operation[Any]) -> dict[str, str]:
        """Return the headers of a request, without the token."""
        accept = "*/*" if operation.answer is RawContent else "application/json"
        headers = {"Accept": accept, "User-Agent": self._user_agent}
        if operation.needs_key and self._key is not None:
            headers[KEY_HEADER] = _secret(KEY_HEADER, self._key)
        return headers

    def authorize(
        self, operation: Operation[Any], headers: dict[str, str], token: str | None, ends: float
    ) -> Flow[Tokens | None]:
        """Put a token that has not expired into the headers. Return the tokens of the session, if one of them is used."""
        if not operation.token:
            return None
        if token is not None:
            headers["Authorization"] = _secret("Authorization", f"Bearer {token}")
            return None
        tokens = self.session.find_fresh()
        if tokens is None:
            tokens = yield Locked(self.session, self.session.refresh(self.base_url, None, ends), ends)
        assert tokens is not None
        headers["Authorization"] = _secret("Authorization", f"Bearer {tokens.of_kind(operation.token)}")
        return tokens

    def _request(
        self, operation: Operation[Any], url: str, headers: dict[str, str], content: bytes | None, ends: float
    ) -> httpx.Request:
        left = ends - time.monotonic()
        if left <= 0:
            raise DeadlineExceeded(f"{operation.name}: the deadline passed before the request was sent", may_be_done=False)
        timeout = {"connect": left, "read": left, "write": left, "pool": left}
        return httpx.Request(operation.method, url, headers=headers, content=content, extensions={"timeout": timeout})

    def _read(self, operation: Operation[T], url: str, answer: Answer, cached: tuple[str, bytes] | None) -> T:
        body = answer.body
        if answer.status == 304:
            if cached is None:
                raise UnexpectedAnswer(f"{operation.name}: 304 without an answer to compare with")
            body = cached[1]
        elif answer.status == 204:
            body = operation.empty
        elif answer.status >= 300:
            raise UnexpectedAnswer(f"{operation.name}: a redirect (status {answer.status}); check the base URL of the client")
        elif operation.has_etag and "etag" in answer.headers:
            self._cache.keep(url, answer.headers["etag"], body)
        if operation.answer is NoneType:
            return cast(T, None)
        if operation.answer is RawContent:
            return cast(T, RawContent(body, answer.headers.get("content-type", "").partition(";")[0]))
        try:
            return operation.decode(body)
        except MALFORMED as error:
            raise UnexpectedAnswer(f"{operation.name}: the answer has another form than expected: {error}") from None


def _secret(header: str, value: str) -> str:
    """Return the value. The error of httpx for a value that cannot be sent would show the secret."""
    if not (value.isascii() and value.isprintable()):
        raise DomogateError(f"the value for the header {header} has a letter that no header can have")
    return value


def _attempt(effect: Send) -> Flow[tuple[Answer | None, httpx.TransportError | None]]:
    """Return the answer or the error.

    The error is returned, not raised. So the error that the application gets has no reference to the request and its headers.
    """
    try:
        answer: Answer = yield effect
    except httpx.TransportError as error:
        return None, error
    return answer, None


def _no_answer(operation: Operation[Any], error: httpx.TransportError | None, ends: float) -> NoAnswer:
    """The error for a call without an answer. It does not contain the request, which has secrets in its headers."""
    if isinstance(error, httpx.TimeoutException) and time.monotonic() >= ends:
        return DeadlineExceeded(f"{operation.name}: no answer before the deadline", may_be_done=False)
    return NoAnswer(f"{operation.name}: {type(error).__name__}: {error}", may_be_done=False)
