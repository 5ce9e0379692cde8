"""Logs a person in: authorization code with PKCE (RFC 7636) and a redirect to a loopback address (RFC 8252)."""

import asyncio
import base64
import hashlib
import secrets
import time
import webbrowser
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from urllib.parse import parse_qsl, urlencode, urlsplit

import httpx
import msgspec

from domogate_client._drivers import AsyncDriver, SyncDriver
from domogate_client._effects import Flow
from domogate_client._loopback import LoopbackServer
from domogate_client.errors import LoginFailed
from domogate_client.tokens import Session, Tokens, TokenStore, read_claims

REDIRECT_URI = "http://127.0.0.1/callback"
"""Registered without a port, so that the application may listen on any port."""
PATIENCE = 300.0
_MAX_ANSWER = 1_000_000


class LoginAttempt(msgspec.Struct, frozen=True, kw_only=True):
    """One attempt of a person to log in. A web application keeps it from the redirect to the callback."""

    base_url: str
    client_id: str
    redirect_uri: str
    scopes: tuple[str, ...]
    state: str
    nonce: str
    verifier: str

    def __repr__(self) -> str:
        return f"LoginAttempt({self.client_id!r})"

    @property
    def url(self) -> str:
        """The URL that the browser of the person opens."""
        challenge = base64.urlsafe_b64encode(hashlib.sha256(self.verifier.encode()).digest()).rstrip(b"=").decode()
        fields = {
            "response_type": "code",
            "client_id": self.client_id,
            "redirect_uri": self.redirect_uri,
            "scope": " ".join(self.scopes),
            "state": self.state,
            "nonce": self.nonce,
            "code_challenge": challenge,
            "code_challenge_method": "S256",
        }
        return f"{self.base_url}/auth/authorize?{urlencode(fields)}"

    def code_of(self, callback: str) -> str:
        """Return the code of the URL to which the browser returned. Raises LoginFailed if the URL is not of this attempt."""
        given = dict(parse_qsl(urlsplit(callback).query))
        if not secrets.compare_digest(given.get("state", "").encode(), self.state.encode()):
            raise LoginFailed("wrong_state", "the browser returned with another state than this attempt has")
        if given.get("iss") != f"{self.base_url}/auth":
            raise LoginFailed("wrong_issuer", "another server than the gateway sent the browser back")
        if "error" in given:
            raise LoginFailed(given["error"], given.get("error_description", ""))
        if "code" not in given:
            raise LoginFailed("no_code", "the browser returned without a code")
        return given["code"]

    def exchange(self, session: Session, callback: str) -> Flow[Tokens]:
        """Exchange the code for tokens. Check that the id token belongs to this attempt (OpenID Connect Core 1.0 §3.1.3.7)."""
        fields = {
            "grant_type": "authorization_code",
            "code": self.code_of(callback),
            "code_verifier": self.verifier,
            "redirect_uri": self.redirect_uri,
        }
        tokens = yield from session.request_tokens(self.base_url, fields, time.monotonic(), may_repeat=False)
        if tokens.id_token:
            # The token comes from the gateway itself, so its signature need not be checked (§3.1.3.7, 6).
            claims = read_claims(tokens.id_token)
            audiences = claims.get("aud", ())
            if claims.get("nonce") != self.nonce or claims.get("iss") != f"{self.base_url}/auth":
                raise LoginFailed("wrong_id_token", "the id token belongs to another login")
            if self.client_id not in ([audiences] if isinstance(audiences, str) else audiences):
                raise LoginFailed("wrong_id_token", "the id token is for another application")
        yield from session.take(tokens)
        return tokens


def begin_login(base_url: str, client_id: str, scopes: Sequence[str], *, redirect_uri: str) -> LoginAttempt:
    """Return a new attempt: open its `url` in the person's browser, and give the URL of the callback to `finish_login`."""
    state, nonce, verifier = (secrets.token_urlsafe(32) for _ in range(3))
    asked = tuple(dict.fromkeys(["openid", *scopes]))
    return LoginAttempt(
        base_url=base_url.rstrip("/"),
        client_id=client_id,
        redirect_uri=redirect_uri,
        scopes=asked,
        state=state,
        nonce=nonce,
        verifier=verifier,
    )


def finish_login(
    attempt: LoginAttempt,
    callback: str,
    *,
    client_secret: str = "",
    store: TokenStore | None = None,
    http: httpx.Client | None = None,
) -> Session:
    """Exchange the code of the callback for tokens. Returns the session of the person."""
    session = Session(attempt.client_id, client_secret=client_secret, store=store)
    with httpx.Client() if http is None else nullcontext(http) as opened:
        SyncDriver(opened, _MAX_ANSWER).run(attempt.exchange(session, callback))
    return session


async def finish_login_async(
    attempt: LoginAttempt,
    callback: str,
    *,
    client_secret: str = "",
    store: TokenStore | None = None,
    http: httpx.AsyncClient | None = None,
) -> Session:
    """Exchange the code of the callback for tokens. Returns the session of the person."""
    session = Session(attempt.client_id, client_secret=client_secret, store=store)
    async with httpx.AsyncClient() if http is None else nullcontext(http) as opened:
        await AsyncDriver(opened, _MAX_ANSWER).run(attempt.exchange(session, callback))
    return session


def log_in(
    base_url: str,
    client_id: str,
    scopes: Sequence[str],
    *,
    client_secret: str = "",
    redirect_uri: str = REDIRECT_URI,
    store: TokenStore | None = None,
    open_browser: Callable[[str], object] | None = None,
    patience: float = PATIENCE,
    http: httpx.Client | None = None,
) -> Session:
    """Open the person's browser, wait until the person has logged in, and return the session.

    `redirect_uri` is a loopback address as it is registered for the application. `open_browser` shows the URL to the
    person; the default opens the browser of this machine. `patience` is the time in seconds that the person has.
    """
    with LoopbackServer(redirect_uri) as server:
        attempt = begin_login(base_url, client_id, scopes, redirect_uri=server.redirect_uri)
        (open_browser or webbrowser.open)(attempt.url)
        callback = server.wait(attempt.state, patience)
    return finish_login(attempt, callback, client_secret=client_secret, store=store, http=http)


async def log_in_async(
    base_url: str,
    client_id: str,
    scopes: Sequence[str],
    *,
    client_secret: str = "",
    redirect_uri: str = REDIRECT_URI,
    store: TokenStore | None = None,
    open_browser: Callable[[str], object] | None = None,
    patience: float = PATIENCE,
    http: httpx.AsyncClient | None = None,
) -> Session:
    """As `log_in`, for asyncio. The browser and the wait for it run in threads."""
    with LoopbackServer(redirect_uri) as server:
        attempt = begin_login(base_url, client_id, scopes, redirect_uri=server.redirect_uri)
        await asyncio.to_thread(open_browser or webbrowser.open, attempt.url)
        callback = await asyncio.to_thread(server.wait, attempt.state, patience)
    return await finish_login_async(attempt, callback, client_secret=client_secret, store=store, http=http)
