"""Everything under /auth on a real store, with known passwords, for tests of the pages."""

import re
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

import httpx
import msgspec
import pyotp

from domogate import auth
from domogate.auth.pages import Pages
from domogate.auth.pages.rendering import Renderer
from domogate.auth.surface import AuthApp
from domogate.common.secrets import hash_secret
from domogate.domain.authorization import LinkPurpose, OneTimeLink
from domogate.domain.ids import Id, new_id
from domogate.domain.people import Client, Grant, Scope, Standing, User
from domogate.domain.terms import Terms, terms_from_text
from domogate.domain.webhooks import Webhook
from domogate.identity.passkeys import WebAuthnVerifier
from domogate.identity.relying_party import find_relying_party
from domogate.identity.signing import KeyRing, TokenSigner
from domogate.identity.tokens import TokenVerifier
from domogate.services.authorization import Authorization, Lifetimes
from domogate.services.people import LINK_PATH, LoginThrottle, Passkeys, SecondFactor, Sessions
from domogate.services.rights.identity_cache import IdentityCache
from domogate.services.webhooks.administration import WebhookAdministration
from support.forms import forms_of, passkey_options
from support.people_setup import LINK_LIFETIME, PeopleSetup, open_people
from support.stores import ANNA, BRUNO, HOUSE

ADDRESS = "192.0.2.7"
LIFETIME, IDLE = 86_400.0, 7_200.0
PASSWORD = "four yellow bicycles"
SECRET = "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP"
VERIFIER = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
CHALLENGE = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
"""From RFC 7636 appendix B."""
APP_NAME = "Sunrise <b>lights</b>"
SCOPES = ("openid", "email", "offline_access", *Scope)

TERMS = terms_from_text("You use this home at your own risk.\n\n<b>Be kind</b> to your neighbours.")

compiled = cache(Renderer)
"""Compiling the templates takes longer than most tests of pages."""


