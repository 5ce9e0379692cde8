"""The applications and the operator of the certification tests, and gateways that have them."""

import tempfile
import weakref
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import httpx
import pytest
import yaml

from support.gateway import Gateway, shared_gateway
from support.http import client

ANNA, BRUNO = "anna@example.com", "bruno@example.com"
OPERATOR = "olga@example.com"
FORM = {"content-type": "application/x-www-form-urlencoded"}

HOME_SCOPES = ("plug.read", "plug.write", "topology.read", "light.read", "comfort.read", "safety.read")


@dataclass(frozen=True)
class App:
    """A registered application."""

    id: str
    secret: str | None
    redirect_uris: tuple[str, ...]
    bye: tuple[str, ...] = ()
    grants: tuple[str, ...] = ("authorization_code", "refresh_token")
    scopes: tuple[str, ...] = HOME_SCOPES
    pkce_exempt: bool = False

    def to_estate(self) -> dict[str, Any]:
        record = {
            "id": self.id,
            "name": f"App {self.id}",
            "secret": self.secret,
            "redirectUris": list(self.redirect_uris),
            "postLogoutRedirectUris": list(self.bye),
            "grants": list(self.grants),
            "scopes": list(self.scopes),
            "pkceExempt": self.pkce_exempt,
        }
        return {name: value for name, value in record.items() if value not in (None, [], False)}


# The suite's clients use PKCE in one module only.
CERTIFIED = App(
    "certified", "certified-secret-0123456789abcdef", ("https://rp.example/callback",), ("https://rp.example/bye",),
    pkce_exempt=True,
)  # fmt: skip
SECOND = App("second", "second-secret-0123456789abcdefgh", ("https://second.example/callback",), pkce_exempt=True)
STRICT = App(
    "strict", "strict-secret-0123456789abcdefgh",
    ("https://strict.example/callback", "https://strict.example/other?kept=1", "https://strict.example:8443/port"),
)  # fmt: skip
BROWSER_APP = App("browser-app", None, ("https://page.example/callback",), grants=("authorization_code", "implicit"))
DESK = App("desk", "desk-secret-0123456789abcdefghij", ("https://desk.example/callback",), scopes=("gateway.manage",))

ESTATE = {
    "users": [{"email": OPERATOR, "name": "Olga Operator", "password": "olga-minds-the-house", "operator": True}],
    "clients": [app.to_estate() for app in (CERTIFIED, SECOND, STRICT, BROWSER_APP, DESK)],
}


def prepare(gateway: Gateway) -> Gateway:
    """Add the applications and the operator to the demo estate."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "estate.yaml"
        file.write_text(yaml.safe_dump(ESTATE))
        gateway.domogate("estate", "import", str(file))
    return gateway


def provider(request: pytest.FixtureRequest, name: str, settings: Mapping[str, str]) -> Gateway:
    """A demo with these applications. Tests share one gateway per name."""
    gateway = shared_gateway(request, name, settings)
    if not gateway.early:
        assert gateway.estate.plants  # read before the import, so that all tests of this process see the same estate
        prepare(gateway)
        gateway.early = {"prepared": True}
    return gateway


GRACE = 8.0


def identity_gateway(request: pytest.FixtureRequest) -> Gateway:
    """With the implicit flow. The grace period of refresh tokens is short, because tests wait for its end."""
    return provider(
        request,
        "identity",
        {"DOMOGATE_IMPLICIT_ENABLED": "true", "DOMOGATE_REFRESH_GRACE": str(GRACE), "DOMOGATE_STATE_MAX_AGE": "3600"},
    )


def password_of(gateway: Gateway, email: str) -> str:
    known = {user["email"]: user["password"] for user in gateway.ready["users"]} | {OPERATOR: "olga-minds-the-house"}
    return str(known[email])


class _AtAGateway(Protocol):
    gateway: Gateway


def client_of(owner: _AtAGateway) -> httpx.Client:
    """A client that is closed with its owner."""
    http = client(owner.gateway.base_url)
    weakref.finalize(owner, http.close)
    return http
