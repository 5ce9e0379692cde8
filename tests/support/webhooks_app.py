"""An application that uses /webhooks, for one user or another."""

import json
from typing import Any

import httpx

from domogate import webhooks
from domogate.domain.faults import KeyRefused, TokenRefused, TooManyRequests
from domogate.domain.ids import new_id
from domogate.domain.people import Principal
from domogate.http_api.app import SurfaceApp
from domogate.http_api.credentials import KeyAndToken
from domogate.ports import Admitted
from support.delivery_setup import (
    HOME,
    DeliverySetup,
    RecordingSender,
)

URL = "https://receiver.example/hook"


class KnownCredentials:
    """Accepts one key, and knows users by their tokens."""

    def __init__(self) -> None:
        self.principals: dict[bytes, Principal] = {}

    def admit_known(self, key: bytes) -> Admitted | None:
        if key == b"used up":
            raise TooManyRequests("the rate is used up", 7)
        return Admitted(new_id(), ((b"x-remaining", b"3"),)) if key == b"key" else None

    async def admit(self, key: bytes) -> Admitted:
        raise KeyRefused

    async def recognise(self, key: bytes) -> float:
        raise KeyRefused

    def find_verified(self, unverified_token: bytes) -> Principal | None:
        return self.principals.get(unverified_token)

    async def verify(self, unverified_token: bytes) -> Principal:
        raise TokenRefused("The token is not valid.")


class App:
    """An application with the key, for one user or another."""

    def __init__(self, setup: DeliverySetup, sender: RecordingSender) -> None:
        self.setup, self.sender, self.credentials = setup, sender, KnownCredentials()
        credentials = KeyAndToken(self.credentials, self.credentials, setup.notes)
        surface = SurfaceApp(webhooks.SURFACE, setup.webhooks, credentials, base_url="https://gateway.example", version="1")
        self.http = httpx.AsyncClient(transport=httpx.ASGITransport(surface), base_url="https://gateway.example")
        self.document: Any = None

    async def call(self, method: str, path: str, *, who: str = "owner", body: Any = ..., **how: Any) -> httpx.Response:
        headers = {"Ocp-Apim-Subscription-Key": "key", "Authorization": f"Bearer {who}", **how.pop("headers", {})}
        if body is not ...:
            how["content"] = body if isinstance(body, bytes) else json.dumps(body)
            headers.setdefault("Content-Type", "application/json")
        return await self.http.request(method, path, headers=headers, **how)

    async def register(self, url: str = URL, *, who: str = "owner", **told: Any) -> httpx.Response:
        return await self.call("POST", "/webhooks", who=who, body={"plantId": HOME, "url": url, **told})


def expect_problem(answer: httpx.Response, status: int) -> str:
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["status"] == status
    return str(answer.json()["detail"])