class AuthSetup:
    """All of /auth. Anna owns a plant, Bruno is allowed in it, both have PASSWORD; Carla is not active."""

    def __init__(
        self,
        of: PeopleSetup,
        base_url: str,
        *,
        redirect_uri: str,
        second_factor_required: bool = False,
        mails_links: bool = False,
        terms: Terms | None = TERMS,
        operator_name: str | None = None,
        default_language: str = "en",
        has_door: bool = False,
    ) -> None:
        self.env = of
        self.store, self.clock, self.people, self.audit = of.store, of.clock, of.people, of.audit
        self.base_url = base_url
        self.throttle = LoginThrottle(self.store, self.clock)
        self.sessions = Sessions(
            self.store,
            of.hasher,
            self.clock,
            lifetime=LIFETIME,
            idle_lifetime=IDLE,
            throttle=self.throttle,
            second_factor=SecondFactor(self.clock),
            second_factor_required=second_factor_required,
            audit=self.audit,
        )
        self.keyring = KeyRing(self.store, self.clock)
        self.signer = TokenSigner(self.keyring, self.clock, f"{base_url}/auth", base_url, 3600.0, 3600.0)
        relying_party = find_relying_party(base_url)
        self.passkeys = (
            None
            if relying_party is None
            else Passkeys(self.store, self.sessions, WebAuthnVerifier(relying_party), self.signer, self.clock)
        )
        of.mail.sends = mails_links
        self.mail = of.mail
        with patch("domogate.auth.pages.pages.Renderer", compiled):
            self.pages = Pages(
                self.sessions,
                self.store,
                self.people,
                WebhookAdministration(self.store, self.clock, self.audit),
                self.clock,
                base_url=base_url,
                mails_links=mails_links,
                terms=terms,
                operator_name=operator_name,
                default_language=default_language,
                has_door=has_door,
                passkeys=self.passkeys,
            )
        self.client = Client("sunrise", APP_NAME, redirect_uris=(redirect_uri,), scopes=tuple(SCOPES))

    async def open(self) -> None:
        await self.keyring.start()
        await self.store.save_client(self.client)
        for user in (ANNA, BRUNO):
            await self.change(user, password_hash=await self.env.hasher.hash_password(PASSWORD))

    def app(self) -> AuthApp:
        issuer = f"{self.base_url}/auth"
        verifier = TokenVerifier(self.keyring, self.store, self.clock, issuer, self.base_url)
        identities = IdentityCache(self.store)
        self.store.listen(identities.apply)
        authorization = Authorization(
            self.store,
            identities,
            self.signer,
            verifier,
            self.clock,
            issuer=issuer,
            lifetimes=Lifetimes(),
        )
        return auth.build(
            signer=self.signer, authorization=authorization, sessions=self.sessions, pages=self.pages, issuer=issuer
        )

    async def user(self, who: User) -> User:
        found = await self.store.find_user(who.id)
        assert found is not None
        return found

    async def change(self, who: User, **changes: Any) -> User:
        changed = msgspec.structs.replace(await self.user(who), **changes)
        await self.store.save_user(changed)
        return changed

    async def set_standing(self, who: User, standing: Standing) -> None:
        await self.change(who, standing=standing)

    async def grant_access(self, who: User, *scopes: str, plants: frozenset[Id] | None = None) -> Grant:
        made = self.clock.now() - 7200
        grant = Grant(new_id(), who.id, self.client.id, scopes or ("light.read",), created_at=made, plants=plants)
        await self.store.add_grant(grant)
        return grant

    async def add_webhook(self, who: User, url: str = "https://receiver.example/a-secret-path") -> Webhook:
        grant = await self.grant_access(who)
        webhook = Webhook(
            id=new_id(), client_id=self.client.id, user_id=who.id, grant_id=grant.id, plant_id=HOUSE.id,
            url=url, secret="whsec_AAAA", scopes=("light.read",), created_at=self.clock.now() - 7200, position=0,
        )  # fmt: skip
        assert await self.store.add_webhook(webhook)
        return webhook

    async def ended_webhooks(self, who: User) -> list[str]:
        """The reason of each webhook that has ended."""
        return [it.ended_why for it in await self.store.list_webhooks(user_id=who.id) if it.ended_at is not None]

    async def link(self, who: User, purpose: LinkPurpose = LinkPurpose.PASSWORD) -> str:
        """The path of a one-time link."""
        token = secrets.token_urlsafe(32)
        await self.store.add_link(OneTimeLink(hash_secret(token), who.id, purpose, self.clock.now() + LINK_LIFETIME))
        return f"{LINK_PATH}{token}"

    async def redeem(self, callback: str, **credentials: str) -> dict[str, Any]:
        """The tokens that the application gets for the code."""
        form = {
            "grant_type": "authorization_code",
            "client_id": self.client.id,
            "code": httpx.URL(callback).params["code"],
            "redirect_uri": self.client.redirect_uris[0],
            "code_verifier": VERIFIER,
            **credentials,
        }
        async with httpx.AsyncClient(transport=httpx.ASGITransport(self.app()), base_url=self.base_url) as application:
            answer = await application.post("/auth/token", data=form)
        assert answer.status_code == 200, answer.text
        tokens: dict[str, Any] = answer.json()
        return tokens

    def code(self, secret: str = SECRET, offset: int = 0) -> str:
        return pyotp.TOTP(secret).generate_otp(int(self.clock.now()) // 30 + offset)

    def authorize_path(self, **changed: str) -> str:
        asked = {
            "response_type": "code",
            "client_id": self.client.id,
            "redirect_uri": self.client.redirect_uris[0],
            "scope": "openid light.read plug.write",
            "state": "xyz",
            "code_challenge": CHALLENGE,
            "code_challenge_method": "S256",
        }
        return f"/auth/authorize?{httpx.QueryParams(asked | changed)}"


@asynccontextmanager
async def open_auth_setup(
    folder: Path,
    base_url: str = "https://gateway.example",
    *,
    redirect_uri: str = "https://app.example/back",
    **options: Any,
) -> AsyncIterator[AuthSetup]:
    """`options`: those of AuthSetup."""
    async with open_people(folder) as of:
        built = AuthSetup(of, base_url, redirect_uri=redirect_uri, **options)
        await built.open()
        yield built


class PageBrowser:
    """A browser without a screen: keeps cookies and submits the forms of the page."""

    def __init__(self, app: AuthApp, base_url: str, **headers: str) -> None:
        transport = httpx.ASGITransport(app, client=(ADDRESS, 4711))
        self.http = httpx.AsyncClient(transport=transport, base_url=base_url, headers=headers)
        self.answer: httpx.Response = httpx.Response(0)

    async def get(self, path: str) -> httpx.Response:
        self.answer = await self.http.get(path)
        return self.answer

    async def follow(self) -> httpx.Response:
        return await self.get(self.answer.headers["location"])

    async def send(self, action: str | None = None, **values: str | None) -> httpx.Response:
        """Submit the page's form (or the one to `action`) with changed or additional `values`. None leaves a field out."""
        form = next(it for it in forms_of(self.answer.text) if action is None or it.action == action)
        fields: dict[str, list[str]] = {}
        for name, value in form.pairs:
            fields.setdefault(name, []).append(value)
        fields |= {name: [] if value is None else [value] for name, value in values.items()}
        self.answer = await self.http.post(form.action, data=fields)
        return self.answer

    async def log_in(self, email: str = ANNA.email, password: str = PASSWORD, return_to: str = "") -> httpx.Response:
        await self.get(f"/auth/login?{httpx.QueryParams({'return_to': return_to})}" if return_to else "/auth/login")
        return await self.send("/auth/login", email=email, password=password)

    def passkey_options(self, action: str) -> dict[str, Any]:
        """The options that the script of the page passes to the browser, in the form to `action`."""
        return passkey_options(self.answer.text, action)

    @property
    def form_token(self) -> str:
        """The token of the first form of the page."""
        return forms_of(self.answer.text)[0].fields["csrf"]

    @property
    def cookie(self) -> str:
        return self.http.cookies.get("domogate_session") or ""


def heading_of(page: str) -> str:
    found = re.search(r"<h1>(.*?)</h1>", page, re.DOTALL)
    assert found, page
    return found[1]


def policy_of(browser: PageBrowser) -> dict[str, str]:
    directives = browser.answer.headers["content-security-policy"].split("; ")
    return {name: value for name, _, value in (directive.partition(" ") for directive in directives)}
