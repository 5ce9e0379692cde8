"""The identity provider on a real store, with people and applications, and a browser for its flows."""

import shutil
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import httpx
import jwt as pyjwt
import msgspec
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from domogate import auth
from domogate.auth.pages import COOKIE
from domogate.auth.surface import AuthApp
from domogate.common.secrets import hash_secret
from domogate.domain.faults import TokenRefused
from domogate.domain.ids import new_id
from domogate.domain.people import MANAGE_SCOPE, Client, GrantType, Scope, User
from domogate.identity.external import ExternalIssuer
from domogate.identity.hashing import PasswordHasher
from domogate.identity.signing import KeyRing, TokenSigner
from domogate.identity.tokens import TokenVerifier
from domogate.services.authorization import Authorization, Lifetimes
from domogate.services.authorization.consents import Incomplete, Question
from domogate.services.people import LoggedIn, LoginComplete, LoginThrottle, Sessions
from domogate.services.rights.identity_cache import IdentityCache
from domogate.stores import SqlStore, sqlite_url
from support.clocks import ManualClock
from support.identity import AUDIENCE, ISSUER, NOW
from support.pkce import challenge_of

PASSWORD = "correct horse battery staple"
SECRET = "s3cr3t-of-the-web-app-0000000000000000"
VERIFIER = "a-verifier-of-at-least-43-characters-0123456789"
ALL = tuple(str(scope) for scope in Scope)

CODE, REFRESH, IMPLICIT = GrantType.AUTHORIZATION_CODE, GrantType.REFRESH_TOKEN, GrantType.IMPLICIT

WEB = Client(
    "web", "Web app", hash_secret(SECRET), ("https://web.example/back", "https://web.example/other?kept=1"), scopes=ALL,
    post_logout_redirect_uris=("https://web.example/bye",),
)  # fmt: skip
CLASSIC = Client("classic", "Classic app", hash_secret(SECRET), ("https://classic.example/back",), scopes=ALL, pkce_exempt=True)
PAGE = Client(
    "page", "Single page", None, ("https://page.example/back",), grants=(CODE, IMPLICIT), scopes=("light.read", "plug.read")
)
NATIVE = Client("native", "Phone app", None, ("http://127.0.0.1/back", "http://[::1]/back", "app.example:/back"), scopes=ALL)
DESK = Client("desk", "Operator's desk", hash_secret(SECRET), ("https://desk.example/back",), scopes=(MANAGE_SCOPE,))
EVERY_CLIENT = (WEB, CLASSIC, PAGE, NATIVE, DESK)

_NEVER = 3600.0
"""No other process writes to the store of a test, so polling is not needed."""


class PlainPages:
    """Pages as JSON: the values that the real pages would render."""

    def routes(self) -> list[Route]:
        return []

    def redirect_to_login(self, request: Request, *, return_to: str, login_hint: str | None = None) -> Response:
        query = {"return_to": return_to, "login_hint": login_hint or ""}
        return RedirectResponse(f"/auth/login?{urlencode(query)}", 303)

    def render_consent(
        self,
        request: Request,
        person: LoggedIn,
        *,
        client: Client,
        question: Question,
        fields: Mapping[str, str],
        problem: Incomplete | None = None,
    ) -> Response:
        shown = {"page": "consent", "client": client.id, "scopes": list(question.scopes), "fields": dict(fields)}
        plants = {plant.id: plant.id in question.ticked_plants for plant in question.plants}
        ticked = [scope for scope in question.scopes if scope in question.ticked_scopes]
        return JSONResponse(
            {**shown, "ticked": ticked, "plants": plants, "problem": problem, "csrf": person.form_token},
            200 if problem is None else 400,
        )

    def check_csrf(self, form: Mapping[str, Any], person: LoggedIn) -> bool:
        return form.get("csrf") == person.form_token

    def render_error(self, request: Request, *, status: int, problem: str, advice: str) -> Response:
        return JSONResponse({"page": "error", "problem": problem, "advice": advice}, status)

    def render_logout(
        self, request: Request, person: LoggedIn, *, client: Client | None = None, fields: Mapping[str, str] | None = None
    ) -> Response:
        name = None if client is None else client.id
        return JSONResponse({"page": "logout", "client": name, "fields": dict(fields or {}), "csrf": person.form_token})

    def render_logged_out(
        self,
        request: Request,
        person: LoggedIn | None,
        *,
        client: Client | None = None,
        fields: Mapping[str, str] | None = None,
    ) -> Response:
        response = JSONResponse({"page": "logged out"})
        self.forget(response)
        return response

    def forget(self, response: Response) -> None:
        response.delete_cookie(COOKIE, path="/auth")


