"""A credentials file (JWT and seed), at a real NATS server that knows only the operator and the account."""

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nkeys
import pytest

from domogate.fabric.connection import NatsAccess, NatsConnection
from support.nats_server import NatsServer, nats_server

pytestmark = pytest.mark.slow


def make_key(prefix: int, number: int) -> nkeys.KeyPair:
    return nkeys.from_seed(nkeys.encode_seed(bytes([number]) * 32, prefix))


OPERATOR = make_key(nkeys.PREFIX_BYTE_OPERATOR, 1)
ACCOUNT = make_key(nkeys.PREFIX_BYTE_ACCOUNT, 2)
USER, STRANGER = make_key(nkeys.PREFIX_BYTE_USER, 3), make_key(nkeys.PREFIX_BYTE_USER, 4)


def make_jwt(kind: str, subject: nkeys.KeyPair, issuer: nkeys.KeyPair, **claims: Any) -> str:
    """A JWT of NATS (version 2), signed with the key of the issuer."""
    header = {"typ": "JWT", "alg": "ed25519-nkey"}
    about = {"jti": kind, "iat": 1, "iss": issuer.public_key.decode(), "sub": subject.public_key.decode(), "name": kind}
    content = {**about, "nats": {"type": kind, "version": 2, **claims}}
    signed = ".".join(_encode(json.dumps(part).encode()) for part in (header, content))
    return f"{signed}.{_encode(issuer.sign(signed.encode()))}"


def _encode(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).decode().rstrip("=")


def write_credentials(file: Path, user: nkeys.KeyPair, issuer: nkeys.KeyPair) -> Path:
    token = make_jwt("user", user, issuer, subs=-1, data=-1, payload=-1)
    file.write_text(
        f"-----BEGIN NATS USER JWT-----\n{token}\n------END NATS USER JWT------\n\n"
        f"-----BEGIN USER NKEY SEED-----\n{user.seed.decode()}\n------END USER NKEY SEED------\n"
    )
    return file


@pytest.fixture
def server(tmp_path: Path) -> Iterator[NatsServer]:
    limits = dict.fromkeys(("subs", "data", "payload", "imports", "exports", "conn", "leaf"), -1)
    account = make_jwt("account", ACCOUNT, OPERATOR, limits={**limits, "wildcards": True})
    config = tmp_path / "nats.conf"
    config.write_text(
        f"operator: {make_jwt('operator', OPERATOR, OPERATOR)}\nresolver: MEMORY\n"
        f"resolver_preload: {{ {ACCOUNT.public_key.decode()}: {account} }}\n"
    )
    with nats_server(tmp_path, "-c", str(config)) as server:
        yield server


@pytest.mark.parametrize(("user", "issuer", "is_accepted"), [(USER, ACCOUNT, True), (STRANGER, STRANGER, False)])
async def test_only_a_user_of_the_account_is_accepted(
    server: NatsServer, tmp_path: Path, user: nkeys.KeyPair, issuer: nkeys.KeyPair, is_accepted: bool
) -> None:
    credentials = write_credentials(tmp_path / "gate.creds", user, issuer)
    connection = NatsConnection(NatsAccess(servers=(server.url,), credentials=credentials), "a gateway")
    await connection.start()
    try:
        assert connection.is_connected is is_accepted, connection.problem
        assert (connection.problem == "") is is_accepted
    finally:
        await connection.stop()
