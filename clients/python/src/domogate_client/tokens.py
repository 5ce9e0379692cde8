"""Tokens, and the session that refreshes them."""

import json
import os
import time
from base64 import urlsafe_b64decode
from collections.abc import Awaitable
from math import inf, isfinite
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlencode

import httpx
import msgspec

from domogate_client._effects import Answer, Flow, Hook, Pause, Send
from domogate_client._lock import SharedLock
from domogate_client._malformed import MALFORMED
from domogate_client.errors import LoginFailed, LoginRequired, NoAnswer
from domogate_client.retries import UNAVAILABLE

EARLY = 30.0
"""Tokens are refreshed this number of seconds before they expire, because clocks differ and requests take time."""
_REPEAT = (0.0, 0.5, 2.0)
"""Pauses before the attempts of a refresh.

For ten seconds, a repeated refresh gets the same new refresh token again. The access token and the id token are new each time.
"""
_LONGEST_ATTEMPT = 2.5
_ONCE = (0.0,)
"""A code works once, so the exchange of a code is not repeated. It may take longer than one attempt of a refresh."""
_LONGEST_EXCHANGE = 30.0


class Tokens(msgspec.Struct, frozen=True, kw_only=True, repr_omit_defaults=True):
    """The tokens of one grant. The text of this object contains no token."""

    access_token: str = ""
    id_token: str = ""
    refresh_token: str = ""
    scope: str = ""
    expires_at: float = 0.0
    """Seconds since 1970; 0 if the time is not known."""

    def __repr__(self) -> str:
        return f"Tokens(scope={self.scope!r}, expires_at={self.expires_at:.0f})"

    def of_kind(self, kind: str) -> str:
        """Return the token of this kind, or the other token if there is none of this kind."""
        first, second = (self.id_token, self.access_token) if kind == "id" else (self.access_token, self.id_token)
        return first or second

    @property
    def is_fresh(self) -> bool:
        return not self.expires_at or time.time() < self.expires_at - EARLY


class TokenStore(Protocol):
    """Where an application keeps tokens.

    If the client is an AsyncClient, the methods may be coroutines, and other methods run in a thread.
    """

    def load(self) -> Tokens | Awaitable[Tokens | None] | None:
        """Return the newest stored tokens."""
        ...

    def save(self, tokens: Tokens) -> Awaitable[None] | None:
        """Store the tokens. The former tokens do not work any more."""
        ...


class FileTokenStore:
    """Keeps the tokens in a file that only its owner can read."""

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)

    def load(self) -> Tokens | None:
        try:
            return msgspec.json.decode(self._path.read_bytes(), type=Tokens)
        except FileNotFoundError:
            return None
        except MALFORMED:
            raise LoginRequired("login_required", f"the file {self._path} does not contain tokens; log in again") from None

    def save(self, tokens: Tokens) -> None:
        # A new file replaces the old file at once, so that a crash leaves either the old or the new tokens.
        fresh = self._path.with_name(f"{self._path.name}.{os.getpid()}.new")
        fresh.touch(0o600)
        fresh.write_bytes(msgspec.json.encode(tokens))
        fresh.replace(self._path)