class RecordedAudit:
    """An audit log that keeps its notes in a list."""

    def __init__(self) -> None:
        self.notes: list[dict[str, Any]] = []

    def note(self, action: str, **about: Any) -> None:
        self.notes.append({"action": action, **about})

    def actions(self) -> list[tuple[str, str]]:
        return [(str(note["action"]), str(note["result"])) for note in self.notes]


class Provider:
    """Everything behind /auth, built as in the gateway."""

    def __init__(
        self,
        store: SqlStore,
        clock: ManualClock,
        *,
        implicit: bool = True,
        pages: Any = None,
        others: Sequence[ExternalIssuer] = (),
    ) -> None:
        self.store = store
        self.clock = clock
        self.keyring = KeyRing(store, clock)
        self.signer = TokenSigner(self.keyring, clock, ISSUER, AUDIENCE, 3600.0, 3600.0)
        self.verifier = TokenVerifier(self.keyring, store, clock, ISSUER, AUDIENCE, others=others)
        self.hasher = PasswordHasher(memory_kib=8, passes=1, threads=1)
        self.sessions = Sessions(
            store, self.hasher, clock, lifetime=1e7, idle_lifetime=1e7, throttle=LoginThrottle(store, clock)
        )
        self.ledger = RecordedAudit()
        identities = IdentityCache(store)
        self.authorization = Authorization(
            store, identities, self.signer, self.verifier, clock, issuer=ISSUER, lifetimes=Lifetimes(), audit=self.ledger
        )
        self.pages: Any = PlainPages() if pages is None else pages
        store.listen(self.keyring.apply)
        store.listen(self.verifier.apply)
        store.listen(identities.apply)
        self.anna = User(new_id(), "anna@example.com", "Anna")
        self.bruno = User(new_id(), "bruno@example.com", operator=True)
        self.implicit = implicit

    async def start(self) -> None:
        await self.keyring.start()
        self.anna, self.bruno = [await self._settle(user) for user in (self.anna, self.bruno)]
        if not await self.store.list_clients():
            for client in EVERY_CLIENT:
                await self.store.save_client(client)

    async def _settle(self, user: User) -> User:
        known = await self.store.find_user_by_email(user.email)
        if known is None:
            known = msgspec.structs.replace(user, password_hash=await self.hasher.hash_password(PASSWORD))
            await self.store.save_user(known)
        return known

    def app(self) -> AuthApp:
        return auth.build(
            signer=self.signer,
            authorization=self.authorization,
            sessions=self.sessions,
            pages=self.pages,
            issuer=ISSUER,
            implicit_enabled=self.implicit,
        )

    def browser(self, *, implicit: bool = True) -> "Browser":
        self.implicit = implicit
        return Browser(self)

    async def keys(self) -> pyjwt.PyJWKSet:
        return pyjwt.PyJWKSet.from_dict(await self.signer.jwks())

    async def claims(self, token: str, audience: str = AUDIENCE) -> dict[str, Any]:
        """The claims as PyJWT reads them. Times are not checked: the test has its own clock."""
        key = (await self.keys())[pyjwt.get_unverified_header(token)["kid"]]
        unchecked: pyjwt.types.Options = {"verify_exp": False, "verify_iat": False}
        return pyjwt.decode(token, key, ["ES256"], audience=audience, issuer=ISSUER, options=unchecked)

    async def is_alive(self, token: str) -> bool:
        try:
            await self.verifier.verify(token.encode())
        except TokenRefused:
            return False
        return True


