"""Clients without credentials that load a gateway on this machine: many at the same time, for a given time.

python -m soak.attackers ATTACK PORT SIZE SECONDS SEED
"""

import asyncio
import base64
import os
import random
import re
import secrets
import socket
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from urllib.parse import urlencode

HOST = "127.0.0.1"
PATHS = (
    "/homeauto/v1.0/plants/{}/topology",
    "/emergency-lighting/module/{}/spare-parts",
    "/multisocket/{}",
    "/homes/{}",
    "/{}",
)
_GUESSED = ("/homeauto/v1.0/plants", "/events", "/home/v1/homes", "/manage/v1/users", "/webhooks", "/tickets/x")
_LONG_PATH = 30_000
_AHEAD = 2_000
_PAUSE = 0.02
"""Seconds until a client whose connection was closed connects again."""

Client = Callable[["Target"], Awaitable[None]]


class Target:
    """The gateway, and the time when the attack ends."""

    def __init__(self, port: int, end: float, chance: random.Random) -> None:
        self.port = port
        self.end = end
        self.chance = chance

    async def open(self) -> socket.socket:
        client = socket.socket()
        client.setblocking(False)
        try:
            await asyncio.get_running_loop().sock_connect(client, (HOST, self.port))
        except BaseException:
            client.close()
            raise
        return client

    async def exchange(self, request: bytes) -> bytes:
        """Send one request on a separate connection, and read the whole answer."""
        reader, writer = await asyncio.open_connection(HOST, self.port)
        try:
            writer.write(request)
            return await reader.read()
        finally:
            writer.close()


def head(method: str, path: str, *lines: str) -> bytes:
    return "\r\n".join([f"{method} {path} HTTP/1.1", f"Host: {HOST}", *lines, "", ""]).encode()


async def send_long_paths(target: Target) -> None:
    """Each path is different. The requests have no key."""
    reader, writer = await asyncio.open_connection(HOST, target.port)
    try:
        while True:
            filler = secrets.token_hex(_LONG_PATH // 2)
            writer.write(head("GET", target.chance.choice(PATHS).format(filler)))
            answer = await reader.readuntil(b"\r\n\r\n")
            await reader.readexactly(int(re.findall(rb"content-length: (\d+)", answer)[0]))
    finally:
        writer.close()


async def send_ahead(target: Target) -> None:
    """Send small requests without end, and read no answer."""
    with await target.open() as client:
        while True:
            await asyncio.get_running_loop().sock_sendall(client, head("GET", "/homeauto/v1.0/plants") * _AHEAD)


async def stay_silent(target: Target) -> None:
    with await target.open() as client:
        await asyncio.get_running_loop().sock_recv(client, 1)


async def send_half_a_head(target: Target) -> None:
    with await target.open() as client:
        loop = asyncio.get_running_loop()
        await loop.sock_sendall(client, head("GET", "/healthz", f"X-Filler: {'x' * 20_000}")[:-2])
        await loop.sock_recv(client, 1)


async def open_and_close(target: Target) -> None:
    """Open and close connections as fast as they are accepted."""
    with await target.open() as client:
        await asyncio.get_running_loop().sock_sendall(client, b"G")


async def guess_keys_and_tokens(target: Target) -> None:
    header, payload, signature = (secrets.token_urlsafe(size) for size in (60, 3_000, 86))
    lines = (
        f"Ocp-Apim-Subscription-Key: {secrets.token_urlsafe(60)}",
        f"Authorization: Bearer {header}.{payload}.{signature}",
        f"X-Request-Id: {secrets.token_hex(40)}",
        f"Origin: https://{secrets.token_hex(200)}.example",
        "Connection: close",
    )
    path = target.chance.choice(_GUESSED)
    await target.exchange(head("GET", path, *lines))


async def guess_secrets(target: Target) -> None:
    """Send wrong secrets of a client that exists, and of clients that do not exist."""
    name = target.chance.choice(("demo-app", secrets.token_hex(500)))
    credentials = base64.b64encode(f"{name}:{secrets.token_urlsafe(30)}".encode()).decode()
    form = urlencode({"grant_type": "refresh_token", "refresh_token": secrets.token_urlsafe(40)})
    path = target.chance.choice(("/auth/token", "/auth/introspect", "/auth/revoke"))
    await _post(target, path, form, f"Authorization: Basic {credentials}")


async def guess_passwords(target: Target) -> None:
    page = await target.exchange(head("GET", "/auth/login", "Connection: close"))
    cookies = "; ".join(found.decode() for found in re.findall(rb"set-cookie: ([^;\r]+)", page, re.IGNORECASE))
    hidden = re.findall(rb'<input type="hidden" name="([^"]+)" value="([^"]*)"', page)
    fields = {name.decode(): value.decode() for name, value in hidden}
    mail = target.chance.choice(("anna@example.com", f"{secrets.token_hex(20)}@example.com"))
    form = urlencode(fields | {"email": mail, "password": secrets.token_urlsafe(20)})
    await _post(target, "/auth/login", form, f"Cookie: {cookies}")


async def _post(target: Target, path: str, form: str, *lines: str) -> None:
    kind = "Content-Type: application/x-www-form-urlencoded"
    await target.exchange(head("POST", path, kind, f"Content-Length: {len(form)}", "Connection: close", *lines) + form.encode())


ATTACKS: dict[str, Client] = {
    "long paths": send_long_paths,
    "requests ahead": send_ahead,
    "silence": stay_silent,
    "half heads": send_half_a_head,
    "new connections": open_and_close,
    "keys and tokens": guess_keys_and_tokens,
    "client secrets": guess_secrets,
    "passwords": guess_passwords,
}


async def attack(name: str, target: Target, size: int) -> None:
    """Run `size` clients at the same time. A client whose connection is closed connects again."""
    errors = (OSError, asyncio.IncompleteReadError)

    async def repeat() -> None:
        while time.monotonic() < target.end:
            with suppress(*errors):
                await ATTACKS[name](target)
            await asyncio.sleep(_PAUSE)

    with suppress(TimeoutError):
        async with asyncio.timeout(target.end - time.monotonic()):
            await asyncio.gather(*(repeat() for _ in range(size)))


if __name__ == "__main__":
    os.nice(19)  # Real attackers run on other machines and use no CPU time of this one.
    _, attack_name, port, size, seconds, seed = sys.argv
    chance = random.Random(int(seed))
    asyncio.run(attack(attack_name, Target(int(port), time.monotonic() + float(seconds), chance), int(size)))