class Session:
    """The tokens of one person in one application. Several clients, threads and tasks can share a session."""

    def __init__(
        self, client_id: str = "", *, client_secret: str = "", tokens: Tokens | None = None, store: TokenStore | None = None
    ) -> None:
        self.client_id = client_id
        self.lock = SharedLock()
        self._client_secret = client_secret
        self._tokens = tokens
        self._store = store
        self._is_saved = tokens is None
        self._refusal: tuple[str, LoginRequired] | None = None
        """The refresh token that the gateway refused, and its answer."""

    def __repr__(self) -> str:
        return f"Session({self.client_id!r}, tokens={self._tokens!r})"

    @property
    def tokens(self) -> Tokens | None:
        return self._tokens

    @property
    def can_refresh(self) -> bool:
        return self._store is not None or (self._tokens is not None and bool(self._tokens.refresh_token))

    def find_fresh(self) -> Tokens | None:
        """Return the tokens, if they can be used without a refresh."""
        tokens = self._tokens
        if tokens is None or (self._store is not None and not self._is_saved):
            return None
        return tokens if tokens.is_fresh or not tokens.refresh_token else None

    def refresh(self, base_url: str, refused: Tokens | None, ends: float) -> Flow[Tokens]:
        """Get tokens that are fresh and are not the refused tokens. The caller holds the lock of the session."""
        if self._store is not None:
            if self._tokens is not None and not self._is_saved:
                yield from self._save(self._tokens)
            # Another process may have refreshed the tokens. Its refresh token replaced ours.
            stored: Tokens | None = yield Hook(self._store.load, ())
            if stored is not None:
                self._tokens = stored
        tokens = self._tokens
        if tokens is None:
            raise LoginRequired("login_required", "there are no tokens; log in first")
        if tokens != refused and (tokens.is_fresh or not tokens.refresh_token):
            return tokens
        if not tokens.refresh_token:
            raise LoginRequired("login_required", "the token is not accepted, and there is no refresh token; log in again")
        if self._refusal is not None and self._refusal[0] == tokens.refresh_token:
            known = self._refusal[1]
            raise LoginRequired(known.error, known.description)
        fields = {"grant_type": "refresh_token", "refresh_token": tokens.refresh_token}
        try:
            fresh = yield from self.request_tokens(base_url, fields, ends)
        except LoginRequired as error:
            self._refusal = tokens.refresh_token, error
            raise
        yield from self.take(fresh)
        return fresh

    def take(self, tokens: Tokens) -> Flow[None]:
        """Use these new tokens from now on, and store them."""
        self._tokens, self._is_saved = tokens, False
        if self._store is not None:
            yield from self._save(tokens)

    def request_tokens(self, base_url: str, fields: dict[str, str], ends: float, *, may_repeat: bool = True) -> Flow[Tokens]:
        """Send a request to the token endpoint (RFC 6749 §4.1.3, §6). A refresh is repeated if the gateway is not available."""
        form = {
            **fields,
            "client_id": self.client_id,
            **({"client_secret": self._client_secret} if self._client_secret else {}),
        }
        headers = {"Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json"}
        lost = "no attempt was made"
        longest = _LONGEST_ATTEMPT if may_repeat else _LONGEST_EXCHANGE
        for pause in _REPEAT if may_repeat else _ONCE:
            if pause:
                yield Pause(pause)
            timeout = dict.fromkeys(("connect", "read", "write", "pool"), longest)
            request = httpx.Request(
                "POST", f"{base_url}/auth/token", headers=headers, content=urlencode(form), extensions={"timeout": timeout}
            )
            try:
                answer: Answer = yield Send(request, max(ends, time.monotonic() + longest))
            except httpx.TransportError as error:
                lost = f"{type(error).__name__}: {error}"
                continue
            if may_repeat and answer.status in UNAVAILABLE:
                lost = f"status {answer.status}"
                continue
            return _read_tokens(answer, fields.get("refresh_token", ""))
        raise NoAnswer(f"the token endpoint did not answer: {lost}", may_be_done=True)

    def _save(self, tokens: Tokens) -> Flow[None]:
        assert self._store is not None
        yield Hook(self._store.save, (tokens,))
        self._is_saved = True


def _read_tokens(answer: Answer, former_refresh_token: str) -> Tokens:
    try:
        document = msgspec.json.decode(answer.body, type=dict[str, Any])
    except MALFORMED:
        document = {}
    if answer.status != 200:
        error = str(document.get("error") or f"status {answer.status}")
        kind = LoginRequired if error == "invalid_grant" else LoginFailed
        raise kind(error, str(document.get("error_description", "")))
    access_token, id_token = str(document.get("access_token", "")), str(document.get("id_token", ""))
    if not access_token and not id_token:
        # The answer may come from another server, for example from the login page of a network.
        raise LoginFailed("no_token", "the token endpoint answered without a token")
    lifetime = min(_read_seconds(document.get("expires_in")), lifetime_of(id_token))
    return Tokens(
        access_token=access_token,
        id_token=id_token,
        refresh_token=str(document.get("refresh_token") or former_refresh_token),
        scope=str(document.get("scope", "")),
        expires_at=time.time() + lifetime if isfinite(lifetime) else 0.0,
    )


def read_claims(token: str) -> dict[str, Any]:
    """Return the claims of a JWT without checking its signature; an empty object for a text that is not a JWT."""
    try:
        part = token.split(".")[1]
        claims = json.loads(urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    except (IndexError, ValueError, RecursionError):
        return {}
    return claims if isinstance(claims, dict) else {}


def lifetime_of(token: str) -> float:
    """The seconds from the issue to the expiry of a JWT. They do not depend on the clock of this machine."""
    claims = read_claims(token)
    return _read_seconds(claims.get("exp")) - _read_seconds(claims.get("iat"), -inf)


def _read_seconds(value: Any, unknown: float = inf) -> float:
    """A number of seconds. A value that is no number is not known: new tokens must not be lost because of it."""
    try:
        return float(value)
    except (TypeError, ValueError):
        return unknown
