"""Clients of all gateways of a cluster. They record what they sent and what they got, for the checker."""

import http.client
import itertools
import json
import random
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from urllib.parse import urlencode, urlsplit

from support.cluster_history import OrderRequest, RightUse

_PATIENCE = 40.0
"""In seconds. Longer than a gateway may be frozen, so that late answers are recorded too."""
_READ_EVERY = 0.15
_TWICE = 0.15
"""The probability that an order is sent to two gateways at the same time."""


def send(
    base_url: str,
    method: str,
    path: str,
    token: str,
    body: object = None,
    headers: Mapping[str, str] | None = None,
    form: Mapping[str, str] | None = None,
) -> tuple[int, Any]:
    """Send one request on a connection of its own. Return status and JSON; the status is 0 if there is no answer."""
    connection = http.client.HTTPConnection(urlsplit(base_url).netloc, timeout=_PATIENCE)
    sent = {**(headers or {}), "Content-Type": "application/json" if form is None else "application/x-www-form-urlencoded"}
    if token:
        sent["Authorization"] = f"Bearer {token}"
    content = urlencode(form) if form is not None else None if body is None else json.dumps(body)
    try:
        connection.request(method, path, content, sent)
        answer = connection.getresponse()
        text = answer.read()
        return answer.status, json.loads(text) if text else None
    except (OSError, http.client.HTTPException, ValueError) as failure:
        return 0, str(failure)
    finally:
        connection.close()


def light_of(value: int) -> dict[str, Any]:
    """The state of a light that stands for this number. Each number has another state, up to 36,100."""
    level = 1 + value % 100
    return {"on": True, "level": level, "color": {"hue": value // 100 % 361, "saturation": 100, "value": level}}


def value_of(state: Mapping[str, Any] | None) -> int | None:
    if state is None or state.get("level") is None or state.get("color") is None:
        return None
    return int(state["color"]["hue"]) * 100 + int(state["level"]) - 1


@dataclass
class OrderClient:
    """Sends orders to its own lights, each through a gateway chosen at random. It repeats an order that got no answer.

    Sometimes it sends an order to two gateways at the same time.
    """

    name: str
    urls: Sequence[str]
    token: str
    user_id: str
    lights: Sequence[tuple[str, str]]
    """Plant and module of each light."""
    chance: random.Random
    pause: float
    requests: list[OrderRequest] = field(default_factory=list)
    _numbers: "itertools.count[int]" = field(default_factory=lambda: itertools.count(1))

    def run(self, stop: threading.Event) -> None:
        while not stop.wait(self.chance.uniform(0, 2 * self.pause)):
            plant, module = self.chance.choice(self.lights)
            order = partial(self._order, plant, module, next(self._numbers))
            first, *others = self.chance.sample(range(len(self.urls)), len(self.urls))
            at_once = [first, others.pop()] if self.chance.random() < _TWICE else [first]
            with ThreadPoolExecutor(len(at_once)) as threads:
                has_ended = any(list(threads.map(order, at_once)))
            while others and not has_ended and not stop.wait(0.2):
                has_ended = order(others.pop())

    def _order(self, plant: str, module: str, number: int, gateway: int) -> bool:
        """Return whether the gateway said how the order ended."""
        key = f"{self.name}-{number}"
        path = f"/home/v1/homes/{plant}/modules/{module}/commands"
        body, sent = {"do": "set light", **light_of(number)}, time.monotonic()
        status, answer = send(self.urls[gateway], "POST", path, self.token, body, {"Idempotency-Key": key})
        outcome = str(answer["outcome"]) if status == 200 else None
        said = outcome or (str(status) if status else "no answer")
        answered = time.monotonic() if status else None
        order_id = f"home-{self.user_id}-{key}"
        self.requests.append(OrderRequest(order_id, module, number, gateway + 1, sent, answered, said))
        return outcome is not None


@dataclass(frozen=True)
class Right:
    """A grant and its token."""

    name: str
    token: str


class Rights:
    """Gives the readers one right after the other. Each is withdrawn at a gateway some seconds later."""

    def __init__(self, urls: Sequence[str], client_id: str, rights: Sequence[Right], chance: random.Random) -> None:
        self._urls = urls
        self._client_id = client_id
        self._left = list(rights)
        self._chance = chance
        self.present = self._left.pop()
        self.withdrawn: dict[str, float] = {}

    def run(self, stop: threading.Event) -> None:
        while self._left and not stop.wait(self._chance.uniform(2.0, 6.0)):
            if not self._withdraw(stop):
                return
            self.withdrawn[self.present.name] = time.monotonic()
            stop.wait(self._chance.uniform(4.0, 8.0))  # Readers go on with the withdrawn right.
            self.present = self._left.pop()

    def _withdraw(self, stop: threading.Event) -> bool:
        while not stop.is_set():
            form = {"token": self.present.token, "client_id": self._client_id}
            if send(self._chance.choice(self._urls), "POST", "/auth/revoke", "", form=form)[0] == 200:
                return True
            stop.wait(0.2)
        return False


@dataclass
class Reader:
    """Reads homes at one gateway with the present right, also after it was withdrawn."""

    url: str
    gateway: int
    rights: Rights
    uses: list[RightUse] = field(default_factory=list)

    def run(self, stop: threading.Event) -> None:
        while not stop.wait(_READ_EVERY):
            right, sent = self.rights.present, time.monotonic()
            status, _ = send(self.url, "GET", "/home/v1/homes", right.token)
            self.uses.append(RightUse(right.name, self.gateway, sent, status == 200))
