"""Fake external issuers of tokens, which can misbehave."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import cached_property
from typing import Any

import jwt as pyjwt
from aiohttp import web
from joserfc.jwk import ECKey, OKPKey, RSAKey

from domogate.identity.fetching import FetchFailed

_GENERATORS: dict[str, Callable[[], ECKey | RSAKey | OKPKey]] = {
    "ES256": lambda: ECKey.generate_key("P-256"),
    "RS256": lambda: RSAKey.generate_key(2048),
    "PS256": lambda: RSAKey.generate_key(2048),
    "EdDSA": lambda: OKPKey.generate_key("Ed25519"),
}


class IssuerKey:
    """A key pair. It signs with PyJWT, which the gateway does not use."""

    def __init__(self, kid: str | None, algorithm: str = "ES256") -> None:
        self.kid = kid
        self.algorithm = algorithm

    @cached_property
    def private(self) -> Any:
        """Generated when it is needed, because each test process imports modules with such keys."""
        return _GENERATORS[self.algorithm]().as_dict(private=True)

    @property
    def public(self) -> dict[str, Any]:
        members = {name: self.private[name] for name in ("kty", "crv", "x", "y", "n", "e") if name in self.private}
        return {**members, "use": "sig", "alg": self.algorithm} | ({} if self.kid is None else {"kid": self.kid})

    @cached_property
    def _signer(self) -> Any:
        return pyjwt.PyJWK(self.private, algorithm=self.algorithm).key

    def sign(self, claims: dict[str, Any], **header: Any) -> bytes:
        """Signs any claims. A header member with the value None is left out."""
        headers = {name: it for name, it in {"kid": self.kid, **header}.items() if it is not None}
        return pyjwt.api_jws.encode(json.dumps(claims).encode(), self._signer, self.algorithm, headers=headers).encode()


class FakeIssuer:
    """The documents of an issuer, without HTTP. It counts fetches, and can fail."""

    def __init__(self, url: str, *keys: IssuerKey) -> None:
        self.url = url
        self.keys = list(keys)
        self.metadata: dict[str, Any] = {"issuer": url, "jwks_uri": f"{url}/jwks"}
        self.jwks: Any = None
        self.fetched: list[str] = []
        self.down = False
        self.held: asyncio.Event | None = None

    async def get_json(self, url: str) -> Any:
        self.fetched.append(url)
        await asyncio.sleep(0)
        if self.held is not None:
            await self.held.wait()
        if self.down:
            raise FetchFailed("it is down")
        if url == f"{self.url}/.well-known/openid-configuration":
            return self.metadata
        if url == self.metadata.get("jwks_uri"):
            return {"keys": [key.public for key in self.keys]} if self.jwks is None else self.jwks
        raise FetchFailed(f"nothing has the URL {url}")

    @property
    def rounds(self) -> int:
        return sum(url.endswith("openid-configuration") for url in self.fetched)


class HttpIssuer:
    """The same over HTTP on loopback. `answers` replaces the response of a path."""

    def __init__(self, *keys: IssuerKey) -> None:
        self.keys = list(keys)
        self.url = ""
        self.answers: dict[str, web.StreamResponse | web.Response] = {}
        self.delay = 0.0
        self.flood = 0
        self.requests: list[str] = []

    async def handle(self, request: web.Request) -> web.StreamResponse:
        self.requests.append(request.path)
        if self.delay:
            await asyncio.sleep(self.delay)
        if request.path in self.answers:
            return self.answers[request.path]
        if request.path == "/.well-known/openid-configuration":
            return web.json_response({"issuer": self.url, "jwks_uri": f"{self.url}/jwks"})
        if request.path == "/jwks" and self.flood:
            return await self._flood(request)
        if request.path == "/jwks":
            return web.json_response({"keys": [key.public for key in self.keys]})
        raise web.HTTPNotFound

    async def _flood(self, request: web.Request) -> web.StreamResponse:
        """A very long key set without Content-Length."""
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request)
        await response.write(b'{"keys":[')
        piece = (json.dumps(self.keys[0].public) + ",").encode() * 100
        sent = 0
        while sent < self.flood:
            await response.write(piece)
            sent += len(piece)
        await response.write(b"{}]}")
        return response


@asynccontextmanager
async def serve_issuer(*keys: IssuerKey) -> AsyncIterator[HttpIssuer]:
    issuer = HttpIssuer(*keys)
    app = web.Application()
    app.router.add_get("/{path:.*}", issuer.handle)
    runner = web.AppRunner(app, access_log=None, handle_signals=False, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    issuer.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield issuer
    finally:
        await runner.cleanup()