class Browser:
    """A browser that does not follow redirects by itself. It also calls the endpoints for applications."""

    def __init__(self, provider: Provider) -> None:
        self.provider = provider
        transport = httpx.ASGITransport(provider.app(), raise_app_exceptions=False)
        self.http = httpx.AsyncClient(transport=transport, base_url=AUDIENCE)

    async def log_in(self, user: User | None = None) -> None:
        user = user or self.provider.anna
        entered = await self.provider.sessions.log_in(user.email, PASSWORD, None, "192.0.2.1", "test")
        assert isinstance(entered, LoginComplete)
        self.http.cookies.set(COOKIE, entered.cookie, domain="gateway.example", path="/auth")

    # --- authorize ----------------------------------------------------------------------------------------------------

    async def authorize(self, client: Client = WEB, **changed: str | None) -> httpx.Response:
        return await self.http.get("/auth/authorize", params=authorization_request(client, **changed))

    async def follow_login(self, answer: httpx.Response, user: User | None = None) -> httpx.Response:
        """Log in at the redirect target, and continue as that page would."""
        login = urlsplit(answer.headers["location"])
        assert login.path == "/auth/login", answer.headers["location"]
        await self.log_in(user)
        return await self.http.get(dict(parse_qsl(login.query))["return_to"])

    async def decide(
        self,
        page: httpx.Response,
        decision: str = "allow",
        scopes: Sequence[str] | None = None,
        csrf: str | None = None,
        plants: Sequence[str] | None = None,
    ) -> httpx.Response:
        """`scopes` None: all that are asked for. `plants` None: as the page ticks them."""
        shown = page.json()
        assert shown["page"] == "consent", shown
        ticked = shown["scopes"] if scopes is None else scopes
        homes = [plant for plant, is_ticked in shown["plants"].items() if is_ticked] if plants is None else plants
        form = [*shown["fields"].items(), *(("scope", scope) for scope in ticked), ("decision", decision)]
        form += [("plant", plant) for plant in homes]
        return await self.post_form("/auth/authorize", [*form, ("csrf", shown["csrf"] if csrf is None else csrf)])

    async def grant_access(
        self, client: Client = WEB, scopes: Sequence[str] | None = None, **changed: str | None
    ) -> dict[str, str]:
        """Log in, allow, and return the parameters that the application gets."""
        await self.log_in()
        answer = await self.authorize(client, **changed)
        if answer.status_code == 200:
            answer = await self.decide(answer, scopes=scopes)
        return returned(answer)

    # --- tokens -------------------------------------------------------------------------------------------------------

    async def post_form(self, path: str, fields: Any, **options: Any) -> httpx.Response:
        pairs = list(fields.items()) if isinstance(fields, Mapping) else fields
        headers = {"content-type": "application/x-www-form-urlencoded", **options.pop("headers", {})}
        return await self.http.post(path, content=urlencode(pairs), headers=headers, **options)

    async def redeem(self, code: str, client: Client = WEB, **changed: str | None) -> httpx.Response:
        form = {"grant_type": "authorization_code", "code": code, "code_verifier": VERIFIER, **credentials(client), **changed}
        return await self.post_form("/auth/token", present(form))

    async def refresh(self, refresh_token: str, client: Client = WEB, **changed: str | None) -> httpx.Response:
        form = {"grant_type": "refresh_token", "refresh_token": refresh_token, **credentials(client), **changed}
        return await self.post_form("/auth/token", present(form))

    async def get_tokens(self, client: Client = WEB, **changed: str | None) -> dict[str, Any]:
        code = (await self.grant_access(client, **changed))["code"]
        answer = await self.redeem(code, client)
        assert answer.status_code == 200, answer.text
        tokens: dict[str, Any] = answer.json()
        return tokens


def present(form: Mapping[str, str | None]) -> dict[str, str]:
    return {name: value for name, value in form.items() if value is not None}


def credentials(client: Client) -> dict[str, str]:
    return {"client_id": client.id, **({"client_secret": SECRET} if client.confidential else {})}


def authorization_request(client: Client, **changed: str | None) -> dict[str, str]:
    """A valid request. A value of None leaves the parameter out."""
    return present(
        {
            "response_type": "code",
            "client_id": client.id,
            "redirect_uri": client.redirect_uris[0],
            "scope": "openid light.read",
            "state": "xyz",
            "code_challenge": challenge_of(VERIFIER),
            "code_challenge_method": "S256",
            **changed,
        }
    )


def returned(answer: httpx.Response, mode: str = "query") -> dict[str, str]:
    """The parameters in the redirect to the application."""
    assert answer.status_code == 303, answer.text
    parts = urlsplit(answer.headers["location"])
    text = parts.query if mode == "query" else parts.fragment
    pairs = parse_qsl(text, keep_blank_values=True, strict_parsing=True)
    assert len(dict(pairs)) == len(pairs)
    return dict(pairs)


def tampered(token: str) -> str:
    """The token with another signature. Some bits of the last character do not count, so the first one is changed."""
    signed, _, signature = token.rpartition(".")
    return f"{signed}.{'B' if signature[0] == 'A' else 'A'}{signature[1:]}"


def is_back_at(answer: httpx.Response, uri: str) -> bool:
    return answer.status_code == 303 and answer.headers["location"].startswith(uri)


@asynccontextmanager
async def open_provider(folder: Path, template: Path | None = None, **options: Any) -> AsyncIterator[Provider]:
    """`template`: the folder of a closed provider to copy, which is faster than creating the tables."""
    clock = ManualClock(NOW)
    if template is not None:
        shutil.copy(template / "domogate.db", folder)
    store = SqlStore(sqlite_url(folder / "domogate.db"), clock=clock, poll=_NEVER, temporary=True)
    await store.start()
    provider = Provider(store, clock, **options)
    try:
        await provider.start()
        yield provider
    finally:
        provider.hasher.close()
        await store.stop()
