"""The ready file: the address of a gateway. For the demo, the file also has credentials."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import msgspec

from domogate.cli._files import write_file
from domogate.cli._options import option
from domogate.domain.people import TokenKind

ReadyFile = Annotated[
    Path | None,
    option(
        "FILE",
        "Write the URLs of the gateway to this JSON file when the gateway is ready; `demo` also writes credentials. "
        "The file is removed when the gateway ends.",
    ),
]


class ReadyUser(msgspec.Struct, frozen=True):
    """A user with a password and tokens of every kind."""

    email: str
    password: str
    id_token: str
    access_token: str
    refresh_token: str


class ReadyClient(msgspec.Struct, frozen=True):
    client_id: str
    client_secret: str | None
    redirect_uris: tuple[str, ...]


class Ready(msgspec.Struct, frozen=True):
    """Content of the ready file. The fields with credentials are set only in the ready file of the demo."""

    base_url: str
    auth_url: str
    subscription_key: str | None = None
    users: tuple[ReadyUser, ...] = ()
    clients: tuple[ReadyClient, ...] = ()
    management_token: str | msgspec.UnsetType = msgspec.UNSET
    """An operator's access token for the management API and the test API. Only the ready file of `demo --testing` has it."""


def write_ready(path: Path, ready: Ready) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_file(path, msgspec.json.format(msgspec.json.encode(ready), indent=2).decode() + "\n")


def credentials_file(data: Path, email: str, kind: TokenKind) -> Path:
    """Return the path of the file with a user's key and token as headers, for `curl -H @FILE`."""
    return data / "as" / f"{email.partition('@')[0]}.{kind}"


def write_credentials(data: Path, ready: Ready) -> None:
    (data / "as").mkdir(mode=0o700, exist_ok=True)
    for user in ready.users:
        for kind, token in ((TokenKind.ID, user.id_token), (TokenKind.ACCESS, user.access_token)):
            headers = f"Ocp-Apim-Subscription-Key: {ready.subscription_key}\nAuthorization: Bearer {token}\n"
            write_file(credentials_file(data, user.email, kind), headers)


@contextmanager
def withdraw(path: Path | None) -> Iterator[None]:
    """Remove the ready file of an earlier run when the `with` block begins. Remove the file of this run when the block ends."""
    if path is not None:
        path.unlink(missing_ok=True)
    try:
        yield
    finally:
        if path is not None:
            path.unlink(missing_ok=True)
