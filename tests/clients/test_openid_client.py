"""openid-client, the certified relying party of npm, unmodified and in a process of its own."""

import json
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from support.gateway import Gateway
from support.node_packages import install
from support.relying_party import EVERYTHING, FAREWELL, PersonBrowser, Secrets, Send, call_everything
from support.spec_operations import E3, E6

pytestmark = pytest.mark.slow

SOURCE = Path(__file__).parent / "node"
ANNA = "anna@example.com"
MakeVisitor = Callable[[str], PersonBrowser]


@pytest.fixture(scope="session")
def folder() -> Path:
    return install(SOURCE, "relying-party", "relying_party.mjs")


class NodeClient:
    """The process. It reads and writes one JSON document per line."""

    def __init__(self, process: "subprocess.Popen[str]", secrets: Secrets) -> None:
        self._process = process
        self._secrets = secrets

    def tell(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()

    def hear(self, step: str) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, "the relying party ended"
        said: dict[str, Any] = json.loads(line)
        assert said["step"] == step, said
        if "tokens" in said:
            self._secrets.note_tokens(said["tokens"])
        return said


@contextmanager
def relying_party(
    folder: Path, gateway: Gateway, secrets: Secrets, client_id: str = "demo-app", method: str = "basic"
) -> Iterator[NodeClient]:
    known = next(client for client in gateway.ready["clients"] if client["client_id"] == client_id)
    process = subprocess.Popen(
        [
            *("node", "relying_party.mjs", gateway.auth_url, client_id),
            *(known["redirect_uris"][0], FAREWELL, method),
        ],
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        node_client = NodeClient(process, secrets)
        node_client.tell(known["client_secret"] or "")
        yield node_client
    finally:
        process.kill()
        process.communicate()


def sender(visitor: PersonBrowser, token: str) -> Send:
    def send(method: str, url: str, headers: dict[str, str], body: bytes | None) -> int:
        sent = {**headers, "Authorization": f"Bearer {token}"}
        return visitor.http.request(method, url, headers=sent, content=body).status_code

    return send


def call_all(gateway: Gateway, visitor: PersonBrowser, tokens: Mapping[str, str]) -> dict[str, int]:
    return call_everything(gateway, ANNA, {kind: sender(visitor, tokens[f"{kind}_token"]) for kind in ("access", "id")})


class TestTheWholeWay:
    @pytest.mark.parametrize("method", ["basic", "post"])
    def test_from_the_auth_url_to_the_logout(
        self, gateway: Gateway, visit: MakeVisitor, secrets: Secrets, folder: Path, farewell: str, method: str
    ) -> None:
        visitor = visit(ANNA)
        with relying_party(folder, gateway, secrets, method=method) as node_client:
            assert node_client.hear("discovered") == {"step": "discovered", "issuer": gateway.auth_url, "pkce": True}
            node_client.tell(EVERYTHING)
            node_client.tell(visitor.grant_access(node_client.hear("authorize")["url"]))

            said = node_client.hear("tokens")
            first, claims = said["tokens"], said["claims"]
            assert claims["iss"] == gateway.auth_url
            assert claims["nonce"]
            assert first["token_type"] == "bearer", "openid-client writes it so, whatever was sent"
            assert set(first["scope"].split()) == set(EVERYTHING.split())
            about = {"email": ANNA, "email_verified": False, "name": "Anna Bianchi"}
            assert node_client.hear("userinfo")["userinfo"] == {"sub": claims["sub"], **about}

            said = node_client.hear("refreshed")
            second = said["tokens"]
            assert said["claims"]["sub"] == claims["sub"]
            assert said["claims"]["auth_time"] == claims["auth_time"]
            assert second["refresh_token"] != first["refresh_token"]

            told = node_client.hear("introspected")["introspection"]
            assert told["active"] is True
            assert told["client_id"] == "demo-app"
            assert told["sub"] == claims["sub"]

            call_all(gateway, visitor, first)
            call_all(gateway, visitor, second)
            node_client.tell("go on")
            said = node_client.hear("revoked")
            assert (said["afterwards"], said["again"]) == ("401 invalid_token", "invalid_grant")
            plants = E6.url({})
            assert visitor.http.get(plants, headers=self.headers(gateway, second["id_token"])).status_code == 401
            topology = E3.url({"plant": gateway.estate.active_plants_of(ANNA)[0].id})
            assert visitor.http.get(topology, headers=self.headers(gateway, second["access_token"])).status_code == 401

            answer = visitor.open(node_client.hear("end session")["url"])
            assert answer.is_redirect
            assert answer.headers["location"] == f"{farewell}?state=see-you"
            assert not visitor.is_logged_in()

    def headers(self, gateway: Gateway, token: str) -> dict[str, str]:
        return {"Ocp-Apim-Subscription-Key": gateway.subscription_key, "Authorization": f"Bearer {token}"}

    def test_a_public_client_needs_no_secret(
        self, gateway: Gateway, visit: MakeVisitor, secrets: Secrets, folder: Path
    ) -> None:
        with relying_party(folder, gateway, secrets, "demo-viewer", "none") as node_client:
            node_client.hear("discovered")
            node_client.tell("openid topology.read")
            node_client.tell(visit(ANNA).grant_access(node_client.hear("authorize")["url"]))
            assert node_client.hear("tokens")["tokens"]["scope"] == "openid topology.read"
            assert set(node_client.hear("userinfo")["userinfo"]) == {"sub"}
            assert node_client.hear("refreshed")["tokens"]["scope"] == "openid topology.read"
            node_client.tell("go on")
            assert node_client.hear("revoked")["again"] == "invalid_grant"


class TestWhatItWouldNotAccept:
    """Shows that openid-client really checks these."""

    def begin(self, node_client: NodeClient, visitor: PersonBrowser) -> str:
        node_client.hear("discovered")
        node_client.tell("openid")
        return visitor.grant_access(node_client.hear("authorize")["url"])

    @pytest.mark.parametrize(
        ("spoil", "complaint"),
        [
            (lambda callback: callback.replace("iss=http", "iss=https"), "iss"),
            (lambda callback: callback.partition("&iss=")[0], "iss"),
            (lambda callback: callback.replace("state=", "state=x"), "state"),
        ],
        ids=["an issuer of another name", "no issuer at all", "another state"],
    )
    def test_an_answer_that_was_tampered_with(
        self,
        gateway: Gateway,
        visit: MakeVisitor,
        secrets: Secrets,
        folder: Path,
        spoil: Callable[[str], str],
        complaint: str,
    ) -> None:
        with relying_party(folder, gateway, secrets) as node_client:
            node_client.tell(spoil(self.begin(node_client, visit(ANNA))))
            said = node_client.hear("failed")
            assert complaint in said["error"] + said["cause"], said

    def test_a_code_that_was_used_before(self, gateway: Gateway, visit: MakeVisitor, secrets: Secrets, folder: Path) -> None:
        with relying_party(folder, gateway, secrets) as node_client, relying_party(folder, gateway, secrets) as thief:
            visitor = visit(ANNA)
            callback = self.begin(node_client, visitor)
            thiefs = self.begin(thief, visitor)
            node_client.tell(callback)
            node_client.hear("tokens")
            stolen = callback.partition("code=")[2].partition("&")[0]
            own = thiefs.partition("code=")[2].partition("&")[0]
            thief.tell(thiefs.replace(own, stolen))
            assert thief.hear("failed")["code"] == "OAUTH_RESPONSE_BODY_ERROR"


class TestThePin:
    def test_the_lock_file_names_no_host(self) -> None:
        text = (SOURCE / "package-lock.json").read_text()
        locked = json.loads(text)["packages"]
        assert '"resolved"' not in text
        assert all("integrity" in package for name, package in locked.items() if name)
