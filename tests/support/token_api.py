"""One of our own surfaces in this process, on a real store with real tokens, and a client that calls it."""

from typing import Any

import httpx
import msgspec

from domogate.domain.ids import Id, new_id
from domogate.domain.people import Client, Grant, GrantType, TokenKind, User
from domogate.http_api.app import SurfaceApp
from domogate.http_api.credentials import Credentials
from domogate.http_api.operations import Surface
from domogate.identity.signing import KeyRing, TokenSigner
from domogate.identity.tokens import TokenVerifier
from support.people_setup import BASE_URL, PeopleSetup

ISSUER = f"{BASE_URL}/auth"


class TokenApi:
    """A surface and its callers. A subclass builds the surface and sets `token`."""

    def __init__(self, of: PeopleSetup, prefix: str, client: Client) -> None:
        self.env = of
        self.prefix = prefix
        self.client = client
        self.keyring = KeyRing(of.store, of.clock)
        self.signer = TokenSigner(self.keyring, of.clock, ISSUER, BASE_URL, access_lifetime=3600.0, id_lifetime=3600.0)
        self.verifier = TokenVerifier(self.keyring, of.store, of.clock, ISSUER, BASE_URL)
        of.store.listen(self.keyring.apply)
        of.store.listen(self.verifier.apply)
        self.http: httpx.AsyncClient
        self.token = ""
        """The token that is sent, unless a test gives another one."""

    def serve(self, surface: Surface, services: object, credentials: Credentials[Any], *, max_body: int) -> None:
        self.app = SurfaceApp(surface, services, credentials, base_url=BASE_URL, version="1", max_body=max_body)
        transport = httpx.ASGITransport(self.app, client=("192.0.2.9", 1234))
        self.http = httpx.AsyncClient(transport=transport, base_url=BASE_URL)

    async def open(self) -> None:
        await self.keyring.start()
        await self.env.store.save_client(self.client)

    async def mint(
        self,
        user: User,
        *,
        scopes: tuple[str, ...] | None = None,
        kind: TokenKind = TokenKind.ACCESS,
        flow: GrantType = GrantType.AUTHORIZATION_CODE,
        lifetime: float | None = None,
        plants: frozenset[Id] | None = None,
    ) -> str:
        """Without `scopes` the token has all scopes of the client; without `plants` all plants of the user."""
        granted = self.client.scopes if scopes is None else scopes
        grant = Grant(new_id(), user.id, self.client.id, granted, flow, self.env.clock.now(), plants=plants)
        await self.env.store.add_grant(grant)
        return await self.signer.mint_token(kind, user, self.client, grant, lifetime)

    async def send(
        self, method: str, path: str, body: Any = None, *, token: str | None = None, **options: Any
    ) -> httpx.Response:
        """`path` is relative to the prefix. An empty token leaves the header out."""
        headers = options.pop("headers", {})
        used = self.token if token is None else token
        if used:
            headers = {"authorization": f"Bearer {used}", **headers}
        content = options.pop("content", None if body is None else msgspec.json.encode(body))
        return await self.http.request(method, f"{self.prefix}{path}", headers=headers, content=content, **options)

    async def ok(self, method: str, path: str, body: Any = None, *, status: int = 200, **options: Any) -> Any:
        answer = await self.send(method, path, body, **options)
        assert answer.status_code == status, answer.text
        assert answer.headers["cache-control"] == ("private, no-cache" if "etag" in answer.headers else "no-store")
        if status == 204:
            assert answer.content == b""
            return None
        assert answer.headers["content-type"] == "application/json"
        return answer.json()

    async def refused(self, method: str, path: str, body: Any = None, *, status: int, **options: Any) -> str:
        """Returns the detail of the problem."""
        return problem(await self.send(method, path, body, **options), status)


def problem(answer: httpx.Response, *statuses: int) -> str:
    """Checks a problem (RFC 9457) and returns its detail. It must not show internal details."""
    assert answer.status_code in statuses, f"{answer.status_code}: {answer.text}"
    assert answer.headers["content-type"] == "application/problem+json"
    body = answer.json()
    assert body.keys() - {"reason"} == {"type", "title", "status", "detail"}
    assert body["status"] == answer.status_code
    assert "Traceback" not in answer.text
    detail: str = body["detail"]
    assert len(detail) > 10
    return detail
